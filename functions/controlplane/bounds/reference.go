package bounds

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// ExternalReference is a reference of a spec to an external system.
type ExternalReference struct {
	// List of the limits that has to allow it.
	List         *AllowList
	Field, Value string
}

// defaultClass stands for the default class of an Ingress. It cannot be the name of a class.
const defaultClass = "the cluster's default class"

// ExposureReferences lists the class of an Ingress, the annotations and the allowed namespaces.
func ExposureReferences(path string, e common.Exposure) []ExternalReference {
	class := string(e.IngressClassName)
	if e.Type == exposure.Ingress {
		class = cmp.Or(class, defaultClass)
	}
	out := []ExternalReference{{List: &IngressClasses, Field: path + ".ingressClassName", Value: class}}
	out = append(out, KeyValueEntries(&Annotations, path+".annotations", e.Annotations)...)
	for _, n := range e.AllowedNamespaces {
		out = append(out, ExternalReference{List: &ExposureNamespaces, Field: path + ".allowedNamespaces", Value: string(n)})
	}
	return out
}

// MemberExposureReferences lists the name of the nodes, which is in certificates, the clients that may connect to external addresses, and
// the annotations for the controller that serves the Services.
func MemberExposureReferences(path string, e common.MemberExposure) []ExternalReference {
	if e.Type == common.ExposureNone {
		return nil
	}
	out := append(KeyValueEntries(&Annotations, path+".annotations", e.Annotations),
		ExternalReference{List: &NodeHosts, Field: path + ".nodes", Value: string(e.Nodes)})
	if len(e.Networks) == 0 {
		return append(out, ExternalReference{List: &HypervisorNetworks, Field: path + ".networks", Value: AnyNetwork})
	}
	return append(out, ListEntries(&HypervisorNetworks, path+".networks", e.Networks)...)
}

// NodeReferences lists the node selectors and tolerations of pods.
func NodeReferences(path string, p common.Placement) []ExternalReference {
	out := KeyValueEntries(&NodeSelectors, path+".nodeSelector", p.NodeSelector)
	for _, t := range p.Tolerations {
		term := limit.TolerationTerm(t.Key, t.Operator, t.Value, t.Effect)
		out = append(out, ExternalReference{List: &Tolerations, Field: path + ".tolerations", Value: term})
	}
	return out
}

// ListEntries returns the entries of a list.
func ListEntries[S ~string](r *AllowList, field string, list []S) []ExternalReference {
	var out []ExternalReference
	for _, v := range list {
		out = append(out, ExternalReference{List: r, Field: field, Value: string(v)})
	}
	return out
}

// KeyValueEntries returns the entries of a map as key=value.
func KeyValueEntries[V ~string](r *AllowList, field string, entries map[string]V) []ExternalReference {
	var out []ExternalReference
	for _, k := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, ExternalReference{List: r, Field: field, Value: k + "=" + string(entries[k])})
	}
	return out
}

// Joined joins the non-empty parts to a path.
func Joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}
