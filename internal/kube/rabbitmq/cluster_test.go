package rabbitmq

import (
	stdcmp "cmp"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

var resources = workload.Resources

// TestDiskLimit: the operator's own number would hold a queue on a small volume back from its first message on, and a share of the memory
// does not count beside it.
func TestDiskLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		res     *common.Resources
		storage string
		want    string
	}{
		"Memory": {"What is in memory has to find room on the disk.", resources("1", "1Gi", "2Gi"), "10Gi", "disk_free_limit.absolute = 2147483648\n"},
		"Volume": {"A limit beyond the volume holds everything back.", resources("1", "4Gi", "4Gi"), "1Gi", "disk_free_limit.absolute = 357913941\n"},
		"NoLimit": {
			"Nobody knows how much that is: the operator's own holds.", &common.Resources{}, "10Gi", "",
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

// TestWALLimit proves that three write-ahead logs fit below the watermark of the memory, and on the volume beside the room that stays free.
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
		"Fits":    {"RabbitMQ's own fits, and a member is not restarted for a line that changes nothing.", resources("1", "4Gi", "4Gi"), "20Gi", 0},
		"NoLimit": {"The volume alone is known.", &common.Resources{}, "2Gi", 128 << 20},
		"Nothing": {"Neither is known: RabbitMQ's own holds.", nil, "", 0},
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

// TestGuaranteed: a member is given all the memory that it reckons with.
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
		t.Error("without a limit there is nothing to set aside")
	}
	if guaranteed(nil) != nil {
		t.Error("nothing is said")
	}
}

// TestAlerts: who is woken, after how long, and what is asked for it: of this queue, and of none beside it. Somebody is where services
// stop, and not where one member is missing.
func TestAlerts(t *testing.T) {
	const warning, critical, set, pods = "warning", "critical", `{statefulset="queue-server"}`, `{pod=~"queue-server-[0-9]+"}`
	const queues = `{pod=~"queue-server-[0-9]+",queue!~".*_fanout(_.*)?"}`
	asks := func(severity, wait string, asks ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Asks: asks}
	}
	ready := []string{"kube_statefulset_status_replicas_ready" + set, "kube_statefulset_replicas" + set}
	c := Cluster{Name: "queue", Meta: func(name string) object.Meta { return object.Meta{Name: name, Namespace: "cloud"} }}
	want := map[string]monitoringtest.Alert{
		"QueueBacklog":             asks(warning, "15m", "rabbitmq_detailed_queue_messages_ready"+queues),
		"QueueUnacknowledged":      asks(warning, "15m", "rabbitmq_detailed_queue_messages_unacked"+queues),
		"QueueWithoutMajority":     asks(critical, "2m", ready...),
		"QueueDegraded":            asks(warning, "15m", ready...),
		"QueueOutOfMemory":         asks(critical, "2m", "rabbitmq_alarms_memory_used_watermark"+pods),
		"QueueDiskFull":            asks(critical, "2m", "rabbitmq_alarms_free_disk_space_watermark"+pods),
		"QueuePartitioned":         asks(critical, "5m", "erlang_vm_dist_node_state"+pods, "rabbitmq_build_info"+pods),
		"QueueCertificateExpiring": asks(warning, "1h", `certmanager_certificate_expiration_timestamp_seconds{name="queue-tls"}`),
	}
	if diff := cmp.Diff(want, monitoringtest.Alerts(t, c.Alerts(common.Monitoring{}, "queues"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
