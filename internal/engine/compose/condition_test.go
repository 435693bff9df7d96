package compose_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

func TestConditionType(t *testing.T) {
	for component, want := range map[string]string{
		"keystone": "KeystoneReady", "trust-flush": "TrustFlushReady", "catalog-deletion-order": "CatalogDeletionOrderReady", "s3": "S3Ready",
		"api": "APIReady", "ovn-northbound": "OVNNorthboundReady", "metadata-api": "MetadataAPIReady", "capital": "CapitalReady",
	} {
		if got := compose.ConditionType(component); got != want {
			t.Errorf("ConditionType(%s) = %s, want %s", component, got, want)
		}
	}
}

// TestListsCurrentAndRetiredConditions tests the names of conditions, and the list of conditions that no part has any more, with current
// and former names.
func TestListsCurrentAndRetiredConditions(t *testing.T) {
	build := func(bool) ([]compose.Stage, error) { return nil, nil }
	on := func(on bool) bool { return on }
	g := compose.Graph[bool]{
		{Name: "api", Build: build},
		{Name: "southbound", Build: build, Condition: "OVNConnected"},
		{Name: "cache", Build: build, Enabled: on},
		{Name: "metadata-api", Build: build, Enabled: on},
	}.MustValidate()
	if diff := cmp.Diff([]string{"APIReady", "OVNConnected", "CacheReady", "MetadataAPIReady"}, g.ConditionTypes()); diff != "" {
		t.Errorf("ConditionTypes(): -want, +got:\n%s", diff)
	}
	for enabled, want := range map[bool]struct{ current, retired []string }{
		true: {
			current: []string{"APIReady", "OVNConnected", "CacheReady", "MetadataAPIReady"},
			retired: []string{"ApiReady", "SouthboundReady", "MetadataApiReady"},
		},
		false: {
			current: []string{"APIReady", "OVNConnected"},
			retired: []string{"ApiReady", "SouthboundReady", "CacheReady", "MetadataAPIReady", "MetadataApiReady"},
		},
	} {
		plan, err := g.Compute(enabled, observe.State{}, readiness.Rules, compose.Item.Reference)
		if err != nil {
			t.Fatal(err)
		}
		var current []string
		for _, p := range plan.Parts {
			current = append(current, p.ConditionType())
		}
		if diff := cmp.Diff(want.current, current); diff != "" {
			t.Errorf("enabled %t: -want, +got:\n%s", enabled, diff)
		}
		if diff := cmp.Diff(want.retired, plan.Retired); diff != "" {
			t.Errorf("enabled %t: retired: -want, +got:\n%s", enabled, diff)
		}
	}
}

// TestRejectsDuplicateConditions tests that two conditions of one type are an error.
func TestRejectsDuplicateConditions(t *testing.T) {
	build := func(bool) ([]compose.Stage, error) { return nil, nil }
	err := compose.Graph[bool]{{Name: "ovn", Build: build}, {Name: "network", Build: build, Condition: "OVNReady"}}.Validate()
	if want := `component "network" has the condition OVNReady, as one before it`; err == nil || err.Error() != want {
		t.Errorf("Validate() = %v, want %s", err, want)
	}
}
