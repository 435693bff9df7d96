package apis_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// limitedElsewhere are numbers, amounts and schedules without a maximum in the schema, by a pattern of their paths, with the limit or the
// reason why they cost nothing. TestEveryCostlyField… of the functions prove the quotas.
var limitedElsewhere = map[string]string{
	`^ControlPlaneCluster\..*[rR]esources\.(requests|limits)\.`:             "quotas cpu, memory and ephemeralStorage",
	`^ControlPlaneCluster\..*\.(cpu|memory)$`:                               "quotas cpu and memory",
	`^ControlPlaneCluster\..*\.storageSize$`:                                "quota storage",
	`^ControlPlaneCluster\..*\.conversionSize$`:                             "quota ephemeralStorage",
	`^ControlPlaneCluster\..*[sS]chedule$`:                                  "quota runsPerHour",
	`^ControlPlaneCluster\.spec\.services\.(nova|neutron)\.quotas\.`:        "quotas of projects: their servers run on hypervisors",
	`^HypervisorCluster\..*\.resources\.(requests|limits)\.`:                "quotas nodeCPU, nodeMemory and ephemeralStorage",
	`^HypervisorCluster\..*\.(cpu|memory)\.allocationRatio$`:                "a CEL rule has the maximum 128",
	`^HypervisorCluster\..*\.memory\.reserved$`:                             "memory that servers of the pool do not get",
	`^HypervisorCluster\..*\.bandwidthPerMigration$`:                        "a maximum itself",
	`^StorageCluster\..*\.resources\.(requests|limits)\.`:                   "quotas cpu, memory, ephemeralStorage, nodeCPU and nodeMemory",
	`^StorageCluster\..*\.(maxSize|maxObjects)$`:                            "a maximum itself",
	`^StorageCluster\.spec\.(targetCapacity|nodes\[\]\.devices\[\]\.size)$`: "compared with each other; Ceph does not read them",
	`^StorageCluster\..*\.snapshotSchedules\[\]\.interval$`:                 "at least a minute, of eight schedules; snapshots stay on nodes of storageNodes",
	`\.tolerationSeconds$`:                                                  "a pod that stays on its node requests nothing more",
}

// measured matches names of texts that contain an amount or a schedule.
var measured = regexp.MustCompile(`(?i)(schedule|size|interval|capacity|retention)$`)

// inlineSpecs are the kinds of the claims that an OpenStackCluster composes, by the path of their specs in it. The limits of these claims
// apply to it.
var inlineSpecs = map[string]string{
	"OpenStackCluster.spec.controlPlane.spec": "ControlPlaneCluster.spec", "OpenStackCluster.spec.storage.spec": "StorageCluster.spec",
	"OpenStackCluster.spec.hypervisorPools[].spec": "HypervisorCluster.spec",
}

// TestEveryCostIsLimited requires a maximum or a quota of each number, amount and schedule in each kind of claim.
// TestEveryFieldIsDescribedAndBounded requires the maximum length of each list and map.
func TestEveryCostIsLimited(t *testing.T) {
	used := map[string]bool{}
	all := crds(t)
	for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
		root := all[k.Kind].Spec.Versions[0].Schema.OpenAPIV3Schema
		walk(k.Kind, *root, func(path string, p apiextensionsv1.JSONSchemaProps, _ bool) bool {
			if crossplanes(path) || slices.Contains([]string{k.Kind + ".status", k.Kind + ".metadata"}, path) {
				return false
			}
			isAmount := p.Type == "integer" || p.Type == "number" || p.XIntOrString || p.Type == "string" && measured.MatchString(path)
			if !isAmount || p.Maximum != nil || len(p.Enum) > 0 {
				return true
			}
			for in, of := range inlineSpecs {
				if rest, ok := strings.CutPrefix(path, in+"."); ok {
					path = of + "." + rest
				}
			}
			limited := false
			for pattern := range limitedElsewhere {
				if regexp.MustCompile(pattern).MatchString(path) {
					limited, used[pattern] = true, true
				}
			}
			if !limited {
				t.Errorf("%s has no maximum: set one in the schema, or add it to a quota and to limitedElsewhere", path)
			}
			return true
		})
	}
	for pattern := range limitedElsewhere {
		if !used[pattern] {
			t.Errorf("%s in limitedElsewhere matches no field without a maximum", pattern)
		}
	}
}
