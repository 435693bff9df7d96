package controlplane

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/controlplanetest"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost/costtest"
)

// free are costly fields that no quota counts, with the reason.
var free = map[string]string{
	"spec.services.nova.quotas.memoryMiB":    "it limits servers",
	"spec.services.nova.flavors[].memoryMiB": "servers run on hypervisors",
}

// everyService is a claim with a part of each kind that costs something. Services that it does not name are enabled, without more.
const everyService = `{size: large, infrastructure: {mariadb: {maxScale: {enabled: true}, backup: {schedule: "0 1 * * *", s3: {bucket: a, endpoint: s3.a.b,
	credentialsSecretRef: {name: a}}, stagingStorage: {storageSize: 5Gi}}}}, tempest: {enabled: true, allowAdministration: true}, services: {
	keystone: {federation: {provider: a, metadataURL: "https://a.b/c", issuer: "https://a.b", clientID: a, clientSecretRef: {name: a, key: b}}},
	heat: {enabled: true, cfn: {enabled: true}},
	glance: {enabled: true, stores: [{name: a, file: {storageSize: 10Gi, storageClass: a}}], import: {staging: {storageSize: 5Gi}},
		imageCache: {storageSize: 5Gi}},
	nova: {enabled: true, cells: [{name: cell1, metadata: {}, infrastructure: {mariadb: {}, rabbitmq: {}}}], metadata: {perCell: true},
		consoles: {}, hypervisorNetworks: [10.0.0.0/8]},
	neutron: {enabled: true, ovn: {relay: {replicas: 2}}},
	cinder: {enabled: true, backends: [{name: a, rbd: {pool: a, user: b}, volume: {}}, {name: b, rbd: {pool: c, user: d}}], backup: {file: {storageSize: 5Gi, storageClass: a}}}}}`

// TestEveryCostlyFieldIsCounted changes each field that requests pods, CPU, memory or storage in a claim of all services, and requires that a
// cost item changes with it. A field that no item contains would pass every quota.
func TestEveryCostlyFieldIsCounted(t *testing.T) {
	claimed := func() map[string]any {
		spec := controlplanetest.Fields(t, everyService)
		named := spec["services"].(map[string]any)
		for _, s := range serviceTable {
			if name := s.Info().Name; named[name] == nil {
				named[name] = map[string]any{"enabled": true}
			}
		}
		return spec
	}
	costs := func(spec map[string]any) string {
		data, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		read, err := claim.Read(input(t, string(data), bare, nil))
		if err != nil {
			t.Fatal(err)
		}
		enabled := enabledServices(read)
		shared, _ := infrastructure.Derive(read, demandOf(read, enabled), nil) // Costs exist also for a spec that other rules reject.
		var out strings.Builder
		for _, p := range newModel(shared, enabled).parts() {
			fmt.Fprintln(&out, p.Field, p.Replicas, p.Times, p.Storage, p.Scratch, p.Processes, p.Runs, amounts(p.Resources))
		}
		return out.String()
	}
	base := costs(claimed())
	for _, f := range costtest.Fields("spec", reflect.TypeFor[controlplanev1.ControlPlaneClusterSpec]()) {
		if free[f.Path] != "" {
			continue
		}
		spec := claimed()
		costtest.Set(spec, strings.TrimPrefix(f.Path, "spec."), f.Value)
		if got := costs(spec); got == base {
			t.Errorf("%s = %v changes no cost item: add it to the model's Pods or Volumes, or to free with the reason", f.Path, f.Value)
		}
	}
}

// amounts returns the requests and limits as text.
func amounts(r *common.Resources) string {
	if r == nil {
		return ""
	}
	requests, limits := ptr.Deref(r.Requests, common.ResourceAmounts{}), ptr.Deref(r.Limits, common.ResourceAmounts{})
	return fmt.Sprint(requests.CPU, requests.Memory, requests.EphemeralStorage, limits.CPU, limits.Memory, limits.EphemeralStorage)
}
