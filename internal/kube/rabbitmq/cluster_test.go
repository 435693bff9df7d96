package rabbitmq

import (
	stdcmp "cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

var resources = workload.Resources

// TestDiskLimit tests the absolute limit: the operator's default would block a queue on a small volume from the start, and has precedence
// over a share of the memory.
func TestDiskLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		res     *common.Resources
		storage string
		want    string
	}{
		"Memory": {"The content of the memory must fit on the disk.", resources("1", "1Gi", "2Gi"), "10Gi", "disk_free_limit.absolute = 2147483648\n"},
		"Volume": {"A limit beyond the volume would block all messages.", resources("1", "4Gi", "4Gi"), "1Gi", "disk_free_limit.absolute = 357913941\n"},
		"NoLimit": {
			"Without a memory limit, the operator's default is kept.", &common.Resources{}, "10Gi", "",
		},
		"Nothing": {"The same.", nil, "10Gi", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := diskLimit(tc.res, tc.storage); got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestWALLimit tests that three write-ahead logs fit below the memory watermark, and on the volume next to the free part.
func TestWALLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		res     *common.Resources
		storage string
		want    int64
	}{
		"Memory":  {"The smallest size.", resources("1", "1Gi", "1Gi"), "5Gi", 128 << 20},
		"Least":   {"The least memory, and the least volume.", resources("1", "256Mi", "256Mi"), "1Gi", 32 << 20},
		"Volume":  {"The volume is smaller than the memory.", resources("1", "4Gi", "4Gi"), "1Gi", 64 << 20},
		"Fits":    {"RabbitMQ's default fits, and an unchanged value must not restart members.", resources("1", "4Gi", "4Gi"), "20Gi", 0},
		"NoLimit": {"Only the size of the volume is known.", &common.Resources{}, "2Gi", 128 << 20},
		"Nothing": {"Neither is known: RabbitMQ's default is kept.", nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			if tc.want != 0 {
				want = fmt.Sprintf("raft.wal_max_size_bytes = %d\n", tc.want)
			}
			if got := walLimit(tc.res, tc.storage); got != want {
				t.Errorf("%s got %q, want %q", tc.reason, got, want)
			}
			if tc.res == nil || tc.res.Limits == nil {
				return
			}
			limit := tc.res.Limits.Memory.Value()
			watermark := (limit - min(limit/5, 2<<30)) / 10 * 6
			if wal := stdcmp.Or(tc.want, 512<<20); 3*wal > watermark {
				t.Errorf("%s three logs of %d exceed the watermark %d", tc.reason, wal, watermark)
			}
		})
	}
}

// TestOnlyEarlierVersionsGetToken tests which members get a token of Kubernetes and reach the API server: those that find each other by it.
func TestOnlyEarlierVersionsGetToken(t *testing.T) {
	for name, tc := range map[string]struct {
		reason         string
		image, running string
		want           bool
	}{
		"New":      {"The default of the operator is 4.1 or later.", "", "", false},
		"Default":  {"The operator reports its default.", "", "rabbitmq:4.1.3-management", false},
		"Later":    {"Versions are numbers.", "", "rabbitmq:4.10.0", false},
		"Major":    {"The next major version.", "", "registry.example.com:5000/rabbitmq:5.0", false},
		"Earlier":  {"It reads the Endpoints.", "", "rabbitmq:4.0.9-management", true},
		"Third":    {"The same.", "", "docker.io/library/rabbitmq:3.13.7-management", true},
		"Set":      {"The image that is set is the next one.", "q.example.com/q:4.0.5", "rabbitmq:4.1.3-management", true},
		"Upgrade":  {"The same.", "q.example.com/q:4.1.0", "rabbitmq:4.0.5-management", false},
		"Pinned":   {"The digest of a version.", "", "rabbitmq:4.2.6-management@sha256:00", false},
		"Digest":   {"The version is unknown.", "q.example.com/q@sha256:00", "", true},
		"Series":   {"The version is unknown.", "", "rabbitmq:4-management", true},
		"Unknown":  {"The version is unknown.", "", "rabbitmq:latest", true},
		"Untagged": {"The version is unknown.", "", "registry.example.com:5000/rabbitmq", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Cluster{
				Name: "queue", Meta: func(name string) object.Meta { return object.Meta{Name: name, Namespace: "cloud"} }, Running: tc.running,
				QueueServer: common.QueueServer{Members: common.Members{Image: tc.image}},
			}
			_, removed := c.podOverride()["automountServiceAccountToken"]
			_, out := c.flows(nil, false, common.Neighbours{APIServerPorts: []int32{6443}})
			if got := []bool{!removed, len(out) > 0}; !cmp.Equal(got, []bool{tc.want, tc.want}) {
				t.Errorf("%s token and connection: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestGuaranteed tests that the memory request of a member equals its limit.
func TestGuaranteed(t *testing.T) {
	provided := resources("1", "1Gi", "2Gi")
	got := guaranteed(provided)
	if got.Requests.Memory.String() != "2Gi" || got.Requests.CPU.String() != "1" || provided.Requests.Memory.String() != "1Gi" {
		t.Errorf("got %v of %v", got.Requests, provided.Requests)
	}
	if got := guaranteed(&common.Resources{Limits: provided.Limits}); got.Requests.Memory.String() != "2Gi" {
		t.Errorf("without requests: %v", got.Requests)
	}
	if none := (&common.Resources{}); guaranteed(none) != none {
		t.Error("requests are set without a limit")
	}
	if guaranteed(nil) != nil {
		t.Error("requests are set without resources")
	}
}

// TestAlerts tests severity, duration and selectors of all alerts. Critical alerts are on failures of services, not of a single
// member.
func TestAlerts(t *testing.T) {
	const warning, critical, set, pods = "warning", "critical", `{statefulset="queue-server"}`, `{pod=~"queue-server-[0-9]+"}`
	const queues = `{pod=~"queue-server-[0-9]+",queue!~".*_fanout(_.*)?"}`
	alert := func(severity, wait string, selectors ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Selectors: selectors}
	}
	ready := []string{"kube_statefulset_status_replicas_ready" + set, "kube_statefulset_replicas" + set}
	c := Cluster{
		Name: "queue", Meta: func(name string) object.Meta { return object.Meta{Name: name, Namespace: "cloud"} },
		QueueServer: common.QueueServer{MemberTLS: true},
	}
	want := map[string]monitoringtest.Alert{
		"QueueBacklog":        alert(warning, "15m", "rabbitmq_detailed_queue_messages_ready"+queues),
		"QueueUnacknowledged": alert(warning, "15m", "rabbitmq_detailed_queue_messages_unacked"+queues),
		"QueueQuorumLost":     alert(critical, "2m", ready...),
		"QueueDegraded":       alert(warning, "15m", ready...),
		"QueueMemoryAlarm":    alert(critical, "2m", "rabbitmq_alarms_memory_used_watermark"+pods),
		"QueueDiskAlarm":      alert(critical, "2m", "rabbitmq_alarms_free_disk_space_watermark"+pods),
		"QueuePartitioned":    alert(critical, "5m", "erlang_vm_dist_node_state"+pods, "rabbitmq_build_info"+pods),
	}
	if diff := cmp.Diff(want, monitoringtest.Alerts(t, c.Alerts(common.Monitoring{}, "queues"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMemberFamily verifies that members with IPv6 resolve names to IPv6 addresses and connect with them, with and without TLS, and that the
// mode of an existing cluster is recognized in its environment.
func TestMemberFamily(t *testing.T) {
	for name, tc := range map[string]struct {
		server              common.QueueServer
		wantInet, wantStart string
	}{
		"IPv4":         {common.QueueServer{}, "", ""},
		"IPv4 and TLS": {common.QueueServer{MemberTLS: true}, "", `SERVER_ADDITIONAL_ERL_ARGS="-proto_dist inet_tls -ssl_dist_opt `},
		"IPv6": {
			common.QueueServer{IPFamily: common.IPv6}, "{inet6, true}.\n{tcp, inet6_tcp}.\n",
			`RABBITMQ_CTL_ERL_ARGS="-proto_dist inet6_tcp"` + "\nSERVER_ADDITIONAL_ERL_ARGS=\"-kernel inetrc '/etc/rabbitmq/erl_inetrc' $RABBITMQ_CTL_ERL_ARGS\"\n",
		},
		"IPv6 and TLS": {
			common.QueueServer{IPFamily: common.IPv6, MemberTLS: true}, "{inet6, true}.\n{tcp, inet6_tcp}.\n",
			`RABBITMQ_CTL_ERL_ARGS="-proto_dist inet6_tls -ssl_dist_opt `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := Cluster{Name: "rabbitmq", Meta: func(name string) object.Meta { return object.Meta{Name: name} }, QueueServer: tc.server}
			o := c.Object().Object
			environment, _, _ := unstructured.NestedString(o, "spec", "rabbitmq", "envConfig")
			inet, _, _ := unstructured.NestedString(o, "spec", "rabbitmq", "erlangInetConfig")
			if inet != tc.wantInet || !strings.HasPrefix(environment, tc.wantStart) || (environment == "") != (tc.wantStart == "") {
				t.Errorf("got erlangInetConfig %q, want %q; envConfig %q, want %q", inet, tc.wantInet, environment, tc.wantStart)
			}
			advanced, _, _ := unstructured.NestedString(o, "spec", "rabbitmq", "advancedConfig")
			if got, want := strings.Contains(advanced, "inet6"), tc.server.IPFamily == common.IPv6; got != want {
				t.Errorf("streams are replicated over IPv6: %t, want %t", got, want)
			}
			if got, want := strings.Contains(advanced, "{replication_transport, ssl}"), tc.server.IPFamily == common.IPv6 && tc.server.MemberTLS; got != want {
				t.Errorf("streams are replicated with TLS by these options: %t, want %t", got, want)
			}
			if got := MemberFamily(environment); got != tc.server.IPFamily {
				t.Errorf("the environment is of family %q, want %q", got, tc.server.IPFamily)
			}
			if got := HasMemberTLS(environment); got != tc.server.MemberTLS {
				t.Errorf("the environment has TLS: %t, want %t", got, tc.server.MemberTLS)
			}
		})
	}
}
