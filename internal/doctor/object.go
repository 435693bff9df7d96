package doctor

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/redact"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// object is an object with the view that readiness rules have of it. An Object of provider-kubernetes is the object inside.
type object struct {
	*observe.Object

	raw map[string]any
}

// observed returns an object that can be evaluated.
func observed(raw map[string]any) (object, error) {
	s, err := encode.Struct(raw)
	if err != nil {
		return object{}, err
	}
	state, err := observe.New(map[string]encoded.Struct{"o": s})
	if err != nil {
		return object{}, err
	}
	o, _ := state.Get("o")
	return object{o, raw}, nil
}

// ref returns the identity of the object inside an Object of provider-kubernetes, or else of the object.
func (o object) ref() Ref {
	if o.Wrapped() && !o.Exists() {
		desired := o.Desired()
		return Ref{APIVersion: desired.APIVersion(), Kind: desired.Kind(), Namespace: desired.Namespace(), Name: desired.Name()}
	}
	return Ref{APIVersion: o.APIVersion(), Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name()}
}

func (r Ref) groupKind() schema.GroupKind { return r.GroupVersionKind().GroupKind() }

// check returns the state of an object by the readiness rules of the functions.
func (o object) check() ready.Result {
	kind := o.ref().groupKind()
	switch {
	case o.Deleting() && kind == namespaceKind.GroupKind():
		return ready.Wait(reasonTerminating, "it is being deleted: %s", cmp.Or(o.remaining(), "its objects are being deleted"))
	case o.Deleting():
		return ready.Wait(reasonDeleting, "it is being deleted, and waits for its finalizers: %s", strings.Join(o.finalizers(), ", "))
	}
	if rule, ok := readiness.Rules.For(kind); ok {
		return rule.Check(o.Object)
	}
	if same, ok := ruledKinds[form(kind)]; ok {
		if rule, ok := readiness.Rules.For(same); ok {
			return rule.Check(o.Object)
		}
	}
	if c, ok := o.Condition("Ready"); ok && c.Status != "True" {
		return ready.Wait(cmp.Or(c.Reason, "NotReady"), "%s", cmp.Or(c.Message, "Ready is "+c.Status))
	}
	return ready.Yes
}

// ruledKinds contains a kind of each form that functions compose. All kinds of a form have the same rule, and the rules do not contain the
// claims of tenants and their composite resources.
var ruledKinds = map[formOf]schema.GroupKind{
	claimForm:     keystoneservicev1.GroupVersionKind.GroupKind(),
	compositeForm: keystonev1.GroupVersionKind.GroupKind(),
}

// Reasons of objects that are being deleted.
const (
	reasonDeleting    = "Deleting"
	reasonTerminating = "Terminating"
)

// remaining returns why a namespace that is being deleted still exists. Its conditions are True if its deletion is blocked.
// https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.33/#namespacecondition-v1-core
func (o object) remaining() string {
	var out []string
	for _, typ := range []string{
		"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure", "NamespaceFinalizersRemaining",
		"NamespaceDeletionContentFailure", "NamespaceContentRemaining",
	} {
		if c, ok := o.Condition(typ); ok && c.Status == "True" {
			out = append(out, shortened(c.Message, maxMessage/2))
		}
	}
	return strings.Join(out, "; ")
}

func (o object) finalizers() []string {
	var out []string
	for _, f := range o.List("metadata", "finalizers") {
		if name, ok := f.(string); ok {
			out = append(out, name)
		}
	}
	return out
}

// paused reports whether Crossplane does not reconcile an object.
// https://docs.crossplane.io/latest/managed-resources/managed-resources/#annotations
func (o object) paused() bool { return o.Annotation(pausedAnnotation) == "true" }

const pausedAnnotation = "crossplane.io/paused"

type formOf int

const (
	otherForm formOf = iota
	claimForm
	compositeForm
	companionForm
)

// form returns the form of a kind of this project.
func form(kind schema.GroupKind) formOf {
	for _, k := range kindregistry.All() {
		switch {
		case k.Form == kindregistry.CustomResource && k.GroupKind() == kind:
			return companionForm
		case k.Form == kindregistry.CustomResource:
		case k.Composite().GroupKind() == kind:
			return compositeForm
		case k.GroupKind() == kind:
			return claimForm
		}
	}
	return otherForm
}

// conditionCurrent is the condition of a claim that all its objects are ready and match its spec.
const conditionCurrent = "Current"

// isClaimReady reports whether a claim or a composite resource is ready for its current generation.
func isClaimReady(o object) bool {
	if c, ok := o.Condition(conditionCurrent); ok && c.Status != "True" {
		return false
	}
	return o.check().Ready && !o.outdated()
}

// outdated reports whether Crossplane has not reconciled the last edit.
func (o object) outdated() bool {
	c, ok := o.Condition("Synced")
	return !ok || c.ObservedGeneration != 0 && c.ObservedGeneration < o.Generation()
}

// otherConditions returns the conditions of a claim that are False and are not about its readiness.
func otherConditions(o object) []Condition {
	about := []string{conditionCurrent, "Ready", "Synced", "SpecValid", "Composed", "Responsive"}
	var out []Condition
	for _, c := range o.List("status", "conditions") {
		m, _ := c.(map[string]any)
		typ, _ := m["type"].(string)
		is, _ := o.Condition(typ)
		if is.Status != "False" || slices.Contains(about, typ) || strings.HasSuffix(typ, "Ready") {
			continue
		}
		out = append(out, Condition{typ, is.Reason, message(is.Message), runbook(o.Kind(), typ)})
	}
	return out
}

// maxMessage is the maximum length of a message. API servers limit the messages of conditions to 32,768 characters.
const maxMessage = 600

// message returns a message on one line, shortened and without secrets.
func message(s string) string {
	return shortened(redact.Text(strings.Join(strings.Fields(s), " ")), maxMessage)
}

// shortened returns a text with a maximum number of characters.
func shortened(s string, length int) string {
	if runes := []rune(s); len(runes) > length {
		return string(runes[:length]) + "…"
	}
	return s
}
