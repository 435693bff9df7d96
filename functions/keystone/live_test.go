package keystone

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestLive: what the companion has found is in the status, as it found it.
func TestLive(t *testing.T) {
	check := func(status map[string]any) map[string]any {
		return map[string]any{"apiVersion": "openstack.c5c3.io/v1alpha1", "kind": "IdentityCheck", "status": status}
	}
	condition := func(status string) []any { return []any{map[string]any{"type": "Reachable", "status": status}} }
	for name, tc := range map[string]struct {
		reason string
		seen   map[string]any
		want   *common.Live
	}{
		"NotThere":     {reason: "Nobody has asked."},
		"NotAsked":     {reason: "Nobody has asked.", seen: check(map[string]any{})},
		"NeverAnswers": {reason: "It was asked in vain.", seen: check(map[string]any{"conditions": condition("False")}), want: &common.Live{Reachable: "False"}},
		"Garbage": {
			reason: "A hand wrote into the status.", want: &common.Live{Reachable: "True"},
			seen: check(map[string]any{"conditions": condition("True"), "lastToken": "yesterday"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			observed := map[string]*structpb.Struct{}
			if tc.seen != nil {
				observed[loginResource] = structOf(t, tc.seen)
			}
			m, err := derive(input(t, xr(t, "small"), observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.live); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	w := ready(t, xr(t, "small"))
	want := map[string]any{"reachable": "True", "apiVersion": "v3.14", "lastToken": "2025-01-01T00:00:00Z"}
	if diff := cmp.Diff(want, at(w.XR.AsMap(), "status", "live")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"cloudCredentialsRef": map[string]any{"secretName": "keystone-clouds", "cloudName": "admin"}},
		desired(t, w)["login"]["spec"]); diff != "" {
		t.Errorf("it logs in by (-want +got):\n%s", diff)
	}
}

// TestDomains: Keystone reads a directory's file when it starts, if the domain exists: its pods are replaced when one was made.
func TestDomains(t *testing.T) {
	annotations := func(ids map[string]any) any {
		return at(desired(t, ready(t, xr(t, "directories", set(ids, "domainIDs"))))["deployment"], "spec", "template", "metadata", "annotations", domainsAnnotation)
	}
	none := at(desired(t, ready(t, xr(t, "directories")))["deployment"], "spec", "template", "metadata", "annotations", domainsAnnotation)
	one, same := annotations(map[string]any{"employees": "a"}), annotations(map[string]any{"employees": "a"})
	two := annotations(map[string]any{"employees": "a", "partners": "b"})
	if none != nil || one == nil || one != same || two == one {
		t.Errorf("no domain: %v, one: %v and %v, two: %v", none, one, same, two)
	}
}
