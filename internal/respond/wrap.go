package respond

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/encoded"
)

// Place says where a composite resource's objects live, which decides how they are composed.
type Place struct {
	// Namespaced: the composite resource has a namespace, which Crossplane forces on everything that it composes.
	Namespaced bool
	// Namespace of the composite resource, if it has one.
	Namespace string
	// Prefix of the names of Objects: the instance for a cluster-scoped composite resource, its own name for a namespaced one.
	Prefix string
	// Management and Workload are the provider configs of the management cluster and of the one that the workloads run in.
	Management, Workload string
	// Remote: these two clusters are different.
	Remote bool
	// DeleteData: objects that hold data are deleted with the claim. Otherwise they stay.
	DeleteData bool
}

// keepPolicies is everything but Delete: the object outlives its Object.
var keepPolicies = []any{"Observe", "Create", "Update", "LateInitialize"}

// wrapped tells whether an item has to be composed as an Object of provider-kubernetes: if it lives in another cluster, if it
// is retained (Crossplane cannot orphan what it composes directly), or if its scope or namespace does not fit.
func (p Place) wrapped(i compose.Item) bool {
	switch {
	case p.Remote && !i.Management:
		return true
	case i.Retain:
		return true
	case p.Namespaced:
		return i.Rule.ClusterScoped || i.Body.At("metadata", "namespace").Text() != p.Namespace
	}
	return false
}

// wrap makes the Object around an item.
func (p Place) wrap(i compose.Item) encoded.Struct {
	config := p.Workload
	if i.Management || !p.Remote {
		config = p.Management
	}
	spec := fields{
		"forProvider":        structure(fields{"manifest": structpb.NewStructValue(encoded.Seal(i.Body))}),
		"managementPolicies": list("*"),
		"readiness":          readiness(i),
		// Without it, the provider looks every 30 s, so that each stage of a start would take that long, and at what is ready every
		// 10 minutes. It is honoured where the provider runs with --enable-watches, as our chart makes it.
		"watch": structpb.NewBoolValue(true),
	}
	if i.Retain && !p.DeleteData {
		spec["managementPolicies"] = list(keepPolicies...)
	}
	apiVersion, ref := "kubernetes.crossplane.io/v1alpha2", fields{"name": structpb.NewStringValue(config)}
	meta := fields{"name": structpb.NewStringValue(p.ObjectName(i.Name))}
	if p.Namespaced {
		apiVersion = "kubernetes.m.crossplane.io/v1alpha1"
		ref["kind"] = structpb.NewStringValue("ClusterProviderConfig")
		meta["namespace"] = structpb.NewStringValue(p.Namespace)
	}
	spec["providerConfigRef"] = structure(ref)
	return encoded.Of(&structpb.Struct{Fields: fields{
		"apiVersion": structpb.NewStringValue(apiVersion),
		"kind":       structpb.NewStringValue("Object"),
		"metadata":   structure(meta),
		"spec":       structure(spec),
	}})
}

// ObjectName is the name of the Object around a resource. provider-kubernetes owns fields under it: it must never change.
func (p Place) ObjectName(resource string) string { return p.Prefix + "-" + resource }

// readiness is the Object's readiness policy: the rule of the kind, or that the object exists.
func readiness(i compose.Item) *structpb.Value {
	if i.Rule.CEL == "" {
		return structure(fields{"policy": structpb.NewStringValue("SuccessfulCreate")})
	}
	return structure(fields{
		"policy":   structpb.NewStringValue("DeriveFromCelQuery"),
		"celQuery": structpb.NewStringValue(i.Rule.CEL),
	})
}

type fields = map[string]*structpb.Value

func structure(f fields) *structpb.Value { return structpb.NewStructValue(&structpb.Struct{Fields: f}) }

func list(values ...any) *structpb.Value {
	out := &structpb.ListValue{}
	for _, v := range values {
		s, _ := v.(string)
		out.Values = append(out.Values, structpb.NewStringValue(s))
	}
	return structpb.NewListValue(out)
}
