package cinder

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// parsed returns an object from YAML.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// finds replaces the status of the companion's object. Empty: the object does not exist.
func finds(t *testing.T, w *simulate.Cluster, status string) {
	t.Helper()
	if status == "" {
		delete(w.Observed, checkComponent)
		return
	}
	all := w.Observed[checkComponent].Map()
	all["status"] = parsed(t, status)
	changed, err := structpb.NewStruct(all)
	if err != nil {
		t.Fatal(err)
	}
	w.Observed[checkComponent] = encoded.Of(changed)
}

// TestReportsCapacityOfBackends verifies that the companion's report is copied, and that the last known one is retained without a report.
// The condition names the Ceph clusters that do not respond, and does not affect the readiness of Cinder.
func TestReportsCapacityOfBackends(t *testing.T) {
	const (
		first     = "{name: ceph-rbd, up: 2, totalGiB: 100, availableGiB: 60}"
		second    = "{name: ceph_2, up: 1, totalGiB: 10, availableGiB: 0}"
		responses = ", conditions: [{type: Ready, status: 'True', reason: ProcessesUp, message: all}]"
		fails     = ", conditions: [{type: Ready, status: 'False', reason: ServiceUnavailable, message: \"cannot list the pools of Cinder:\\n503\"}]"
		last      = "[{name: ceph-rbd, phase: Ready, totalGiB: 8, availableGiB: 4}, {name: gone, phase: Ready, totalGiB: 1}]"

		connected = "STATUS_CONDITION_TRUE Connected: managers of each backend are connected to its Ceph cluster"
		missing   = "STATUS_CONDITION_FALSE Unreachable: "
		rbd       = "; see whether its monitors and OSDs are up (ceph -s), lie within rbd.networks, and accept the key of client.cinder in " +
			"rbd.secretRef; for the response see the logs of pods cinder-volume-ceph-rbd"
		pool = "; see whether StorageCluster ceph of storage is healthy (its status.health) and allows this control plane; for the response see the logs " +
			"of pods cinder-volume-ceph-2"
	)
	both := []string{"ceph-rbd 100 60", "ceph_2 10 0"}
	for name, tc := range map[string]struct {
		reason string
		// check is the status of the ServiceCheck, and last the previous status of Cinder.
		check, last string
		want        []string
		wantMessage string
	}{
		"Both":   {"No room is a number, too.", "{backends: [" + first + ", " + second + "]" + responses + "}", last, both, connected},
		"NotYet": {"The check has no result yet.", "{observedGeneration: 1}", "[]", []string{"ceph-rbd - -", "ceph_2 - -"}, ""},
		"Lost":   {"The check was created again.", "{observedGeneration: 1}", last, []string{"ceph-rbd 8 4", "ceph_2 - -"}, ""},
		"NoCheck": {
			"The check was deleted.", "", last, []string{"ceph-rbd 8 4", "ceph_2 - -"}, "",
		},
		"Half": {
			"One backend was added later, and is unknown.", "{backends: [" + first + "]" + responses + "}", last,
			[]string{"ceph-rbd 100 60", "ceph_2 - -"}, "",
		},
		"Endless": {
			"Unlimited capacity has no number, regardless of previous reports.", "{backends: [{name: ceph-rbd, up: 1}, " + second + "]" + responses + "}", last,
			[]string{"ceph-rbd - -", "ceph_2 10 0"}, connected,
		},
		"Silent": {
			"Its Ceph cluster is unavailable. The last report is retained.",
			"{backends: [{name: ceph-rbd, up: 2, silent: true, looked: '2026-03-02T12:00:00Z', totalGiB: 100, availableGiB: 60}, " + second + "]" + responses + "}",
			last, both, missing + "backend ceph-rbd: its Ceph cluster has not responded since 2026-03-02T12:00:00Z" + rbd,
		},
		"Late": {
			"It is not, as long as it may be.",
			"{backends: [{name: ceph-rbd, up: 2, looked: '2026-03-02T12:00:00Z', totalGiB: 100, availableGiB: 60}, " + second + "]" + responses + "}",
			last, both, connected,
		},
		"AllSilent": {
			"One was never reached, and one has no manager.",
			"{backends: [{name: ceph-rbd, up: 1, silent: true}, {name: ceph_2, silent: true, looked: '2026-03-02T12:00:00Z'}]" + responses + "}",
			"[]", []string{"ceph-rbd - -", "ceph_2 - -"},
			missing + "backend ceph-rbd: its Ceph cluster has not responded yet" + rbd +
				"; backend ceph_2: none of its managers reports; a manager reports only after it has connected to its Ceph cluster" + pool,
		},
		"Unavailable": {
			"An unavailable Cinder does not change the state of Ceph.", "{backends: [" + first + ", " + second + "]" + fails + "}", last, both,
			connected + "; this is the last known state, and Cinder is unavailable: cannot list the pools of Cinder: 503",
		},
		"NeverAvailable": {"Cinder was never available.", "{observedGeneration: 1" + fails + "}", "[]", []string{"ceph-rbd - -", "ceph_2 - -"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := kind.Ready(t, "pool")
			finds(t, w, tc.check)
			status := w.XR.GetFields()["status"].GetStructValue().GetFields()
			before, err := structpb.NewValue(parsed(t, "all: "+tc.last)["all"])
			if err != nil {
				t.Fatal(err)
			}
			status["backends"] = before
			rsp := New().Run(w.Request())
			reported := cinderv1.CinderStatus{}
			text, err := json.Marshal(rsp.Composite.Object.At("status").Map())
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &reported); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range reported.Backends {
				got = append(got, b.Name+" "+number(b.TotalGiB)+" "+number(b.AvailableGiB))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			message := ""
			for _, c := range rsp.Conditions {
				if c.GetType() == cinderv1.CephConnected && c.GetReason() != "NotApplicable" {
					message = c.GetStatus().String() + " " + c.GetReason() + ": " + c.GetMessage()
				}
			}
			if message != tc.wantMessage {
				t.Errorf("%s Message %q, want %q", tc.reason, message, tc.wantMessage)
			}
			if want := tc.check != ""; (reported.Phase == "Ready") != want { // An object that is not there is made.
				t.Errorf("%s The Cinder is %s", tc.reason, reported.Phase)
			}
		})
	}
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// TestCephConnectedUnsetWithoutCephBackends verifies that the condition is unset if no backend is in Ceph.
func TestCephConnectedUnsetWithoutCephBackends(t *testing.T) {
	w, _ := kind.Ready(t, "files")
	for _, c := range New().Run(w.Request()).Conditions {
		if c.GetType() == cinderv1.CephConnected {
			t.Errorf("conditions %v", c)
		}
	}
}

// TestCapacityReportInterval verifies that a longer interval of capacity queries is not reported as a failure.
func TestCapacityReportInterval(t *testing.T) {
	for _, tc := range []struct {
		reason, periodic, polling string
		want                      int32
	}{
		{"It is Cinder's own.", "", "", 60},
		{"It is the tenant's.", "", "600", 600},
		{"A number may be a text.", "", `"90"`, 90},
		{"They look only when they do anything.", "", "10", 60},
		{"They do so more often.", "20", "10", 20},
		{"Or less.", "300", "10", 300},
		{"An invalid number is not used.", "", "[1]", 60},
		{"A number that Cinder rejects is not used.", "0", "-1", 60},
		{"There is an end to it.", "", "1000000", 86400},
	} {
		options := common.Options{}
		for name, requested := range map[string]string{"periodic_interval": tc.periodic, "backend_stats_polling_interval": tc.polling} {
			if requested != "" {
				options[name] = apiextensionsv1.JSON{Raw: []byte(requested)}
			}
		}
		m := &model{spec: &cinderv1.CinderSpec{}}
		m.spec.Config = common.Config{"DEFAULT": options}
		if got := m.capacityReportInterval(); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
		}
	}
}
