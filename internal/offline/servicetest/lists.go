package servicetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// undoes lists kinds whose owners delete external objects only while their own object exists without the corresponding part. When the
// whole object is deleted, the owner loses track of them.
var undoes = map[string]string{
	"openstack.c5c3.io/ComputeCatalog": "Flavors and aggregates are removed from Nova when they leave the object.",
	"openstack.c5c3.io/DatabaseSync":   "The object has the version of the schema, which an upgrade and a downgrade need.",
	"openstack.c5c3.io/KeyRepository":  "Keys are removed when nothing is encrypted with them any more.",
	"c5c3.io/CredentialRotation":       "Credentials are revoked after a grace period.",
	"c5c3.io/RaftCluster":              "A member leaves its cluster before its pod is deleted.",
}

// edited is a spec with one part removed.
type edited struct {
	path string
	spec *structpb.Struct
}

// withoutLast returns copies of a spec: for each list one without its last element, and an empty one (only one copy
// for a single element); and for each pair of lists one with both empty.
func withoutLast(spec *structpb.Struct) []edited {
	return append(shorter(spec), withoutTwo(spec)...)
}

// shorter returns copies of a spec, each with a list that lacks its last element, or is empty.
func shorter(spec *structpb.Struct) []edited {
	var out []edited
	var visit func(v *structpb.Value, path string)
	visit = func(v *structpb.Value, path string) {
		switch {
		case v.GetStructValue() != nil:
			fields := v.GetStructValue().GetFields()
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				visit(fields[name], path+"."+name)
			}
		case v.GetListValue() != nil:
			n := len(v.GetListValue().GetValues())
			for _, length := range slices.Compact([]int{max(n-1, 0), 0}) {
				if n == 0 {
					break
				}
				all := v.GetListValue().GetValues()
				v.GetListValue().Values = all[:length]
				out = append(out, edited{fmt.Sprintf("%s with %d of %d", path, length, n), proto.CloneOf(spec)})
				v.GetListValue().Values = all
			}
			for i, e := range v.GetListValue().GetValues() {
				visit(e, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spec.GetFields())) {
		visit(spec.GetFields()[name], "spec."+name)
	}
	return out
}

// withoutTwo returns copies of a spec, each with two empty lists, because one object may depend on two lists.
func withoutTwo(spec *structpb.Struct) []edited {
	var out []edited
	var lists []string
	for _, name := range slices.Sorted(maps.Keys(spec.GetFields())) {
		if len(spec.GetFields()[name].GetListValue().GetValues()) > 0 {
			lists = append(lists, name)
		}
	}
	for i, a := range lists {
		for _, b := range lists[i+1:] {
			e := edited{"spec." + a + " and spec." + b + " with none", proto.CloneOf(spec)}
			e.spec.GetFields()[a], e.spec.GetFields()[b] = structpb.NewListValue(nil), structpb.NewListValue(nil)
			out = append(out, e)
		}
	}
	return out
}

// lists tests that an object in undoes is not deleted with the last element of a list, in a cluster where everything is ready.
// The function may reject the removal of an element. It returns the number of accepted edits.
func (k Kind) lists(t *testing.T, w *simulate.Cluster) int {
	t.Helper()
	full := w.XR.GetFields()["spec"]
	defer func() { w.XR.GetFields()["spec"] = full }()
	before, _, err := k.Explain(w.Request())
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, e := range withoutLast(full.GetStructValue()) {
		w.XR.GetFields()["spec"] = structpb.NewStructValue(e.spec)
		after, _, err := k.Explain(w.Request())
		if err != nil || len(after.Results) > 0 && len(after.Composed) == 0 {
			continue // The edit is rejected.
		}
		accepted++
		for _, name := range slices.Sorted(maps.Keys(before.Composed)) {
			if _, ok := after.Composed[name]; ok {
				continue
			}
			if why, ok := undoes[undone(before.Composed[name].Object)]; ok {
				t.Errorf("%s: %s is deleted with it. %s", e.path, name, why)
			}
		}
	}
	return accepted
}

func undone(o encoded.Struct) string {
	if inner, ok := wrapper.Desired(o); ok {
		o = inner
	}
	return strings.TrimPrefix(groupKind(o.Map()), "/")
}
