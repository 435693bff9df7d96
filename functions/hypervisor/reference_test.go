package hypervisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/controlplane"
)

// mine is the minimal spec of a pool.
const mine = `{controlPlaneRef: {namespace: tenant-a, name: cloud}}`

// more is a pool with further fields.
func more(fields string) string { return strings.TrimSuffix(mine, "}") + ", " + fields + "}" }

// reconcileUntil returns the text before a given string.
func reconcileUntil(text, message string) string {
	head, _, found := strings.Cut(text, message)
	if !found {
		panic(message)
	}
	return head
}

// numbered returns entries of a list with different numbers.
func numbered(name string, count int) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprint(name, i)
	}
	return strings.Join(all, ", ")
}

// TestControlPlaneRequiresConsent verifies that a control plane can be used from its own namespace and from the allowed ones. Other claims
// get the error of a missing control plane, regardless of their claim reference.
func TestControlPlaneRequiresConsent(t *testing.T) {
	external := strings.Replace(controlPlaneYAML, "claimRef: {namespace: tenant-a, name: cloud}", "claimRef: {namespace: tenant-b, name: cloud}", 1)
	for name, tc := range map[string]struct {
		reason, namespace string
		others            []*structpb.Struct
		ok                bool
	}{
		"Own":      {"Its own namespace always may.", "tenant-a", objects(planeClaim, controlPlaneYAML), true},
		"Friend":   {"It names others.", "friends-x", objects(planeClaim, controlPlaneYAML), true},
		"Stranger": {"It does not name all.", "tenant-b", objects(planeClaim, controlPlaneYAML), false},
		"None":     {"It does not exist.", "tenant-b", nil, false},
		"Not back": {
			"A claim refers to the composite resource of another claim.", "tenant-a", objects(planeClaim, external), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := makeReady(newCluster(mine, tc.namespace, tc.others...))
			if tc.ok {
				if err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				return
			}
			want := fmt.Sprintf("spec.controlPlaneRef: there is no ControlPlaneCluster cloud in namespace tenant-a that claims of namespace %q "+
				"may use; correct the reference, or ask its owner to add this namespace to spec.allowedNamespaces", tc.namespace)
			if err == nil || !invalid.Is(err) || err.Error() != want {
				t.Errorf("%s\n got %v\nwant %s", tc.reason, err, want)
			}
		})
	}
}

// TestRequestsControlPlaneOnlyWithConsent verifies that the composite resource of a control plane without consent is not requested.
func TestRequestsControlPlaneOnlyWithConsent(t *testing.T) {
	w := newCluster(mine, "tenant-b", objects(planeClaim, controlPlaneYAML)...)
	if err := makeReady(w); err == nil {
		t.Fatal("it is not refused")
	}
	if got := w.Request().Required; got[controlplane.Component] != nil || len(got["control-plane-claim"]) != 1 {
		t.Errorf("it requires %v", got)
	}
}

// TestNextAttemptTime verifies that nodes run nothing before the control plane is ready for it, and that the claim reports the reason.
func TestNextAttemptTime(t *testing.T) {
	const owner = "control plane cloud of namespace tenant-a"
	without := func(message string) string { return strings.Replace(controlPlaneYAML, message, "", 1) }
	withoutStatus := reconcileUntil(controlPlaneYAML, "status:")
	for name, tc := range map[string]struct {
		others []*structpb.Struct
		want   string
	}{
		"not bound": {
			objects(strings.Replace(planeClaim, ", resourceRef: {name: cloud-x}", "", 1)),
			"waiting for " + owner + ", for which no objects are composed yet",
		},
		"missing":   {objects(planeClaim), "waiting for " + owner + ", for which no objects are composed yet"},
		"no status": {objects(planeClaim, withoutStatus), "waiting for " + owner + " to publish its hypervisor access"},
		"no Nova": {
			objects(planeClaim, strings.Replace(withoutStatus, "nova: {enabled: true}, ", "", 1)),
			owner + " has no Nova; set services.nova.enabled to true there",
		},
		"no agents": {
			objects(planeClaim, reconcileUntil(byAgents, "      agents:")),
			"waiting for " + owner + " to publish how agents connect to its Neutron",
		},
		"no Neutron": {
			objects(planeClaim, reconcileUntil(controlPlaneYAML, "    networks:")),
			owner + " has no Neutron; set services.neutron.enabled to true there",
		},
		"no release": {objects(planeClaim, without("  release: \"2025.2\"\n")), "waiting for " + owner + " to start"},
		"no OVN": {
			objects(planeClaim, reconcileUntil(controlPlaneYAML, "      southbound:")),
			"waiting for the address of OVN's southbound database of " + owner,
		},
		"new cell": {objects(planeClaim, without("name: cell1, phase: Ready")), "waiting for cell cell1 of " + owner + ", which is not registered in Nova yet"},
		"cell": {
			objects(planeClaim, strings.Replace(controlPlaneYAML, "phase: Ready", "phase: Creating", 1)),
			"waiting for cell cell1 of " + owner + ", which is in phase Creating",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(mine, "tenant-a", tc.others...)
			for range 5 {
				if done, err := w.Call(func(simulate.Step) {}); err != nil || done {
					t.Fatalf("done %t, %v", done, err)
				}
			}
			for resource := range w.Observed {
				if strings.Contains(resource, switchComponent) || strings.Contains(resource, computeComponent) {
					t.Errorf("%s exists", resource)
				}
			}
			requested := ""
			for _, c := range New().Run(w.Request()).Conditions {
				if c.GetType() == "Current" {
					requested = c.GetMessage()
				}
			}
			if !strings.HasSuffix(requested, tc.want) {
				t.Errorf("message %q, want %q", requested, tc.want)
			}
		})
	}
}

// TestInvalidFieldsAreReportedByPath verifies that each invalid field is reported by its path.
func TestInvalidFieldsAreReportedByPath(t *testing.T) {
	externalOVN := strings.Replace(controlPlaneYAML, "      issuerRef: {name: ovn-ca, kind: Issuer}\n", "", 1)
	for name, tc := range map[string]struct {
		reason, spec, other, field, message string
	}{
		"Cell": {"The cell must exist.", more("cell: west"), controlPlaneYAML, "spec.cell", `has no cell "west"; choose one of cell1, other`},
		"OVN":  {"Certificates of the pool are not issued.", mine, externalOVN, "spec.controlPlaneRef", "a control plane with external OVN databases is not implemented"},
		"Overlap": {
			"A node would have two of everything.", more("slices: [{name: a, nodeSelector: {gpu: a}}, {name: b, nodeSelector: {rack: b}}]"), controlPlaneYAML,
			"spec.slices[1].nodeSelector", "a node could belong to slice a and to slice b",
		},
		"Nobody": {
			"No node has two values of a label.", more("nodeSelector: {pool: blue}, slices: [{name: a, nodeSelector: {pool: red}}]"), controlPlaneYAML,
			"spec.slices[0].nodeSelector", "no node of the pool has pool=red, since all have pool=blue",
		},
		"Zone": {
			"Nodes of a slice would be in the zone of another.",
			more("availabilityZone: a, slices: [{name: s, nodeSelector: {rack: b}, availabilityZone: b, aggregates: [ssd, a]}]"), controlPlaneYAML,
			"spec.slices[0].aggregates", "a is an availability zone of the pool, into which these nodes would come",
		},
		"Aggregates": {
			"One object has them.", more("aggregates: [" + numbered("a", 16) + "], slices: [{name: s, nodeSelector: {rack: b}, aggregates: [" +
				numbered("b", 16) + "], availabilityZone: z}]"), controlPlaneYAML, "spec.aggregates", "name 33 aggregates and availability zones, and may name 32",
		},
		"Option": {
			"nova-compute would read a file of the node.", more("agents: {novaCompute: {config: {libvirt: {rng_dev_path: /etc/shadow}}}}"), controlPlaneYAML,
			"spec.agents.novaCompute.config.libvirt.rng_dev_path", "has privileges on its node",
		},
		"Driver": {
			"Nova does not support it.", more("virtualization: {driver: cloud-hypervisor}"), controlPlaneYAML, "spec.virtualization.driver", "set driver to kvm or qemu",
		},
		"Evict": {
			"The node configures libvirt.", more("virtualization: {evictOnCordon: true, libvirt: {mode: Host}}"), controlPlaneYAML,
			"spec.virtualization.evictOnCordon", "set libvirt.mode to Managed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := makeReady(newCluster(tc.spec, "tenant-a", objects(planeClaim, tc.other)...))
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

// TestForgetsRemovedObjects verifies that workloads on nodes stay unchanged while the control plane publishes no state, and are not removed
// if even the last known state is missing.
func TestForgetsRemovedObjects(t *testing.T) {
	w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	before := kind.Desired(t, w)
	w.RequiredResources = objects(planeClaim, reconcileUntil(controlPlaneYAML, "status:"))
	if _, err := w.Call(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, kind.Desired(t, w)); diff != "" {
		t.Errorf("(-before +while the control plane reports nothing):\n%s", diff)
	}
	delete(w.XR.GetFields(), "status")
	if _, err := w.Call(func(simulate.Step) {}); err == nil || !strings.Contains(err.Error(), "no changes are made until the control plane reports") {
		t.Errorf("the recorded state is missing: %v", err)
	}
}

// TestRejectsNodesOutsideLimits verifies that only nodes that the platform allows for the namespace can be selected: selecting a node is
// control of it.
func TestRejectsNodesOutsideLimits(t *testing.T) {
	const some = `{name: some, namespaces: ["tenant-*"], hypervisorNodes: ["node-role.kubernetes.io/hypervisor", "pool={namespace}"], ` +
		`tolerations: ["dedicated=hypervisor"]}`
	for name, tc := range map[string]struct {
		reason, limits, spec, field, message string
	}{
		"Default":   {reason: "The default label is allowed.", limits: some, spec: mine},
		"Own":       {reason: "One allowed label is sufficient.", limits: some, spec: more("nodeSelector: {pool: tenant-a, rack: r1}")},
		"Others":    {"The nodes belong to another namespace.", some, more("nodeSelector: {pool: tenant-b}"), "spec.nodeSelector", `"pool=tenant-b" is not in`},
		"All":       {"The label matches all nodes.", some, more("nodeSelector: {kubernetes.io/os: linux}"), "spec.nodeSelector", "is not in the hypervisorNodes"},
		"Unset":     {"No limit sets it.", `{name: none, namespaces: ["*"]}`, mine, "spec.nodeSelector", "no limit of the platform allows"},
		"Elsewhere": {"The limit is for another namespace.", `{name: b, namespaces: [tenant-b], hypervisorNodes: ["*"]}`, mine, "spec.nodeSelector", "no limit of the platform"},
		"Tolerated": {
			reason: "A taint of hypervisors.", limits: some,
			spec: more("tolerations: [{key: dedicated, operator: Equal, value: hypervisor, effect: NoSchedule}]"),
		},
		"Tolerates": {
			"Every taint.", some, more("tolerations: [{operator: Exists}]"), "spec.tolerations", `"every taint" is not in the tolerations`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			w.Required["platform"] = objects(`{metadata: {name: default}, spec: {domain: example.com, limits: [` + tc.limits + `]}}`)
			err := makeReady(w)
			if tc.field == "" {
				if err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				return
			}
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

// TestExternalQueue_Keystone verifies that no ingress is allowed to an external queue, and that nova-compute uses the virtual host of its
// cell there.
func TestExternalQueue_Keystone(t *testing.T) {
	existing := strings.NewReplacer("{rabbitMQRef: {name: rabbitmq}, host: rabbitmq."+cloud+".svc, port: 5671,",
		"{connectionSecretRef: {name: rabbitmq-connection}, sharedAs: "+cloud+", host: queue.example.com, port: 443,",
		"virtualHost: nova_cell1", "virtualHost: nova_cell1-"+cloud).Replace(controlPlaneYAML)
	w := newCluster(mine, "tenant-a", objects(planeClaim, existing)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	if _, opened := w.Observed["queue-network-policy"]; opened {
		t.Error("it is opened")
	}
	if _, opened := w.Observed["southbound-network-policy"]; !opened {
		t.Error("OVN's southbound database is not opened")
	}
	var all strings.Builder
	for _, o := range w.Observed {
		fmt.Fprint(&all, o.Tree())
	}
	requested := all.String()
	for _, message := range []string{"queue.example.com", "nova_cell1-" + cloud} {
		if !strings.Contains(requested, message) {
			t.Errorf("no object contains %q", message)
		}
	}
}

// TestQueueByName verifies that pods on nodes check the name in the certificate of an external queue, as services do.
func TestQueueByName(t *testing.T) {
	const reported = "ssl_enforce_hostname_verification = true"
	for _, plane := range []string{controlPlaneYAML, byAgents} {
		plane = strings.Replace(plane, `release: "2025.2"`, `release: "2025.1"`, 1)
		for queue, want := range map[string]bool{
			"{rabbitMQRef: {name: rabbitmq}": false, "{connectionSecretRef: {name: rabbitmq-connection}, sharedAs: " + cloud: true,
		} {
			w := newCluster(more(served), "tenant-a", objects(planeClaim, strings.ReplaceAll(plane, "{rabbitMQRef: {name: rabbitmq}", queue))...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			for name, o := range kind.Desired(t, w) {
				data, _ := o["data"].(map[string]any)
				for file, text := range data {
					text, _ := text.(string)
					if strings.Contains(text, "rabbit_quorum_queue") && strings.Contains(text, reported) != want {
						t.Errorf("queue %s: %s of %s contains %q: %t", queue, file, name, reported, !want)
					}
				}
			}
		}
	}
}

// TestNoIngressWithoutHypervisorNetworks verifies that a control plane without hypervisor networks allows no ingress, and that the pool is
// composed nevertheless.
func TestNoIngressWithoutHypervisorNetworks(t *testing.T) {
	w := newCluster(mine, "tenant-a", objects(planeClaim, strings.Replace(controlPlaneYAML, "      hypervisorNetworks: [10.20.0.0/16]\n", "", 1))...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	for resource := range w.Observed {
		if strings.HasSuffix(resource, "-network-policy") {
			t.Errorf("there is %s", resource)
		}
	}
}
