package doctor

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Groups of operators whose objects refer to objects that they do not own.
const (
	certificateGroup    = "cert-manager.io"
	externalSecretGroup = "external-secrets.io"
)

// dependencies returns the causes for the objects that an object of an operator needs and does not own: the issuer of a Certificate and its
// last CertificateRequest, the store of an ExternalSecret or a PushSecret. The message of the object itself often names neither.
func (w *walk) dependencies(ctx context.Context, chain []Ref, o object) []Cause {
	self := chain[len(chain)-1]
	switch self.groupKind() {
	case schema.GroupKind{Group: certificateGroup, Kind: "Certificate"}:
		issuer := reference(o.Map("spec", "issuerRef"), certificateGroup, "Issuer", self.Namespace)
		if c, bad := w.dependency(ctx, chain, issuer); bad {
			return []Cause{c}
		}
		return w.certificateRequest(ctx, chain, o)
	case schema.GroupKind{Group: externalSecretGroup, Kind: "ExternalSecret"}:
		return w.stores(ctx, chain, []any{o.Map("spec", "secretStoreRef")})
	case schema.GroupKind{Group: externalSecretGroup, Kind: "PushSecret"}:
		return w.stores(ctx, chain, o.List("spec", "secretStoreRefs"))
	}
	return nil
}

// stores returns the causes for secret stores.
func (w *walk) stores(ctx context.Context, chain []Ref, references []any) []Cause {
	self := chain[len(chain)-1]
	var out []Cause
	for _, r := range references {
		m, _ := r.(map[string]any)
		store := reference(m, externalSecretGroup, "SecretStore", self.Namespace)
		if c, bad := w.dependency(ctx, chain, store); bad {
			out = append(out, c)
		}
	}
	return out
}

// reference returns the object of a reference with kind and name, in a namespace unless the kind starts with Cluster.
func reference(m map[string]any, group, kind, namespace string) Ref {
	name, _ := m["name"].(string)
	is, _ := m["kind"].(string)
	r := Ref{APIVersion: group + "/v1", Kind: cmp.Or(is, kind), Namespace: namespace, Name: name}
	if r.Kind == "Cluster"+kind {
		r.Namespace = ""
	}
	if in, _ := m["group"].(string); in != "" && in != group {
		r.Name = "" // An issuer of another project, whose conditions are unknown.
	}
	return r
}

// dependency returns the cause for an object that does not exist or is not ready.
func (w *walk) dependency(ctx context.Context, chain []Ref, r Ref) (Cause, bool) {
	if r.Name == "" {
		return Cause{}, false
	}
	u, err := w.get(ctx, r.GroupVersionKind(), r.Namespace, r.Name)
	if apierrors.IsNotFound(err) {
		text := fmt.Sprintf("it does not exist, and %s refers to it", chain[len(chain)-1])
		return Cause{Object: r, Chain: chain, Reason: reasonMissing, Message: message(text), rank: rankSpecific, Next: []string{get(r)}}, true
	}
	if err != nil {
		return Cause{}, false
	}
	o, err := observed(u.Object)
	if err != nil {
		return Cause{}, false
	}
	result := o.check()
	if result.Ready {
		return Cause{}, false
	}
	c := notReadyCause(chain, r, result)
	c.rank = rankSpecific
	return c, true
}

// certificateRequest returns the cause for the last CertificateRequest of a Certificate.
func (w *walk) certificateRequest(ctx context.Context, chain []Ref, o object) []Cause {
	kind := schema.GroupVersionKind{Group: certificateGroup, Version: "v1", Kind: "CertificateRequest"}
	var last *unstructured.Unstructured
	for _, u := range w.list(ctx, kind, o.Namespace()) {
		if !isOwner(o.raw, u) || last != nil && u.GetCreationTimestamp().Time.Before(last.GetCreationTimestamp().Time) {
			continue
		}
		last = &u
	}
	if last == nil {
		return nil
	}
	request, err := observed(last.Object)
	if err != nil {
		return nil
	}
	result := request.check()
	if result.Ready {
		return nil
	}
	c := notReadyCause(chain, request.ref(), result)
	c.rank = rankSpecific
	c.Next = append(c.Next, "kubectl get orders.acme.cert-manager.io,challenges.acme.cert-manager.io"+inNamespace(c.Object))
	return []Cause{c}
}
