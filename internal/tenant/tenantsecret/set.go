package tenantsecret

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// storeKind is the kind of a store in the namespace of its readers.
const storeKind = "SecretStore"

// Set is a set of Secrets of one namespace that are copied to one instance.
type Set struct {
	// Name of the ServiceAccount and of the SecretStore, and prefix of the names of all composed resources.
	Name string
	// Prefix of the names of the copies. Nothing else in the instance has it.
	Prefix string
	// Type of the copies.
	Type corev1.SecretType
	// Keep is true if the copies must outlive the claim, because their readers do.
	Keep bool
	// From is the namespace of the Secrets, Instance the namespace to which they are copied.
	From, Instance string
	// Labels of all objects.
	Labels map[string]string
	// Via is the platform's store, through which Secrets are transferred to workloads in another cluster. Nil: the
	// workloads are in this cluster.
	Via *common.SecretStoreReference
	// Cluster is the provider config of the cluster of the Secrets, from which they are pushed to the store. Empty: the
	// management cluster.
	Cluster string
	// Requests are the Secrets.
	Requests []Request
}

// Target returns the name of the copy of a Secret.
func (s Set) Target(name string) string {
	if i := slices.IndexFunc(s.Requests, func(w Request) bool { return w.Name == name && w.As != "" }); i >= 0 {
		return s.Requests[i].As
	}
	return target(s.Prefix, name)
}

// Resource returns the name of the composed resource that creates a copy in the cluster of the workloads, so that others
// can wait for it.
func (s Set) Resource(target string) string {
	if s.Via != nil {
		return s.Name + "-workload-" + target
	}
	return s.Name + "-" + target
}

// Source returns the source with which objects in the workloads' cluster read a Secret of the set.
func (s Set) Source(name string) secret.Source {
	if s.Via != nil {
		return secret.Stored(*s.Via, s.Instance, s.Target(name))
	}
	return secret.Source{Store: s.Name, StoreKind: storeKind, Key: name}
}

// Stages returns the objects: first the permissions, then the store, then one copy for each Secret. Existing copies are
// kept until everything is ready, even if no Secret is requested any more, because pods that are not replaced yet read
// them.
func (s Set) Stages() []compose.Stage {
	copies, pushes, arrivals := s.revisions()
	if len(s.Requests) == 0 {
		return []compose.Stage{{
			s.inSourceCluster(compose.Resource{Revisions: copies}), s.inSourceCluster(compose.Resource{Revisions: pushes}), {Revisions: arrivals},
		}}
	}
	if s.Via != nil && s.Cluster != "" {
		return []compose.Stage{s.crossesClusters()}
	}
	return []compose.Stage{
		{
			s.inSourceCluster(compose.Resource{Name: s.Name + "-account", Object: s.account()}),
			s.inSourceCluster(compose.Resource{Name: s.Name + "-role", Object: s.role()}),
			s.inSourceCluster(compose.Resource{Name: s.Name + "-role-binding", Object: s.binding()}),
		},
		{s.inSourceCluster(compose.Resource{Name: s.Name + "-store", Object: secret.Store(s.meta(s.Name), s.Name, s.From)})},
		s.copies(),
	}
}

// Parallel returns the stages of several sets that do not wait for each other.
func Parallel(sets []Set) []compose.Stage {
	var out []compose.Stage
	for _, set := range sets {
		for i, stage := range set.Stages() {
			if i == len(out) {
				out = append(out, nil)
			}
			out[i] = append(out[i], stage...)
		}
	}
	return out
}

// inSourceCluster returns a resource in the cluster of the Secrets.
func (s Set) inSourceCluster(r compose.Resource) compose.Resource {
	r.Management, r.Cluster = s.Cluster == "", s.Cluster
	return r
}

// Has reports whether a composed resource creates a copy of this set.
func (s Set) Has(resource string) bool {
	copies, pushes, arrivals := s.revisions()
	for _, r := range []string{copies, pushes, arrivals} {
		if strings.HasPrefix(resource, r+"-") {
			return true
		}
	}
	return false
}

// revisions returns the name prefixes of the resources that read a Secret, push it to the platform's store, and read it
// from there.
func (s Set) revisions() (copies, pushes, arrivals string) {
	return s.Name + "-" + strings.TrimSuffix(s.Prefix, "-"), s.Name + "-push", s.Name + "-workload"
}

// copies composes a copy of each Secret, and transfers it if the workloads are in another cluster.
func (s Set) copies() compose.Stage {
	copies, pushes, arrivals := s.revisions()
	var out compose.Stage
	for _, w := range s.Requests {
		name := s.Target(w.Name)
		meta := s.meta(name)
		here := secret.Source{Store: s.Name, StoreKind: storeKind, Key: w.Name, Renamed: w.Renamed}
		first := s.Name + "-" + name
		copied := secret.Fixed(secret.Copied(meta, here, s.Type, s.Keep, w.Keys...), w.Fixed)
		out = append(out, s.inSourceCluster(compose.Resource{Name: first, Revisions: copies, Object: copied, Ready: s.ready(w)}))
		if s.Via == nil {
			continue
		}
		stored, push := secret.Stored(*s.Via, s.Instance, name), pushes+"-"+name
		out = append(out,
			compose.Resource{
				Name: push, Revisions: pushes, Management: true, After: []string{first}, Object: secret.Pushed(meta, name, stored, w.Keys...),
			},
			compose.Resource{
				Name: s.Resource(name), Revisions: arrivals, After: []string{push},
				Object: secret.Copied(meta, stored, s.Type, s.Keep, w.Keys...),
			})
	}
	return out
}

func (s Set) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: s.Instance, Labels: s.Labels}
}

func (s Set) account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   metav1.ObjectMeta{Name: s.Name, Namespace: s.Instance, Labels: s.Labels},
		AutomountServiceAccountToken: new(false),
	}
}

// auxiliaryMeta returns the metadata of the objects in the namespace of the Secrets. The name contains the instance,
// because two claims of one namespace may have such objects.
func (s Set) auxiliaryMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: s.Instance + "-" + s.Name, Namespace: s.From, Labels: s.Labels}
}

// role returns the Role that permits to get only these Secrets. Without resource names, it would permit to get all of them.
func (s Set) role() *rbacv1.Role {
	var named []string
	for _, w := range s.Requests {
		named = append(named, w.Name)
	}
	slices.Sort(named)
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: s.auxiliaryMeta(),
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: named, Verbs: []string{"get"}}},
	}
}

func (s Set) binding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: s.auxiliaryMeta(),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: s.Instance + "-" + s.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: s.Name, Namespace: s.Instance}},
	}
}

// unreadable is the message of External Secrets for a source that it cannot read. The reason is in an event, which a
// function cannot read.
const unreadable = "could not get secret data from provider"

// ready returns the check of the kind, with a message on which a tenant can act. External Secrets reports the generation
// that it has read last, but not in its condition.
func (s Set) ready(w Request) ready.Check {
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: "external-secrets.io", Kind: "ExternalSecret"})
	return func(o *observe.Object) ready.Result {
		v := rule.Check(o)
		switch {
		case !v.Ready && v.Message == unreadable:
			return ready.Wait("SecretMissing", "%s", w.sentence(s.From))
		case v.Ready && !current(o):
			return ready.Wait("Reconciling", "its controller has not seen the last change yet")
		}
		return v
	}
}

// current reports whether an ExternalSecret was synced since its last change: the synced version begins with the
// generation.
func current(o *observe.Object) bool {
	synced := o.String("status", "syncedResourceVersion")
	return synced == "" || strings.HasPrefix(synced, strconv.FormatInt(o.Generation(), 10)+"-")
}
