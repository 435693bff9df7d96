package function

import (
	"slices"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	xv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
)

// TestMachinery tests that the list contains all fields that Crossplane adds to specs.
func TestMachinery(t *testing.T) {
	want := []string{}
	for _, scope := range []xv1.CompositeResourceScope{xv1.CompositeResourceScopeLegacyCluster, xv1.CompositeResourceScopeNamespaced} {
		for name := range xcrd.CompositeResourceSpecProps(scope, nil) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, machinery); diff != "" {
		t.Errorf("-Crossplane's, +ours:\n%s", diff)
	}
}

func TestAsLastValid(t *testing.T) {
	type m = map[string]any
	cases := map[string]struct {
		reason string
		xr     m
		want   m
	}{
		"Never": {
			reason: "Nothing was composed yet.",
			xr:     m{"spec": m{"size": "large"}, "status": m{"phase": "Ready"}},
		},
		"NoStatus": {
			reason: "It is new.",
			xr:     m{"spec": m{"size": "large"}},
		},
		"Text": {
			reason: "A value of another type is ignored.",
			xr:     m{"spec": m{"size": "large"}, "status": m{"lastValidSpec": "text"}},
		},
		"Empty": {
			reason: "Nor is nothing.",
			xr:     m{"spec": m{"size": "large"}, "status": m{"lastValidSpec": m{}}},
		},
		"Last": {
			reason: "Only the fields of Crossplane come from the current spec, and none of them from the status.",
			xr: m{
				"kind": "Thing", "metadata": m{"name": "one", "generation": 7},
				"spec":   m{"size": "huge", "more": true, "claimRef": m{"name": "mine"}, "crossplane": m{"compositionRef": m{"name": "a"}}},
				"status": m{"phase": "Ready", "observedGeneration": 5, "lastValidSpec": m{"size": "small", "claimRef": m{"name": "theirs"}, "resourceRefs": []any{}}},
			},
			want: m{
				"kind": "Thing", "metadata": m{"name": "one", "generation": 5},
				"spec":   m{"size": "small", "claimRef": m{"name": "mine"}, "crossplane": m{"compositionRef": m{"name": "a"}}},
				"status": m{"phase": "Ready", "observedGeneration": 5, "lastValidSpec": m{"size": "small", "claimRef": m{"name": "theirs"}, "resourceRefs": []any{}}},
			},
		},
		"NoMetadata": {
			reason: "A missing metadata is tolerated.",
			xr:     m{"status": m{"observedGeneration": 5, "lastValidSpec": m{"size": "small"}}},
			want: m{
				"metadata": m{"generation": 5}, "spec": m{"size": "small"},
				"status": m{"observedGeneration": 5, "lastValidSpec": m{"size": "small"}},
			},
		},
		"RetainAtOnce": {
			reason: "Retain takes effect immediately.",
			xr:     m{"spec": m{"size": "huge", "deletionPolicy": "Retain"}, "status": m{"lastValidSpec": m{"size": "small", "deletionPolicy": "Delete"}}},
			want: m{
				"spec":   m{"size": "small", "deletionPolicy": "Retain"},
				"status": m{"lastValidSpec": m{"size": "small", "deletionPolicy": "Delete"}},
			},
		},
		"RetainByDefault": {
			reason: "Retain is the default.",
			xr:     m{"spec": "text", "status": m{"lastValidSpec": m{"size": "small", "deletionPolicy": "Delete"}}},
			want: m{
				"spec":   m{"size": "small", "deletionPolicy": "Retain"},
				"status": m{"lastValidSpec": m{"size": "small", "deletionPolicy": "Delete"}},
			},
		},
		"DeleteAsBefore": {
			reason: "Delete stays in effect.",
			xr:     m{"spec": m{"size": "huge", "deletionPolicy": "Delete"}, "status": m{"lastValidSpec": m{"size": "small", "deletionPolicy": "Delete"}}},
			want: m{
				"spec":   m{"size": "small", "deletionPolicy": "Delete"},
				"status": m{"lastValidSpec": m{"size": "small", "deletionPolicy": "Delete"}},
			},
		},
		"NeverDelete": {
			reason: "A spec with a mistake in it deletes nothing.",
			xr:     m{"spec": m{"size": "huge", "deletionPolicy": "Delete"}, "status": m{"lastValidSpec": m{"size": "small", "deletionPolicy": "Retain"}}},
			want: m{
				"spec":   m{"size": "small", "deletionPolicy": "Retain"},
				"status": m{"lastValidSpec": m{"size": "small", "deletionPolicy": "Retain"}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			xr, err := structpb.NewStruct(tc.xr)
			if err != nil {
				t.Fatal(err)
			}
			before := proto.CloneOf(xr)
			var want *structpb.Struct
			if tc.want != nil {
				if want, err = structpb.NewStruct(tc.want); err != nil {
					t.Fatal(err)
				}
			}
			got, ok := asLastValid(xr)
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || ok != (tc.want != nil) {
				t.Errorf("%s\nasLastValid(...) = %t: -want, +got:\n%s", tc.reason, ok, diff)
			}
			if diff := cmp.Diff(before, xr, protocmp.Transform()); diff != "" {
				t.Errorf("the composite resource was changed: %s", diff)
			}
		})
	}
}
