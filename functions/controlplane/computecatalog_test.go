package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestNovaGetsFlavorsAndAggregates checks that Nova gets the flavors and aggregates of the claim.
func TestNovaGetsFlavorsAndAggregates(t *testing.T) {
	n := novaOf(t, compute(", flavors: [{name: small, vcpus: 1, memoryMiB: 512}], aggregates: [{name: east, availabilityZone: az, hosts: [a]}]"), queued)
	if diff := cmp.Diff([]common.Flavor{{Name: "small", VCPUs: 1, MemoryMiB: 512}}, n.Flavors); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]common.HostAggregate{{Name: "east", AvailabilityZone: "az", Hosts: []string{"a"}}}, n.Aggregates); diff != "" {
		t.Error(diff)
	}
}

// TestComputeCatalogValidation checks that values that Nova would always reject are reported by the claim.
func TestComputeCatalogValidation(t *testing.T) {
	for name, tc := range map[string]struct{ reason, extraYAML, want string }{
		"OneZone": {
			reason: "Aggregates may share a zone, or have none.",
			extraYAML: "aggregates: [{name: a, availabilityZone: az, hosts: [h]}, {name: b, availabilityZone: az, hosts: [h]}, {name: c, hosts: [h]}, " +
				"{name: d, availabilityZone: other, hosts: [i]}]",
		},
		"TwoZones": {
			reason:    "A host can be in one zone only.",
			extraYAML: "aggregates: [{name: a, availabilityZone: az-a, hosts: [h]}, {name: b, availabilityZone: az-b, hosts: [g, h]}]",
			want: "spec.services.nova.aggregates[1].hosts: h is in availability zone az-a of aggregate a and cannot be in az-b, too; " +
				"remove it from one of them",
		},
		"NoIDs": {reason: "Nova generates the IDs.", extraYAML: "flavors: [{name: a, vcpus: 1, memoryMiB: 1}, {name: b, vcpus: 1, memoryMiB: 1}]"},
		"OneID": {
			reason:    "IDs must be unique.",
			extraYAML: `flavors: [{name: a, id: "1", vcpus: 1, memoryMiB: 1}, {name: b, id: "1", vcpus: 1, memoryMiB: 1}]`,
			want:      "spec.services.nova.flavors[1].id: flavor a uses the same ID; set another one, or remove it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, compute(", "+tc.extraYAML), queued, nil))
			if tc.want == "" {
				if err != nil {
					t.Errorf("%s %v", tc.reason, err)
				}
				return
			}
			field, message, _ := strings.Cut(tc.want, ": ")
			requireFieldError(t, tc.reason, err, field, message)
		})
	}
}
