package hypervisor

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost/costtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// free are costly fields that no quota counts, with the reason.
var free = map[string]string{
	"spec.hugePages[].count":          "the operating system of the node reserves them",
	"spec.slices[].hugePages[].count": "the operating system of the node reserves them",
}

// TestEveryCostlyFieldIsLimited sets each field that requests CPU, memory or storage to a value above the default maxima, and requires an
// error about a quota. A field that no cost item contains would pass every quota.
func TestEveryCostlyFieldIsLimited(t *testing.T) {
	const (
		slice  = `slices: [{name: a, nodeSelector: {a: b}}]`
		agents = `agents: {kvmNodeAgent: {enabled: false}, ovsAgent: {enabled: true, image: {tag: "1"}}, labelsInjector: {enabled: true}}, ` +
			`pciDevices: [{name: a, vendorID: "8086", productID: "1889", interface: ens1, physicalNetwork: physnet1}]`
		libvirtOfNode = `virtualization: {libvirt: {mode: Host}}`
		nodeAgent     = `agents: {kvmNodeAgent: {enabled: true}}, lifecycle: {enabled: true, credentialsSecretRef: {name: a}}, ` + libvirtOfNode
	)
	fields := costtest.Fields("spec", reflect.TypeFor[hypervisorv1.HypervisorClusterSpec]())
	if len(fields) == 0 {
		t.Fatal("no costly fields")
	}
	for _, f := range append(fields, costtest.Field{}) {
		if free[f.Path] != "" {
			continue
		}
		base := agents + ", " + slice
		if strings.Contains(f.Path, ".kvmNodeAgent.") {
			base = nodeAgent
		}
		spec := map[string]any{}
		if err := yaml.Unmarshal([]byte(more(base)), &spec); err != nil {
			t.Fatal(err)
		}
		if f.Path != "" {
			costtest.Set(spec, strings.TrimPrefix(f.Path, "spec."), f.Value)
		}
		data, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		c := newCluster(string(data), "tenant-a", objects(planeClaim, withCards)...)
		c.Required["platform"] = objects("{metadata: {name: default}, spec: " + strings.Replace(open, limittest.Everything, limittest.DefaultMaxima, 1) + "}")
		err = makeReady(c)
		switch limited := err != nil && strings.Contains(err.Error(), "quota"); {
		case f.Path == "" && limited:
			t.Errorf("the claim without a costly field: %v", err)
		case f.Path != "" && !limited:
			t.Errorf("%s = %v passes every quota: add its field to nodePods; error %v", f.Path, f.Value, err)
		}
	}
}

// TestNodesStayInPool checks for labels of slices and gateways that contradict labels of the pool, or of each other, that no DaemonSet can
// select a node without the pool's labels, which a limit allows. A claim with such labels may also be rejected.
func TestNodesStayInPool(t *testing.T) {
	composed := 0
	for name, spec := range map[string]string{
		"gateways of another pool":         `networks: {gateway: {nodeSelector: {pool: team-b}}}`,
		"slice of another pool":            `slices: [{name: a, nodeSelector: {pool: team-b}}]`,
		"gateways of a slice elsewhere":    `slices: [{name: a, nodeSelector: {fast: "1"}, networks: {gateway: {nodeSelector: {pool: team-b}}}}]`,
		"gateways outside of the slice":    `networks: {gateway: {nodeSelector: {fast: "2"}}}, slices: [{name: a, nodeSelector: {fast: "1"}}]`,
		"gateways with a label and a pool": `networks: {gateway: {nodeSelector: {gateway: "1"}}}, slices: [{name: a, nodeSelector: {fast: "1"}}]`,
		"region":                           `region: eu, networks: {gateway: {nodeSelector: {topology.kubernetes.io/region: us}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := "nodeSelector: {pool: team-a}, " + spec
			c := newCluster(more(spec), "tenant-a", objects(planeClaim, withCards)...)
			if err := makeReady(c); err != nil {
				if !strings.Contains(err.Error(), "odeSelector: ") {
					t.Error(err)
				}
				return
			}
			for _, set := range daemonSets(t, kind.Desired(t, c)) {
				composed++
				for _, pool := range []string{"team-b", ""} {
					for _, fast := range []string{"1", "2", ""} {
						node := map[string]string{"pool": pool, "fast": fast, "gateway": "1", "topology.kubernetes.io/region": "eu"}
						if isOn(t, &set, node) {
							t.Errorf("%s runs on a node outside of the pool: %v", set.Name, node)
						}
						node["pool"] = "team-a"
						if strings.Contains(set.Name, "-slice-") && fast != "1" && isOn(t, &set, node) {
							t.Errorf("%s runs on a node outside of the slice: %v", set.Name, node)
						}
					}
				}
			}
		})
	}
	if composed == 0 {
		t.Error("no claim was accepted")
	}
}
