package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestCutover checks that the Service selects one release at a time, and the next one only when all desired pods of it are
// ready.
func TestCutover(t *testing.T) {
	// pods describes a Deployment with three replicas: the release of its template, and the numbers of updated, ready,
	// available and total pods.
	type pods struct {
		of                               string
		updated, ready, available, total int64
	}
	const observed, unseen = 2, 1
	for name, tc := range map[string]struct {
		reason  string
		serving string
		exists  bool
		pods    pods
		want    cutover
	}{
		"New":       {"The Service does not exist yet, so there are no clients.", "", false, pods{}, cutover{to: "2026.1", serving: "2026.1"}},
		"Serving":   {"It has cut over, or had no need to.", "2026.1", true, pods{"2026.1", 3, 3, 3, 3}, cutover{to: "2026.1", serving: "2026.1"}},
		"Earlier":   {"The pods are the earlier ones.", "2025.1", true, pods{"2025.1", 3, 3, 3, 3}, cutover{to: "2026.1", serving: "2025.1", waits: true}},
		"Unseen":    {"Its controller has not seen the new template.", "2025.1", true, pods{"2026.1", 3, 3, 3, 3}, cutover{to: "2026.1", serving: "2025.1", waits: true}},
		"Starting":  {"Two of three are ready.", "2025.1", true, pods{"2026.1", 3, 5, 3, 6}, cutover{to: "2026.1", serving: "2025.1", waits: true}},
		"Fewer":     {"Two of three have been started.", "2025.1", true, pods{"2026.1", 2, 5, 3, 5}, cutover{to: "2026.1", serving: "2025.1", waits: true}},
		"Ready":     {"All three are.", "2025.1", true, pods{"2026.1", 3, 6, 3, 6}, cutover{to: "2026.1", serving: "2026.1", waits: true}},
		"Broken":    {"Of the earlier ones, one was never ready.", "2025.1", true, pods{"2026.1", 3, 5, 2, 6}, cutover{to: "2026.1", serving: "2026.1", waits: true}},
		"Alone":     {"There are no earlier ones any more.", "2025.1", true, pods{"2026.1", 3, 3, 0, 3}, cutover{to: "2026.1", serving: "2026.1", waits: true}},
		"Simulated": {"In a simulation, all pods are available.", "2025.1", true, pods{"2026.1", 3, 3, 3, 3}, cutover{to: "2026.1", serving: "2026.1", waits: true}},
		"Unlabeled": {"The selector of the Service has no release.", "", true, pods{"", 3, 3, 3, 3}, cutover{to: "2026.1", serving: "", waits: true}},
	} {
		t.Run(name, func(t *testing.T) {
			generation := observed
			if name == "Unseen" {
				generation = unseen
			}
			objects := map[string]map[string]any{"deployment": {
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "nova", "generation": observed},
				"spec": map[string]any{"replicas": 3, "template": map[string]any{"metadata": map[string]any{"labels": map[string]any{
					releaseLabel: tc.pods.of,
				}}}},
				"status": map[string]any{
					"observedGeneration": generation, "updatedReplicas": tc.pods.updated, "readyReplicas": tc.pods.ready,
					"availableReplicas": tc.pods.available, "replicas": tc.pods.total,
				},
			}}
			if tc.exists {
				selector := map[string]any{"app.kubernetes.io/name": "nova"}
				if tc.serving != "" {
					selector[releaseLabel] = tc.serving
				}
				objects[serviceResource] = map[string]any{
					"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "nova"}, "spec": map[string]any{"selector": selector},
				}
			}
			s := Base{Definition: &Definition{NeedsCutover: true}, Effective: "2026.1"}
			if err := s.deriveCutover(stateOf(t, objects)); err != nil {
				t.Fatal(err)
			}
			got := s.cutover
			if got.template != nil { // see TestCutoverServesAllReplicas
				got.to, got.template = tc.pods.of, nil
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(cutover{})); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWaitingCutoverRetainsEarlierPods checks that no new pod becomes available while the cutover waits, so that no earlier pod is removed,
// and that the Service selects the earlier pods.
func TestWaitingCutoverRetainsEarlierPods(t *testing.T) {
	w := workload.Workload{Name: "nova", App: "nova", Instance: "nova", Replicas: 3}
	for name, tc := range map[string]struct {
		cutover  cutover
		surge    string
		active   string
		minReady int32
	}{
		"Waits":   {cutover{to: "2026.1", serving: "2025.1", waits: true}, "100%", "2025.1", never},
		"Leads":   {cutover{to: "2026.1", serving: "2026.1", waits: true}, "100%", "2026.1", never},
		"CutOver": {cutover{to: "2026.1", serving: "2026.1"}, "1", "2026.1", 0},
		"Unnamed": {cutover{to: "2026.1", serving: "", waits: true}, "100%", "", never},
	} {
		t.Run(name, func(t *testing.T) {
			pods, svc := w.Deployment(workload.Pod{}), w.Service()
			tc.cutover.roll(pods, svc)
			if got := pods.Spec.Template.Labels[releaseLabel]; got != "2026.1" {
				t.Errorf("pods are of %q", got)
			}
			if _, ok := pods.Spec.Selector.MatchLabels[releaseLabel]; ok {
				t.Error("a Deployment's selector cannot be changed")
			}
			if got := svc.Spec.Selector[releaseLabel]; got != tc.active {
				t.Errorf("the Service selects %q, want %q", got, tc.active)
			}
			if got := pods.Spec.Strategy.RollingUpdate.MaxSurge.String(); got != tc.surge {
				t.Errorf("there are %s pods more, want %s", got, tc.surge)
			}
			if got := pods.Spec.MinReadySeconds; got != tc.minReady {
				t.Errorf("a pod counts after %d s, want %d", got, tc.minReady)
			}
			if d := pods.Spec.ProgressDeadlineSeconds; d != nil && *d <= pods.Spec.MinReadySeconds {
				t.Errorf("the deadline of %d s comes before a pod counts", *d)
			}
		})
	}
}

func stateOf(t *testing.T, objects map[string]map[string]any) observe.State {
	t.Helper()
	out := map[string]encoded.Struct{}
	for name, o := range objects {
		s, err := encode.Struct(o)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = s
	}
	observed, err := observe.New(out)
	if err != nil {
		t.Fatal(err)
	}
	return observed
}
