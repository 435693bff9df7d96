package hypervisor

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

// onNodes are the option groups that Python packages on nodes register, and the services do not list: rights of helpers, and the plug-ins
// of the switch. Options of the agent itself are in separate files.
var onNodes = map[string][]string{
	"nova":    {"nova_sys_admin", "vif_plug_ovs_privileged", "privsep_osbrick", "os_vif_ovs"},
	"neutron": {"privsep", "privsep_dhcp_release", "privsep_ovs_vsctl", "privsep_namespace", "privsep_conntrack", "privsep_link", "agent", "ovs"},
}

// ofAgents are options of Neutron's agents outside of those groups.
var ofAgents = map[string]bool{
	"DEFAULT nova_metadata_host": true, "DEFAULT nova_metadata_port": true, "DEFAULT nova_metadata_protocol": true,
	"DEFAULT auth_ca_cert": true, "DEFAULT metadata_proxy_shared_secret": true,
	"DEFAULT agent_mode": true, "DEFAULT enable_metadata_proxy": true, "DEFAULT enable_isolated_metadata": true, "DEFAULT ovs_use_veth": true,
}

// TestOptions verifies that Nova and Neutron of every release have the options that processes on nodes are configured with, by files and
// environment variables.
func TestOptions(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r)+" agents", func(t *testing.T) {
			w := newCluster(more(served), "tenant-a", objects(planeClaim, strings.ReplaceAll(byAgents, `"2025.2"`, `"`+string(r)+`"`))...)
			if checked := checkOptions(t, w, r); checked < 100 {
				t.Errorf("only %d options are set", checked)
			}
		})
		cards := newCluster(more(carded), "tenant-a", objects(planeClaim, strings.ReplaceAll(withCards, `"2025.2"`, `"`+string(r)+`"`))...)
		if checked := checkOptions(t, cards, r); checked < 60 {
			t.Errorf("%s: only %d options are set with cards", r, checked)
		}
		w := newCluster(more(`cpu: {mode: custom, models: [EPYC], allocationRatio: 4, sharedSet: "2"}, memory: {allocationRatio: 2, reserved: 1Gi}, `+
			`traits: [CUSTOM_A], pciDevices: [{name: a, vendorID: 10de, productID: 20b5}], `+
			`storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}, `+
			`virtualization: {liveMigration: {bandwidthPerMigration: 1Gi, parallelOutboundMigrationsPerNode: 2, completionTimeoutPerGiB: 9, `+
			`maxDowntimeMilliseconds: 100}}`),
			"tenant-a", objects(planeClaim, strings.ReplaceAll(controlPlaneYAML, `"2025.2"`, `"`+string(r)+`"`), storageClaim, storageXR)...)
		checked := checkOptions(t, w, r)
		nova, err := registry.For("nova", string(r))
		if err != nil {
			t.Fatal(err)
		}
		if len(nova.Lookup("DEFAULT", "reserved_huge_pages")) != 1 { // nova-compute.sh writes it.
			t.Errorf("%s: Nova reserves no huge pages", r)
		}
		if checked < 40 {
			t.Errorf("%s: only %d options are set", r, checked)
		}
	}
}

// checkOptions counts the options in files of a pool, of which the release has all.
func checkOptions(t *testing.T, w *simulate.Cluster, r release.Release) (checked int) {
	t.Helper()
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	for name, o := range kind.Desired(t, w) {
		data, _ := o["data"].(map[string]any)
		for file, app := range map[string]string{"nova.conf": "nova", "neutron.conf": "neutron"} {
			text, ok := data[file].(string)
			if !ok {
				continue
			}
			known, err := registry.For(app, string(r))
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := oslo.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for group, options := range parsed {
				for option := range options {
					checked++
					if isOnNodes(app, group, option) {
						continue
					}
					if found := known.Lookup(group, option); len(found) != 1 || found[0].Group != group || found[0].Name != option {
						t.Errorf("%s: %s: [%s] %s is no option of %s", r, name, group, option, app)
					}
				}
			}
		}
	}
	return checked
}

func isOnNodes(app, group, option string) bool {
	return slices.Contains(onNodes[app], group) || app == "neutron" && ofAgents[group+" "+option]
}

// TestObjects_MatchSchemas verifies that the API server accepts every object, and the manifest in an Object of provider-kubernetes.
func TestObjects_MatchSchemas(t *testing.T) {
	set := crds.Load(t)
	own, err := definition.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range own {
		set.Add(crd)
	}
	all := map[string]map[string]encoded.Struct{"webhook": composedOf(t, hooked(injecting))}
	for _, spec := range []string{"smallest", "slices", "host", "disks", "images", "injector", "lifecycle", "agents", "cards"} {
		w, _ := kind.Ready(t, spec)
		all[spec] = map[string]encoded.Struct{}
		for name := range w.Observed {
			all[spec][name], _ = w.Desired(kind.Name, name)
		}
	}
	for spec, objects := range all {
		for name, o := range objects {
			m := o.Map()
			for _, e := range set.Validate(m) {
				t.Errorf("%s: %s: %s", spec, name, e)
			}
			if inner, ok := wrapper.Desired(o); ok {
				m = inner.Map()
			}
			if m["kind"] == "Secret" {
				t.Errorf("%s: %s is a Secret, which would be in every message of the function", spec, name)
			}
		}
	}
}

// TestPrivileges verifies that no container is privileged, that each gives a reason for its rights, and that pods which carry servers are
// not replaced automatically.
func TestPrivileges(t *testing.T) {
	w, _ := kind.Ready(t, "slices")
	capabilities := map[string]int{
		"ovs-vswitchd": 2, "ovsdb-server": 0, "ovn-controller": 0, "metadata": 5, "libvirt": 9, "nova-compute": 5, "volume-keys": 0,
		"disk-transfer": 0,
	}
	byHand := map[string]bool{"openvswitch": true, "libvirt": true}
	observed := 0
	for name, o := range kind.Desired(t, w) {
		if o["kind"] != "DaemonSet" {
			continue
		}
		var set appsv1.DaemonSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &set); err != nil {
			t.Fatal(err)
		}
		spec := set.Spec.Template.Spec
		component, _, _ := strings.Cut(name, "-slice-")
		if got := set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType; got != byHand[component] {
			t.Errorf("%s: it is left to others to replace pods: %t", name, got)
		}
		if spec.HostPID != (component == "libvirt") || spec.HostNetwork != (component != "volume-keys") || spec.HostIPC {
			t.Errorf("%s: processes of the node %t, network %t, memory %t", name, spec.HostPID, spec.HostNetwork, spec.HostIPC)
		}
		for _, c := range spec.Containers {
			if c.Name == certificateContainer { // It has no privileges.
				continue
			}
			observed++
			s := c.SecurityContext
			if s.Privileged != nil && *s.Privileged || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s: %s may do everything", name, c.Name)
			}
			n, known := capabilities[c.Name]
			if name == "libvirt-slice-edge" { // It gives PCI devices to virtual machines.
				n++
			}
			if !known || len(s.Capabilities.Add) != n || s.Capabilities.Drop[0] != corev1.Capability("ALL") {
				t.Errorf("%s: %s has %v", name, c.Name, s.Capabilities)
			}
			if !strings.Contains(set.Spec.Template.Annotations["crossplane.c5c3.io/privileges"], c.Name+": ") {
				t.Errorf("%s: container %s gives no reason for its rights", name, c.Name)
			}
		}
	}
	if observed != 3*9 {
		t.Errorf("%d containers", observed)
	}
}
