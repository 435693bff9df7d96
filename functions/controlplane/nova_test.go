package controlplane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
)

// queued is a platform with the issuer that services with a queue require.
var queued = bare[:len(bare)-1] + ", queueIssuer: queues}"

// compute returns a claim that enables Nova and the services that it requires, with additional fields.
func compute(more string) string {
	return "{services: {placement: {enabled: true}, nova: {enabled: true" + more + "}}}"
}

// novaOf returns the spec of Nova for a claim.
func novaOf(t *testing.T, spec, platform string) *novav1.NovaSpec {
	t.Helper()
	return &xrOf[*novav1.Nova](t, derived(t, spec, platform), novav1.ServiceName).Spec
}

// summary returns a process in one line.
func summary(p *common.Process) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprintf("%d × %s, %s", *p.Replicas, p.CPU.String(), p.Memory)
}

// TestNovaProcessesDefaultToSize checks that unset fields of a process come from its service or its size, and that every process is
// complete.
func TestNovaProcessesDefaultToSize(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, extraYAML string
		want              []string
	}{
		"nothing": {"There is one cell, and each process has the defaults of the size.", "", []string{
			"api 2 × 250m, 512Mi", "scheduler 2 × 250m, 512Mi", "conductor 2 × 250m, 512Mi", "metadata 2 × 250m, 512Mi",
			"cell1 conductor 2 × 250m, 512Mi", "cell1 metadata none", "cell1 consoles 2 × 50m, 256Mi",
		}},
		"claim": {
			"The claim overrides the defaults.",
			", api: {replicas: 3, memory: 2Gi}, scheduler: {cpu: 2}, conductor: {replicas: 1, memory: 1Gi}, metadata: {replicas: 4}, consoles: {replicas: 1}", []string{
				"api 3 × 250m, 2Gi", "scheduler 2 × 2, 512Mi", "conductor 1 × 250m, 1Gi", "metadata 4 × 250m, 512Mi",
				"cell1 conductor 1 × 250m, 1Gi", "cell1 metadata none", "cell1 consoles 1 × 50m, 256Mi",
			},
		},
		"cells": {
			"Processes of a cell use the settings of the service unless the cell overrides them.",
			", conductor: {memory: 1Gi}, metadata: {perCell: true, replicas: 1}, consoles: {cpu: 1}, " +
				"cells: [{name: a}, {name: b, conductor: {replicas: 5}, metadata: {memory: 3Gi}, consoles: {replicas: 3}}]", []string{
				"api 2 × 250m, 512Mi", "scheduler 2 × 250m, 512Mi", "conductor 2 × 250m, 1Gi", "metadata none",
				"a conductor 2 × 250m, 1Gi", "a metadata 1 × 250m, 512Mi", "a consoles 2 × 1, 256Mi",
				"b conductor 5 × 250m, 1Gi", "b metadata 1 × 250m, 3Gi", "b consoles 3 × 1, 256Mi",
			},
		},
	} {
		n := novaOf(t, compute(tc.extraYAML), queued)
		got := []string{"api " + summary(&n.API), "scheduler " + summary(&n.Scheduler), "conductor " + summary(&n.Conductor), "metadata " + summary(n.Metadata)}
		for _, c := range n.Cells {
			got = append(got, c.Name+" conductor "+summary(&c.Conductor), c.Name+" metadata "+summary(c.Metadata), c.Name+" consoles "+summary(&c.Consoles.Process))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestCellsInheritHypervisorNetworks checks that a cell uses its own hypervisor networks, or the service's.
func TestCellsInheritHypervisorNetworks(t *testing.T) {
	const open = "{domain: example.com, queueIssuer: queues, limits: [{name: a, namespaces: ['*'], hypervisorNetworks: [10.0.0.0/8, 'fd00::/8']}]}"
	for name, tc := range map[string]struct {
		reason, extraYAML string
		want              map[string][]common.CIDR
	}{
		"none": {"No networks are set.", "", map[string][]common.CIDR{"cell1": nil}},
		"one":  {"The first cell uses the networks of the service.", ", hypervisorNetworks: [10.0.0.0/16]", map[string][]common.CIDR{"cell1": {"10.0.0.0/16"}}},
		"cells": {
			"One cell overrides them.", ", hypervisorNetworks: [10.0.0.0/16], cells: [{name: a}, {name: b, hypervisorNetworks: ['fd00::/64', 10.1.0.0/24]}]",
			map[string][]common.CIDR{"a": {"10.0.0.0/16"}, "b": {"fd00::/64", "10.1.0.0/24"}},
		},
	} {
		got := map[string][]common.CIDR{}
		for _, c := range novaOf(t, compute(tc.extraYAML), open).Cells {
			got[c.Name] = c.HypervisorNetworks
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestNovaHypervisorAccess checks the addresses of queue and consoles.
func TestNovaHypervisorAccess(t *testing.T) {
	const open = "{domain: example.com, queueIssuer: queues, exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}, limits: [{name: a, namespaces: ['*'], domains: ['*']}]}"
	n := novaOf(t, compute(", consoles: {serial: true}, cells: [{name: a}, {name: b, disabled: true, consoles: {hostname: b.example.org, serialHostname: s.example.org}}]"), open)
	queue := common.Queue{
		Broker: common.Broker{RabbitMQRef: common.LocalReference{Name: "rabbitmq"}}, Host: "rabbitmq." + instance + ".svc", Port: 5671,
		CASecretRef: common.SecretKeyReference{Name: "rabbitmq-tls", Key: "ca.crt"},
	}
	if diff := cmp.Diff(queue, n.Queue); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
	if want := int64(10 << 30 / 256); n.StreamBytes != want {
		t.Errorf("a stream may have %d bytes, want %d: a 256th of the queue's volume", n.StreamBytes, want)
	}
	const domain = ".cloud.tenant-a.example.com"
	want := common.Endpoints{
		Public: "https://nova" + domain + "/v2.1", Internal: common.URL("https://nova." + instance + ".svc:8774/v2.1"),
	}
	if diff := cmp.Diff(want, n.Endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	var hosts []string
	for _, c := range n.Cells {
		hosts = append(hosts, fmt.Sprintf("%s %t %s %s", c.Name, c.Disabled, c.Consoles.Exposure.Hostname, c.Consoles.SerialExposure.Hostname))
	}
	if diff := cmp.Diff([]string{"a false console-a" + domain + " serial-a" + domain, "b true b.example.org s.example.org"}, hosts); diff != "" {
		t.Errorf("consoles (-want +got):\n%s", diff)
	}
	for more, want := range map[string]novav1.Consoles{
		"":                                   {Graphical: "VNC"},
		", consoles: {graphical: None}":      {Graphical: "None"},
		", consoles: {graphical: SPICE}":     {Graphical: "SPICE"},
		", archive: {afterDays: 7}":          {Graphical: "VNC"},
		", consoles: {serial: true, cpu: 1}": {Graphical: "VNC", Serial: true},
	} {
		n := novaOf(t, compute(more), open)
		if diff := cmp.Diff(want, n.Consoles); diff != "" {
			t.Errorf("%s (-want +got):\n%s", more, diff)
		}
		c := n.Cells[0].Consoles
		if (c.Exposure != nil) != (want.Graphical != "None") || (c.SerialExposure != nil) != want.Serial {
			t.Errorf("%s: screens are exposed %v, serial consoles %v", more, c.Exposure, c.SerialExposure)
		}
	}
	if c := novaOf(t, compute(", consoles: {serial: true}"), queued).Cells[0].Consoles; c.Exposure != nil || c.SerialExposure != nil {
		t.Errorf("consoles are exposed, and nothing else is: %v", c)
	}
}

// TestRejectsUnsupportedNovaSettings checks the errors for settings that Nova does not support.
func TestRejectsUnsupportedNovaSettings(t *testing.T) {
	const exposed = "{domain: example.com, queueIssuer: queues, exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}}"
	for name, tc := range map[string]struct{ spec, platform, field, message string }{
		"no placement":       {"{services: {nova: {enabled: true}}}", queued, "spec.services.placement.enabled", "requires placement"},
		"no queue":           {strings.Replace(compute(""), "{", "{infrastructure: {rabbitmq: {enabled: false}}, ", 1), queued, "spec.infrastructure.rabbitmq.enabled", "requires the message queue"},
		"no issuer":          {compute(""), bare, "spec.services.nova.enabled", "the PlatformConfig has no queueIssuer"},
		"option":             {compute(", config: {scheduler: {max_attemptz: 3}}"), queued, "spec.services.nova.config.scheduler.max_attemptz", ""},
		"image":              {compute(", image: {tag: 1.0.0}"), queued, "spec.services.nova.image.tag", ""},
		"memory":             {compute(", api: {memory: 128Mi}, uwsgi: {processes: 4}"), queued, "spec.services.nova.api.memory", "4 uWSGI processes"},
		"schedule":           {compute(", archive: {schedule: '0 0 30 2 *'}"), queued, "spec.services.nova.archive.schedule", ""},
		"metadata":           {compute(", cells: [{name: a}, {name: b, metadata: {replicas: 1}}]"), queued, "spec.services.nova.cells[1].metadata", "perCell"},
		"scheduler room":     {compute(", scheduler: {memory: 64Mi}"), queued, "spec.services.nova.scheduler.memory", "needs 128Mi"},
		"no amount":          {compute(", conductor: {memory: plenty}"), queued, "spec.services.nova.conductor.memory", "is not a quantity"},
		"no amount here":     {compute(", api: {cpu: much}"), queued, "spec.services.nova.api.cpu", "is not a quantity"},
		"conductor room":     {compute(", conductor: {memory: 64Mi}"), queued, "spec.services.nova.conductor.memory", "needs 128Mi"},
		"metadata room":      {compute(", metadata: {memory: 64Mi}"), queued, "spec.services.nova.metadata.memory", "needs 128Mi"},
		"consoles room":      {compute(", consoles: {memory: 64Mi}"), queued, "spec.services.nova.consoles.memory", "needs 128Mi"},
		"cell room":          {compute(", cells: [{name: a}, {name: b, conductor: {memory: 64Mi}}]"), queued, "spec.services.nova.cells[1].conductor.memory", "needs 128Mi"},
		"cell metadata room": {compute(", metadata: {perCell: true}, cells: [{name: a, metadata: {memory: 64Mi}}]"), queued, "spec.services.nova.cells[0].metadata.memory", "needs 128Mi"},
		"cell consoles room": {compute(", cells: [{name: a, consoles: {memory: 64Mi}}]"), queued, "spec.services.nova.cells[0].consoles.memory", "needs 128Mi"},
		"same host":          {compute(", cells: [{name: a}, {name: b, consoles: {hostname: console-a.cloud.tenant-a.example.com}}]"), exposed, "spec.services.nova.cells[1].consoles.hostname", "consoles of a uses"},
		"other domain":       {compute(", cells: [{name: a, consoles: {hostname: a.example.org}}]"), exposed, "spec.services.nova.cells[0].consoles.hostname", "is not below"},
		"replicas":           {compute(", cells: [{name: a}, {name: b, conductor: {replicas: 10}}]"), "{domain: example.com, queueIssuer: queues}", "spec.services.nova.cells[1].conductor.replicas", "10 replicas"},
		"processes":          {compute(", api: {memory: 8Gi}, uwsgi: {processes: 9}"), "{domain: example.com, queueIssuer: queues}", "spec.services.nova.uwsgi.processes", "9 processes"},
		"memory in all": {
			compute(", consoles: {memory: 40Gi, serial: true}, cells: [{name: a}, {name: b}]"), "{domain: example.com, queueIssuer: queues}",
			"spec.services.nova.cells[0].consoles.memory", "with 4 × 40Gi here",
		},
		"cores in all": {
			compute(", cells: [{name: a, conductor: {cpu: 40}}]"), "{domain: example.com, queueIssuer: queues}",
			"spec.services.nova.cells[0].conductor.cpu", "with 2 × 40 here",
		},
	} {
		_, err := derive(input(t, tc.spec, tc.platform, nil))
		requireFieldError(t, name, err, tc.field, tc.message)
	}
}

// TestSRIOVRequiresPciPassthroughFilter checks that a claim whose ports get functions of network cards requires the filter that selects
// hypervisors with cards.
func TestSRIOVRequiresPciPassthroughFilter(t *testing.T) {
	const (
		missing = "spec.services.nova.config.filter_scheduler.enabled_filters: must contain PciPassthroughFilter, because services.neutron.ml2.sriov " +
			"gives ports functions of network cards, and servers with such ports would go to hypervisors without cards; add it, or remove ml2.sriov"
		cards    = "ml2: {physicalNetworks: [{name: a}], sriov: {}}"
		noCards  = "ml2: {physicalNetworks: [{name: a}]}"
		disabled = "enabled: false, " + cards
	)
	for name, tc := range map[string]struct{ reason, config, neutron, want string }{
		"default":          {"The default list contains it.", "{}", cards, ""},
		"list with it":     {"The claim's list contains it.", "{filter_scheduler: {enabled_filters: [ComputeFilter, PciPassthroughFilter]}}", cards, ""},
		"text with it":     {"The list may be a single string.", "{filter_scheduler: {enabled_filters: 'ComputeFilter, PciPassthroughFilter'}}", cards, ""},
		"other options":    {"The list is not set.", "{filter_scheduler: {ram_weight_multiplier: 2}}", cards, ""},
		"list without it":  {"Servers would go to nodes without a card.", "{filter_scheduler: {enabled_filters: [ComputeFilter]}}", cards, missing},
		"text without it":  {"The same with a single string.", "{filter_scheduler: {enabled_filters: 'ComputeFilter,NUMATopologyFilter'}}", cards, missing},
		"no filters":       {"An empty list lacks it.", "{filter_scheduler: {enabled_filters: []}}", cards, missing},
		"without cards":    {"SR-IOV is not enabled.", "{filter_scheduler: {enabled_filters: [ComputeFilter]}}", noCards, ""},
		"without Neutron":  {"Neutron is not enabled.", "{filter_scheduler: {enabled_filters: [ComputeFilter]}}", disabled, ""},
		"other kind in it": {"A similar name is not the same filter.", "{filter_scheduler: {enabled_filters: [PciPassthrough]}, DEFAULT: {}}", cards, missing},
	} {
		t.Run(name, func(t *testing.T) {
			neutron := tc.neutron
			if !strings.HasPrefix(neutron, "enabled") {
				neutron = "enabled: true, " + neutron
			}
			spec := strings.Replace(compute(", allowUnknown: true, config: "+tc.config), "nova: {", "neutron: {"+neutron+"}, nova: {", 1)
			got := ""
			if _, err := derive(input(t, spec, queued, nil)); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRejectsRemovalOfExistingCell checks that an existing cell cannot be removed by a list without it.
func TestRejectsRemovalOfExistingCell(t *testing.T) {
	observedState := observedAs(t, "nova", "{cells: [{name: cell1}]}")
	_, err := derive(input(t, compute(", cells: [{name: east}]"), queued, observedState))
	requireFieldError(t, "The list does not contain the cell.", err, "spec.services.nova.cells", "cell1")
	if _, err := derive(input(t, compute(", cells: [{name: east}, {name: cell1}]"), queued, observedState)); err != nil {
		t.Error(err)
	}
}

// TestStatusContainsCellsOfNova checks that the claim's status contains the cells that Nova reports.
func TestStatusContainsCellsOfNova(t *testing.T) {
	body := structOf(t, fields(t, "{status: {cells: [{name: cell1, phase: Ready, computeNodes: 3, uuid: x}, {name: cell2}]}}"))
	m, err := derive(input(t, compute(""), queued, map[string]*structpb.Struct{novav1.ServiceName: body}))
	if err != nil {
		t.Fatal(err)
	}
	got := statusOf(t, m, novav1.ServiceName).Cells
	if diff := cmp.Diff([]controlplanev1.CellStatus{{Name: "cell1", Phase: "Ready", ComputeNodes: 3}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNovaConnectionsCountDatabasesPerProcess checks that processes above the cells connect to all databases, and processes of a cell to
// its own.
func TestNovaConnectionsCountDatabasesPerProcess(t *testing.T) {
	of := func(more string) int64 {
		return stateOf(t, derived(t, compute(more), queued), novav1.ServiceName).Model.Connections()
	}
	const processes = ", uwsgi: {processes: 3, threads: 2}"
	// Two pods each: six threads of both APIs, a pool of five for each of both daemons, in three databases; then one cell's conductors, and
	// two proxies with a pool each.
	if got, want := of(processes), int64(3*2*(6+6+5+5)+2*5+2*5); got != want {
		t.Errorf("%d connections, want %d", got, want)
	}
	// The metadata API of a cell connects only to the cell's database.
	const perCell = ", metadata: {perCell: true}, consoles: {graphical: None}, cells: [{name: a}, {name: b}]"
	if got, want := of(processes+perCell), int64(4*2*(6+5+5)+2*(2*5+2*6)); got != want {
		t.Errorf("%d connections, want %d", got, want)
	}
}
