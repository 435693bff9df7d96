package controlplane

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// running is an observed service: its target release, the release that it reports, and whether all of it is ready. Without a target release
// it does not exist.
type running struct {
	targetRelease, runs, previous string
	ready                         bool
}

func (r running) object(t rapid.TB, s services.Info) *structpb.Struct {
	status := map[string]any{"observedGeneration": 1.0, "phase": "Updating", "release": r.runs, "previousRelease": r.previous}
	if r.ready {
		status["phase"] = "Ready"
	}
	status["conditions"] = []any{map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[r.ready], "observedGeneration": 1.0}}
	o, err := structpb.NewStruct(map[string]any{
		"apiVersion": s.Kind.GroupVersion().String(), "kind": s.Kind.Kind, "metadata": map[string]any{"name": s.Name, "generation": 1.0},
		"spec": map[string]any{"openStackRelease": r.targetRelease}, "status": status,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// cloud returns a model with observed services and a target release.
func cloud(t rapid.TB, target release.Release, observedState []running) *model {
	m := &infrastructure.Infrastructure{Claim: &claim.Claim{
		Release: target, Platform: &platformv1.PlatformConfigSpec{QueueIssuer: "queues"},
		Size: claim.Size{
			APIResources: workload.Resources("1", "1Gi", "1Gi"), DaemonResources: workload.Resources("1", "1Gi", "1Gi"),
			MessagingResources: workload.Resources("1", "1Gi", "1Gi"), DatabaseResources: workload.Resources("1", "1Gi", "1Gi"),
			NetworksResources: workload.Resources("1", "1Gi", "1Gi"),
		},
	}}
	for _, section := range reflect.ValueOf(&m.Spec.Services).Elem().Fields() {
		if section.Kind() == reflect.Pointer {
			section.Set(reflect.New(section.Type().Elem()))
		}
	}
	xr := controlplanev1.ControlPlaneCluster{Spec: m.Spec}
	function.SetDefaults(&xr)
	m.Spec = xr.Spec
	objects := map[string]encoded.Struct{}
	for i, r := range observedState {
		if r.targetRelease != "" {
			objects[serviceTable[i].Info().Name] = encoded.Of(r.object(t, serviceTable[i].Info()))
		}
	}
	state, err := observe.New(objects)
	if err != nil {
		t.Fatal(err)
	}
	var enabled []*services.State
	for i := range observedState {
		s := &services.State{Info: serviceTable[i].Info(), Service: serviceTable[i]}
		s.Workload.Replicas = new(int32(1))
		s.Observed, _ = state.Get(s.Name)
		enabled = append(enabled, s)
	}
	released, err := newModel(m, enabled).assignReleases()
	if err != nil {
		t.Fatal(err)
	}
	return newModel(m, released)
}

func targetReleases(m *model) []string {
	var out []string
	for _, s := range m.Services {
		out = append(out, string(s.TargetRelease))
	}
	return out
}

// TestOrderOfUpgrades checks that a service gets a new release after the services before it run that release.
func TestOrderOfUpgrades(t *testing.T) {
	const before, target = "2025.2", "2026.1"
	done, old := running{target, target, "", true}, running{before, before, "", true}
	for name, tc := range map[string]struct {
		reason   string
		observed []running
		want     []string
	}{
		"New":       {"A new cloud has one release.", []running{{}, {}, {}}, []string{target, target, target}},
		"First":     {"All services depend on the first one.", []running{old, old, old}, []string{target, before, before}},
		"Underway":  {"Its pods are being replaced.", []running{{target, target, before, false}, old, old}, []string{target, before, before}},
		"Unseen":    {"Its function has not processed the edit.", []running{{target, before, "", true}, old, old}, []string{target, before, before}},
		"Second":    {"The next service is upgraded.", []running{done, old, old}, []string{target, target, before}},
		"Third":     {"The last service is upgraded.", []running{done, done, old}, []string{target, target, target}},
		"TurnsSick": {"A target release is not reverted.", []running{{target, target, "", false}, {target, before, "", false}, old}, []string{target, target, before}},
		"Joins":     {"A new service has no schema to upgrade.", []running{{target, target, "", false}, {}, old}, []string{target, target, before}},
		"Ready":     {"A Keystone that is ready at the old release gets the new one.", []running{{before, before, "", true}, {}, {}}, []string{target, target, target}},
	} {
		if diff := cmp.Diff(tc.want, targetReleases(cloud(t, target, tc.observed))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestServicesUpgradeOneAfterAnother checks that all services, in any state, reach the target release, one after the other, and that none
// gets another release in between, even if services become unready meanwhile.
func TestServicesUpgradeOneAfterAnother(t *testing.T) {
	releases := []string{"2025.1", "2025.2", "2026.1"}
	rapid.Check(t, func(t *rapid.T) {
		const target = "2026.1"
		now := make([]running, len(serviceTable))
		for i := range now {
			r := running{targetRelease: rapid.SampledFrom(append(releases, "")).Draw(t, "told"), ready: rapid.Bool().Draw(t, "ready")}
			if r.targetRelease != "" {
				r.runs = rapid.SampledFrom(append(releases, "")).Draw(t, "runs")
			}
			now[i] = r
		}
		step := func(progress int) {
			for i, r := range targetReleases(cloud(t, target, now)) {
				previous := now[i].targetRelease
				if r != previous && r != target {
					t.Fatalf("target release of %s was %q, and is %s: %v", serviceTable[i].Info().Name, previous, r, now)
				}
				if previous != "" && r != previous && slices.ContainsFunc(now[:i], func(r running) bool { return r != running{target, target, "", true} }) {
					t.Fatalf("%s gets target release %s before its turn: %v", serviceTable[i].Info().Name, r, now)
				}
				if now[i].targetRelease = r; r != previous {
					now[i].ready = false
				}
			}
			now[progress].runs, now[progress].ready = now[progress].targetRelease, true
		}
		for range 5 {
			if sick := rapid.IntRange(0, len(now)-1).Draw(t, "sick"); now[sick].targetRelease != "" {
				now[sick].ready = false
			}
			step(rapid.IntRange(0, len(now)-1).Draw(t, "progress"))
		}
		for range 2 * len(now) {
			for i := range now {
				step(i)
			}
		}
		for i, r := range now {
			if r != (running{target, target, "", true}) {
				t.Fatalf("%s ends as %v", serviceTable[i].Info().Name, r)
			}
		}
	})
}

// TestReleaseOfAll checks that the cloud's release is the oldest of its services, and that it is updating until that is the target release.
func TestReleaseOfAll(t *testing.T) {
	for name, tc := range map[string]struct {
		observed  []running
		oldest    string
		upgrading bool
		message   string
	}{
		"None":    {observed: []running{{}, {}}},
		"One":     {observed: []running{{targetRelease: "2026.1", runs: "2026.1"}, {targetRelease: "2026.1"}}, oldest: "2026.1"},
		"Behind":  {observed: []running{{targetRelease: "2026.1", runs: "2026.1"}, {targetRelease: "2025.2", runs: "2025.2"}}, oldest: "2025.2", upgrading: true},
		"Ahead":   {observed: []running{{targetRelease: "2026.1", runs: "2026.2", previous: "2026.1"}, {}}, oldest: "2026.2", upgrading: true},
		"TooFar":  {observed: []running{{targetRelease: "2026.1", runs: "2026.1"}, {targetRelease: "2026.1", runs: "2026.2"}}, oldest: "2026.1", upgrading: true, message: "or restore a backup into a new cloud; placement currently runs this release"},
		"TooLate": {observed: []running{{}, {targetRelease: "2024.2", runs: "2024.2"}}, oldest: "2024.2", upgrading: true, message: `"2024.2" is not supported`},
	} {
		m := cloud(t, "2026.1", tc.observed)
		if got := m.oldest(); got != tc.oldest || m.upgrading() != tc.upgrading {
			t.Errorf("%s: the oldest is %q, upgrading %t", name, got, m.upgrading())
		}
		if err := m.checkUpgrade(); (err == nil) != (tc.message == "") || err != nil && !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%s: %v, want %q", name, err, tc.message)
		}
	}
}

// TestWaitingServiceRetainsSupportedSettings checks that a service that waits for its upgrade gets settings that it supports: the claim's
// settings, unless they require the next release.
func TestWaitingServiceRetainsSupportedSettings(t *testing.T) {
	const keystone = `{spec: {openStackRelease: "2025.2"}, status: {release: "2025.2"}}`
	for name, tc := range map[string]struct{ reason, image, config, want string }{
		"Both":  {"Digest and option are valid in both releases.", `{digest: "sha256:` + digits + `"}`, "{DEFAULT: {debug: true}}", `{"digest":"sha256:` + digits + `"} {"DEFAULT":{"debug":true}}`},
		"Image": {"The image has a tag of the next release.", "{tag: 15.0.1}", "{DEFAULT: {debug: true}}", `{"tag":"14.0.1"} {}`},
	} {
		observed := map[string]*structpb.Struct{
			"keystone":  structOf(t, fields(t, keystone)),
			"placement": structOf(t, fields(t, `{spec: {openStackRelease: "2025.2", image: {tag: 14.0.1}, config: {}}, status: {release: "2025.2"}}`)),
		}
		m, err := derive(input(t, `{openStackRelease: "2026.1", services: {placement: {enabled: true, image: `+tc.image+", config: "+tc.config+"}}}", bare, observed))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spec := m.ServiceSpec(m.Services[1])
		if got := text(t, spec.Image) + " " + text(t, spec.Config); got != tc.want || spec.OpenStackRelease != "2025.2" {
			t.Errorf("%s: got %s with target release %s, want %s", tc.reason, got, spec.OpenStackRelease, tc.want)
		}
	}
}

var digits = strings.Repeat("a", 64)

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
