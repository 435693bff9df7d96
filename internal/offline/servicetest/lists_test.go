package servicetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
)

func TestWithoutLast(t *testing.T) {
	spec, err := structpb.NewStruct(map[string]any{
		"flavors": []any{"a", "b"}, "aggregates": []any{map[string]any{"hosts": []any{"x"}}}, "none": []any{}, "name": "n",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range withoutLast(spec) {
		got = append(got, e.path)
		if cmp.Equal(e.spec.AsMap(), spec.AsMap()) {
			t.Errorf("%s is as before", e.path)
		}
	}
	slices.Sort(got)
	want := []string{
		"spec.aggregates and spec.flavors with none", "spec.aggregates with 0 of 1", "spec.aggregates[0].hosts with 0 of 1",
		"spec.flavors with 0 of 2", "spec.flavors with 1 of 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(spec.GetFields()["flavors"].GetListValue().GetValues()); n != 2 {
		t.Errorf("the spec itself has %d flavors left", n)
	}
}
