package controlplane

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/intstr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/neutron"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// virtual returns a claim that enables Neutron, with additional fields.
func virtual(more string) string { return "{services: {neutron: {enabled: true" + more + "}}}" }

// neutronOf returns the spec of Neutron for a claim with observed resources.
func neutronOf(t *testing.T, spec string, observed map[string]*structpb.Struct) *neutronv1.NeutronSpec {
	t.Helper()
	m, err := derive(input(t, spec, queued, observed))
	if err != nil {
		t.Fatal(err)
	}
	return &xrOf[*neutronv1.Neutron](t, m, neutronv1.ServiceName).Spec
}

// ovn composes the OVN databases.
func ovn(m *model) ([]compose.Stage, error) { return neutron.ComposeOVN(m.Cloud) }

// ovnOf returns the composite resource of OVN.
func ovnOf(t *testing.T, m *model) *ovnv1.OVNCluster {
	t.Helper()
	return composed(t, m, ovn)["ovn"].Object.(*ovnv1.OVNCluster)
}

// TestNeutronProcessesDefaultToSize checks that unset fields of a process come from the size, and that singleton workers have two pods at
// most by default.
func TestNeutronProcessesDefaultToSize(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		want         []string
	}{
		"nothing": {"The size sets the defaults.", virtual(""), []string{
			"api 2 × 250m, 512Mi", "maintenance 2 × 250m, 512Mi", "periodic 2 × 250m, 512Mi",
			"northbound 3 × 250m, 512Mi, 5Gi", "southbound 3 × 250m, 512Mi, 5Gi", "northd 2 × 250m, 512Mi",
		}},
		"large": {"Additional pods would be on standby.", "{size: large, " + virtual("")[1:], []string{
			"api 5 × 1, 2Gi", "maintenance 2 × 500m, 1Gi", "periodic 2 × 500m, 1Gi",
			"northbound 3 × 1, 8Gi, 20Gi", "southbound 3 × 1, 8Gi, 20Gi", "northd 2 × 500m, 1Gi",
		}},
		"claim": {
			"The claim overrides the defaults.",
			virtual(", api: {replicas: 4}, workers: {replicas: 1, memory: 1Gi}, ovn: {northbound: {replicas: 1, storageSize: 7Gi}, " +
				"southbound: {memory: 3Gi, cpu: 2}, northd: {replicas: 3}}"),
			[]string{
				"api 4 × 250m, 512Mi", "maintenance 1 × 250m, 1Gi", "periodic 1 × 250m, 1Gi",
				"northbound 1 × 250m, 512Mi, 7Gi", "southbound 3 × 2, 3Gi, 5Gi", "northd 3 × 250m, 512Mi",
			},
		},
	} {
		m := derived(t, tc.spec, queued)
		n, o := neutronOf(t, tc.spec, nil), ovnOf(t, m).Spec
		got := []string{
			"api " + summary(&n.API), "maintenance " + summary(n.Maintenance), "periodic " + summary(&n.Periodic),
			"northbound " + summary(&o.Northbound.Process) + ", " + string(o.Northbound.StorageSize),
			"southbound " + summary(&o.Southbound.Process) + ", " + string(o.Southbound.StorageSize), "northd " + summary(&o.Northd),
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestNeutronHypervisorAccess checks that Neutron gets the addresses of OVN's databases, and keeps the previous ones while OVN reports
// none. It notifies Nova of ports if Nova is enabled.
func TestNeutronHypervisorAccess(t *testing.T) {
	const north, south = "ssl:nb-0:6641", "ssl:sb-0:6642"
	reported := structOf(t, fields(t, "{status: {northbound: {endpoint: '"+north+"'}, southbound: {endpoint: '"+south+"'}, chassisCount: 3, activeControllers: 2}}"))
	previous := structOf(t, fields(t, "{spec: {ovn: {northbound: '"+north+"', southbound: '"+south+"'}}}"))
	want := &neutronv1.OVN{Northbound: north, Southbound: south, IssuerRef: &common.IssuerReference{Name: "ovn-ca", Kind: "Issuer"}}
	for name, observed := range map[string]map[string]*structpb.Struct{
		"reported":     {"ovn": reported},
		"not reported": {"ovn": structOf(t, map[string]any{}), "neutron": previous},
		"not observed": {"neutron": previous},
	} {
		if diff := cmp.Diff(want, neutronOf(t, virtual(""), observed).OVN); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if n := neutronOf(t, virtual(""), nil); n.NotifiesNova {
		t.Error("Nova is disabled, but Neutron notifies it")
	}
	both := "{services: {placement: {enabled: true}, glance: {enabled: true, stores: [{name: a, file: {storageSize: 1Gi}}]}, " +
		"nova: {enabled: true}, neutron: {enabled: true}}}"
	if n := neutronOf(t, both, nil); !n.NotifiesNova {
		t.Error("Neutron does not notify Nova of ports")
	}
	m, err := derive(input(t, virtual(""), queued, map[string]*structpb.Struct{"ovn": reported}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&controlplanev1.OVNStatus{Northbound: north, Southbound: south, ChassisCount: 3, ActiveControllers: 2}, statusOf(t, m, neutronv1.ServiceName).OVN); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if status := statusOf(t, derived(t, virtual(""), queued), neutronv1.ServiceName).OVN; status != nil {
		t.Errorf("there is no OVN yet: %v", status)
	}
}

// TestNetworksInSync checks that a requested comparison is passed to Neutron, and that its result is copied to the claim.
func TestNetworksInSync(t *testing.T) {
	const queries = ", ovn: {sync: {request: first, mode: Repair}}"
	observedOVN := structOf(t, fields(t, "{status: {northbound: {endpoint: 'ssl:nb-0:6641'}}}"))
	responses := structOf(t, fields(t, "{status: {sync: {request: first, mode: Repair, differences: 0, repaired: 2, found: [{kind: Port, missing: 2}]}, "+
		"conditions: [{type: OVNInSync, status: 'True', reason: Repaired, message: all is well}]}}"))
	response := &common.OVNSyncAnswer{
		Request: "first", Mode: common.OVNSyncRepair, Repaired: 2, Found: []common.OVNDifference{{Kind: "Port", Missing: 2}},
	}
	for name, tc := range map[string]struct {
		reason, spec string
		observed     map[string]*structpb.Struct
		want         rules.Result
		answer       *common.OVNSyncAnswer
	}{
		"NotAsked": {reason: "No comparison is requested.", spec: virtual("")},
		"Off":      {reason: "A disabled service has no result.", spec: "{services: {neutron: {enabled: false" + queries + "}}}"},
		"Requested": {
			reason: "Neutron has not reported a result yet.", spec: virtual(queries),
			want: rules.Result{Reason: "RequestPending", Message: `waiting for the OVN comparison of request "first"`},
		},
		"Completed": {
			reason: "It has.", spec: virtual(queries), observed: map[string]*structpb.Struct{"ovn": observedOVN, "neutron": responses},
			want: rules.Result{Ready: true, Reason: "Repaired", Message: "all is well"}, answer: response,
		},
		"Unreadable": {
			reason: "An invalid condition is ignored.", spec: virtual(queries),
			observed: map[string]*structpb.Struct{"ovn": observedOVN, "neutron": structOf(t, fields(t, "{status: {sync: {request: [a]}}}"))},
			want:     rules.Result{Reason: "RequestPending", Message: `waiting for the OVN comparison of request "first"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, queued, tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, conditionOf(t, m, neutronv1.InSync)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			status := &controlplanev1.ControlPlaneClusterStatus{}
			if s := m.stateOf(neutronv1.ServiceName); s != nil {
				s.Model.Report(status)
			}
			var got *common.OVNSyncAnswer
			if status.OVN != nil {
				got = status.OVN.Sync
			}
			if diff := cmp.Diff(tc.answer, got); diff != "" {
				t.Errorf("%s\nanswer (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	want := &common.OVNSyncRequest{Request: "first", Mode: common.OVNSyncRepair}
	if diff := cmp.Diff(want, neutronOf(t, virtual(queries), nil).OVN.Sync); diff != "" {
		t.Errorf("sync settings of Neutron (-want +got):\n%s", diff)
	}
}

// TestOVNGetsSettingsOfClaim checks that OVN gets the settings of the claim, and references the copies of its Secrets, which it depends on.
func TestOVNGetsSettingsOfClaim(t *testing.T) {
	const s3 = "{bucket: copies, endpoint: 's3.example.com:443', region: west, prefix: clouds/a, credentialsSecretRef: {name: s3}, privateCA: true}"
	m := derived(t, virtual(", ovn: {southbound: {exposure: {type: NodePort, nodes: nodes.example.com, networks: [10.0.0.0/16]}}, "+
		"relay: {replicas: 3, cpu: 2}, electionTimerSeconds: 9, inactivityProbeSeconds: 120, backup: {schedule: '0 4 * * *', retentionDays: 7, s3: "+s3+"}, "+
		"restoreFrom: {targetRecoveryTime: '2026-05-01T03:00:00Z', s3: "+s3+"}}"), "{domain: a.b, queueIssuer: queues, limits: [{name: a, namespaces: ['*'], "+
		"s3Endpoints: ['*'], hypervisorNetworks: ['*'], nodeHosts: [nodes.example.com], domains: ['*']}]}")
	if probe := xrOf[*neutronv1.Neutron](t, m, neutronv1.ServiceName).Spec.OVN.InactivityProbeSeconds; probe != 120 {
		t.Errorf("Neutron probes OVN's databases after %d s, want 120", probe)
	}
	access := &controlplanev1.HypervisorAccess{}
	if m.Services[len(m.Services)-1].Model.Publish(access); access.Networks.ProbeMilliseconds() != 120_000 {
		t.Errorf("nodes probe OVN's database after %d ms, want 120,000", access.Networks.ProbeMilliseconds())
	}
	got := ovnOf(t, m).Spec
	bucket := ovnv1.Bucket{
		Bucket: "copies", Endpoint: "s3.example.com:443", Region: "west", Prefix: "clouds/a", PrivateCA: true,
		CredentialsSecretRef: common.SecretReference{Name: common.ObjectName(m.Secrets.Target("s3"))},
	}
	relay := common.Process{Replicas: new(int32(3)), CPU: new(intstr.FromInt32(2)), Memory: "512Mi"}
	want := ovnv1.OVNClusterSpec{
		Southbound: ovnv1.Southbound{
			Members:  ovnv1.Members{ElectionTimerSeconds: 9, InactivityProbeSeconds: 120},
			Exposure: &common.MemberExposure{Type: "NodePort", Nodes: "nodes.example.com", Networks: []common.CIDR{"10.0.0.0/16"}},
		},
		Relay:       &relay,
		Backup:      &ovnv1.Backup{Schedule: "0 4 * * *", RetentionDays: 7, Bucket: bucket},
		RestoreFrom: &ovnv1.RestoreFrom{TargetRecoveryTime: "2026-05-01T03:00:00Z", Bucket: bucket},
	}
	got = ovnv1.OVNClusterSpec{Southbound: got.Southbound, Relay: got.Relay, Backup: got.Backup, RestoreFrom: got.RestoreFrom}
	south := &got.Southbound.Members
	*south = ovnv1.Members{ElectionTimerSeconds: south.ElectionTimerSeconds, InactivityProbeSeconds: south.InactivityProbeSeconds}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{m.Secrets.Resource(m.Secrets.Target("s3"))}, slices.Compact(composed(t, m, ovn)["ovn"].After)); diff != "" {
		t.Errorf("it waits for (-want +got):\n%s", diff)
	}
	if o := ovnOf(t, derived(t, virtual(""), queued)).Spec; o.Relay != nil || o.Backup != nil || o.RestoreFrom != nil || o.Southbound.Exposure != nil {
		t.Errorf("unexpected defaults: %+v", o)
	}
}

// TestOVNVolumesImmutable checks that existing volumes are unchanged with another size or platform.
func TestOVNVolumesImmutable(t *testing.T) {
	const previous = "{clusterDomain: west.local, northbound: {storageSize: 3Gi, storageClass: slow}, southbound: {storageSize: 4Gi}}"
	withoutValkey := "{infrastructure: {valkey: {enabled: false}}, " + virtual("")[1:]
	m, err := derive(input(t, withoutValkey, queued[:len(queued)-1]+", storageClass: fast, clusterDomain: east.local}", observedAs(t, "ovn", previous)))
	if err != nil {
		t.Fatal(err)
	}
	o := ovnOf(t, m).Spec
	got := []string{
		string(o.ClusterDomain), string(o.Northbound.StorageSize), string(o.Northbound.StorageClass),
		string(o.Southbound.StorageSize), string(o.Southbound.StorageClass),
	}
	if diff := cmp.Diff([]string{"west.local", "3Gi", "slow", "4Gi", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for requested, message := range map[string]string{
		"northbound: {storageSize: 5Gi}":     "the volumes have 3Gi",
		"southbound: {storageClass: theirs}": "the cluster's default class",
	} {
		part, field := requested[:len("northbound")], "storageSize"
		if part == neutron.Southbound {
			field = "storageClass"
		}
		open := "{domain: a.b, queueIssuer: queues, limits: [{name: a, namespaces: ['*'], storageClasses: ['*']}]}"
		_, err := derive(input(t, virtual(", ovn: {"+requested+"}"), open, observedAs(t, "ovn", previous)))
		requireFieldError(t, requested, err, "spec.services.neutron.ovn."+part+"."+field, message)
	}
	if _, err := derive(input(t, virtual(", ovn: {northbound: {storageSize: 3072Mi}}"), queued, observedAs(t, "ovn", previous))); err != nil {
		t.Errorf("the same size in other words: %v", err)
	}
}

// TestRejectsUnsupportedNeutronSettings checks the errors for settings that Neutron does not support.
func TestRejectsUnsupportedNeutronSettings(t *testing.T) {
	const closed = "{domain: example.com, queueIssuer: queues}"
	for name, tc := range map[string]struct{ spec, platform, field, message string }{
		"no queue":         {"{infrastructure: {rabbitmq: {enabled: false}}, " + virtual("")[1:], queued, "spec.infrastructure.rabbitmq.enabled", "requires the message queue"},
		"no issuer":        {virtual(""), bare, "spec.services.neutron.enabled", "the PlatformConfig has no queueIssuer"},
		"OVN of agents":    {virtual(", mechanism: OVS, ovn: {northd: {replicas: 1}}"), queued, "spec.services.neutron.ovn", "cannot be set with mechanism OVS"},
		"DNS of agents":    {virtual(", mechanism: OVS, dnsServers: [192.0.2.53]"), queued, "spec.services.neutron.dnsServers", "the agents configure DNS servers"},
		"option":           {virtual(", config: {ovn: {dns_server: a}}"), queued, "spec.services.neutron.config.ovn.dns_server", ""},
		"memory":           {virtual(", api: {memory: 128Mi}, uwsgi: {processes: 4}"), queued, "spec.services.neutron.api.memory", "4 uWSGI processes"},
		"no amount":        {virtual(", api: {cpu: much}"), queued, "spec.services.neutron.api.cpu", "is not a quantity"},
		"workers' room":    {virtual(", workers: {memory: 64Mi}"), queued, "spec.services.neutron.workers.memory", "needs 128Mi"},
		"northd's room":    {virtual(", ovn: {northd: {memory: 64Mi}}"), queued, "spec.services.neutron.ovn.northd.memory", "needs 128Mi"},
		"member's room":    {virtual(", ovn: {southbound: {memory: 64Mi}}"), queued, "spec.services.neutron.ovn.southbound.memory", "needs 128Mi"},
		"too many members": {virtual(", ovn: {northbound: {replicas: 7}}"), queued, "spec.services.neutron.ovn.northbound.replicas", "1, 3 or 5"},
		"two members":      {virtual(", ovn: {southbound: {replicas: 2}}"), queued, "spec.services.neutron.ovn.southbound.replicas", "1, 3 or 5"},
		"plugin":           {virtual(", servicePlugins: [router]"), queued, "spec.services.neutron.servicePlugins[0]", "works with OVN"},
		"relay's room":     {virtual(", ovn: {relay: {memory: 64Mi}}"), queued, "spec.services.neutron.ovn.relay.memory", "needs 128Mi"},
		"class":            {virtual(", ovn: {northbound: {storageClass: theirs}}"), closed, "spec.services.neutron.ovn.northbound.storageClass", "no limit"},
		"storage in all": {
			virtual(", ovn: {southbound: {storageSize: 100Ti}}"), closed, "spec.services.neutron.ovn.southbound.storageSize", "with 3 × 100Ti here",
		},
		"memory in all": {virtual(", workers: {memory: 90Gi}"), closed, "spec.services.neutron.workers.memory", "with 4 × 90Gi here"},
	} {
		_, err := derive(input(t, tc.spec, tc.platform, nil))
		requireFieldError(t, name, err, tc.field, tc.message)
	}
}

// TestNeutronUsesExternalOVN checks that external databases are used with the copy of the claim's Secret, and that the control plane
// composes none.
func TestNeutronUsesExternalOVN(t *testing.T) {
	const external = ", ovn: {sync: {request: a}, external: {northbound: 'ssl:10.20.0.11:6641', southbound: 'ssl:10.20.0.11:6642', " +
		"networks: [10.20.0.0/24], clientSecretRef: {name: theirs}}}"
	const allowed = "{domain: a.b, queueIssuer: queues, limits: [{name: a, namespaces: ['*'], hypervisorNetworks: [10.20.0.0/16], domains: ['*']}]}"
	m := derived(t, virtual(external), allowed)
	s := m.Services[1]
	want := &neutronv1.OVN{
		Northbound: "ssl:10.20.0.11:6641", Southbound: "ssl:10.20.0.11:6642", Networks: []common.CIDR{"10.20.0.0/24"},
		ClientSecretRef: &common.SecretReference{Name: common.ObjectName(m.Secrets.Target("theirs"))},
		Sync:            &common.OVNSyncRequest{Request: "a", Mode: common.OVNSyncLog},
	}
	n := xrOf[*neutronv1.Neutron](t, m, neutronv1.ServiceName).Spec
	if diff := cmp.Diff(want, n.OVN); diff != "" || n.Maintenance == nil || m.ownsOVN() {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := m.copiesFor(s); !slices.Equal(got, []string{m.Secrets.Resource(m.Secrets.Target("theirs"))}) {
		t.Errorf("it comes after %v", got)
	}
	if diff := cmp.Diff(&controlplanev1.OVNStatus{Northbound: want.Northbound, Southbound: want.Southbound}, statusOf(t, m, neutronv1.ServiceName).OVN); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	_, err := derive(input(t, virtual(external), "{domain: a.b, queueIssuer: queues, limits: [{name: a, namespaces: ['*'], domains: ['*']}]}", nil))
	requireFieldError(t, "not allowed", err, "spec.services.neutron.ovn.external.networks", "hypervisorNetworks")
	previous := structOf(t, fields(t, "{spec: {mechanism: OVN, ovn: {issuerRef: {name: ovn-ca}}}}"))
	_, err = derive(input(t, virtual(external), allowed, map[string]*structpb.Struct{"neutron": previous}))
	requireFieldError(t, "moved", err, "spec.services.neutron.ovn.external", "cannot be added or removed")
}

// TestNeutronConnectionsCountProcessesAndThreads checks the number of connections: one for each thread of the API, a pool for OVN events in
// each of its processes, and two processes in each worker.
func TestNeutronConnectionsCountProcessesAndThreads(t *testing.T) {
	m := derived(t, virtual(", uwsgi: {processes: 3, threads: 2}"), queued)
	if got, want := stateOf(t, m, neutronv1.ServiceName).Model.Connections(), int64(2*3*2+2*3*5+2*2*2*5); got != want {
		t.Errorf("%d connections, want %d", got, want)
	}
	// With agents, there are periodic workers, and RPC workers with three processes below a parent.
	m = derived(t, virtual(", mechanism: OVS, uwsgi: {processes: 3, threads: 2}"), queued)
	if got, want := stateOf(t, m, neutronv1.ServiceName).Model.Connections(), int64(2*3*2+2*2*5+2*4*5); got != want {
		t.Errorf("%d connections with agents, want %d", got, want)
	}
}

// TestMechanismOVSComposesNoOVN checks that OVN is not composed with agents, and that all pods of the RPC workers are active.
func TestMechanismOVSComposesNoOVN(t *testing.T) {
	spec := virtual(", mechanism: OVS, workers: {replicas: 3}")
	m := derived(t, spec, queued)
	n := neutronOf(t, spec, nil)
	if m.ownsOVN() || n.OVN != nil || n.Maintenance != nil || n.Mechanism != neutronv1.ByOVS {
		t.Errorf("there is OVN: %+v", n)
	}
	if got := []string{summary(n.RPC), summary(&n.Periodic)}; !slices.Equal(got, []string{"3 × 250m, 512Mi", "3 × 250m, 512Mi"}) {
		t.Errorf("RPC workers and periodic workers: %v", got)
	}
	cards := ", ml2: {physicalNetworks: [{name: physnet1}], sriov: {}}"
	if n := neutronOf(t, virtual(cards), nil); n.RPC == nil || n.Maintenance == nil || n.OVN == nil {
		t.Errorf("OVN and cards: %+v", n)
	}
	m = derived(t, virtual(cards+", uwsgi: {processes: 3, threads: 2}"), queued)
	if got, want := stateOf(t, m, neutronv1.ServiceName).Model.Connections(), int64(2*3*2+2*3*5+2*2*2*5+2*4*5); got != want {
		t.Errorf("%d connections with cards, want %d", got, want)
	}
	previous := structOf(t, fields(t, "{spec: {mechanism: OVN}}"))
	_, err := derive(input(t, spec, queued, map[string]*structpb.Struct{"neutron": previous}))
	requireFieldError(t, "changed", err, "spec.services.neutron.mechanism", "set it to OVN")
	if _, err := derive(input(t, virtual(""), queued, map[string]*structpb.Struct{"neutron": previous})); err != nil {
		t.Errorf("unchanged mechanism: %v", err)
	}
}
