package controlplane

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// running is a service as it is seen: what it was told, what it runs, and whether all of it is ready. One that was told nothing is not
// there.
type running struct {
	targetRelease, runs, previous string
	ready                         bool
}

func (r running) object(t rapid.TB, s *service) *structpb.Struct {
	status := map[string]any{"observedGeneration": 1.0, "phase": "Updating", "release": r.runs, "previousRelease": r.previous}
	if r.ready {
		status["phase"] = "Ready"
	}
	status["conditions"] = []any{map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[r.ready], "observedGeneration": 1.0}}
	o, err := structpb.NewStruct(map[string]any{
		"apiVersion": s.kind.GroupVersion().String(), "kind": s.kind.Kind, "metadata": map[string]any{"name": s.name, "generation": 1.0},
		"spec": map[string]any{"openStackRelease": r.targetRelease}, "status": status,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// cloud is a model with some services, of which these are seen, and a release that is wanted.
func cloud(t rapid.TB, wanted release.Release, observedState []running) *model {
	m := &model{release: wanted, size: sizes[controlplanev1.SizeSmall], platform: &platformv1.PlatformConfigSpec{QueueIssuer: "queues"}}
	m.spec.Services.Horizon = &controlplanev1.Horizon{}
	m.spec.Services.Glance, m.spec.Services.Nova, m.spec.Services.Neutron = &controlplanev1.Glance{}, &controlplanev1.Nova{}, &controlplanev1.Neutron{}
	m.spec.Services.Barbican = &controlplanev1.Barbican{}
	m.spec.Services.Heat = &controlplanev1.Heat{}
	m.spec.Services.Cinder = &controlplanev1.Cinder{}
	objects := map[string]encoded.Struct{}
	for i, r := range observedState {
		if r.targetRelease != "" {
			objects[services[i].name] = encoded.Of(r.object(t, services[i]))
		}
	}
	state, err := observe.New(objects)
	if err != nil {
		t.Fatal(err)
	}
	for i := range observedState {
		s := &serviceState{service: services[i]}
		s.seen, _ = state.Get(services[i].name)
		m.services = append(m.services, s)
	}
	m.assignReleases()
	return m
}

func told(m *model) []string {
	var out []string
	for _, s := range m.services {
		out = append(out, string(s.targetRelease))
	}
	return out
}

// TestOrderOfUpgrades: a service is told a release when those before it run it.
func TestOrderOfUpgrades(t *testing.T) {
	const before, wanted = "2025.2", "2026.1"
	done, old := running{wanted, wanted, "", true}, running{before, before, "", true}
	for name, tc := range map[string]struct {
		reason string
		seen   []running
		want   []string
	}{
		"New":       {"A new cloud has one release.", []running{{}, {}, {}}, []string{wanted, wanted, wanted}},
		"First":     {"Everybody logs in at the first.", []running{old, old, old}, []string{wanted, before, before}},
		"Underway":  {"Its pods are being replaced.", []running{{wanted, wanted, before, false}, old, old}, []string{wanted, before, before}},
		"Unseen":    {"Its function has not seen the edit.", []running{{wanted, before, "", true}, old, old}, []string{wanted, before, before}},
		"Second":    {"It is the next one's turn.", []running{done, old, old}, []string{wanted, wanted, before}},
		"Third":     {"And the last one's.", []running{done, done, old}, []string{wanted, wanted, wanted}},
		"TurnsSick": {"What was told is not taken back.", []running{{wanted, wanted, "", false}, {wanted, before, "", false}, old}, []string{wanted, wanted, before}},
		"Joins":     {"What is new has no schema to upgrade.", []running{{wanted, wanted, "", false}, {}, old}, []string{wanted, wanted, before}},
		"Ready":     {"A Keystone that says it is ready at the old release is told the new one.", []running{{before, before, "", true}, {}, {}}, []string{wanted, wanted, wanted}},
	} {
		if diff := cmp.Diff(tc.want, told(cloud(t, wanted, tc.seen))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestUpgradesEnd: from any state all services reach the release that is wanted, one after the other, and none is told anything else on the
// way, whatever turns unready meanwhile.
func TestUpgradesEnd(t *testing.T) {
	releases := []string{"2025.1", "2025.2", "2026.1"}
	rapid.Check(t, func(t *rapid.T) {
		const wanted = "2026.1"
		now := make([]running, len(services))
		for i := range now {
			r := running{targetRelease: rapid.SampledFrom(append(releases, "")).Draw(t, "told"), ready: rapid.Bool().Draw(t, "ready")}
			if r.targetRelease != "" {
				r.runs = rapid.SampledFrom(append(releases, "")).Draw(t, "runs")
			}
			now[i] = r
		}
		step := func(progress int) {
			for i, r := range told(cloud(t, wanted, now)) {
				previous := now[i].targetRelease
				if r != previous && r != wanted {
					t.Fatalf("%s was told %q, and is told %s: %v", services[i].name, previous, r, now)
				}
				if previous != "" && r != previous && slices.ContainsFunc(now[:i], func(r running) bool { return r != running{wanted, wanted, "", true} }) {
					t.Fatalf("%s is told %s before its turn: %v", services[i].name, r, now)
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
			if r != (running{wanted, wanted, "", true}) {
				t.Fatalf("%s ends as %v", services[i].name, r)
			}
		}
	})
}

// TestReleaseOfAll: the cloud's release is the oldest that runs, and it is being updated until that is the one that is wanted.
func TestReleaseOfAll(t *testing.T) {
	for name, tc := range map[string]struct {
		seen      []running
		oldest    string
		upgrading bool
		refused   string
	}{
		"None":    {seen: []running{{}, {}}},
		"One":     {seen: []running{{targetRelease: "2026.1", runs: "2026.1"}, {targetRelease: "2026.1"}}, oldest: "2026.1"},
		"Behind":  {seen: []running{{targetRelease: "2026.1", runs: "2026.1"}, {targetRelease: "2025.2", runs: "2025.2"}}, oldest: "2025.2", upgrading: true},
		"Ahead":   {seen: []running{{targetRelease: "2026.1", runs: "2026.2", previous: "2026.1"}, {}}, oldest: "2026.2", upgrading: true},
		"TooFar":  {seen: []running{{targetRelease: "2026.1", runs: "2026.1"}, {targetRelease: "2026.1", runs: "2026.2"}}, oldest: "2026.1", upgrading: true, refused: "or restore a backup into a new cloud; it is what placement runs"},
		"TooLate": {seen: []running{{}, {targetRelease: "2024.2", runs: "2024.2"}}, oldest: "2024.2", upgrading: true, refused: `"2024.2" is not supported`},
	} {
		m := cloud(t, "2026.1", tc.seen)
		if got := m.oldest(); got != tc.oldest || m.upgrading() != tc.upgrading {
			t.Errorf("%s: the oldest is %q, upgrading %t", name, got, m.upgrading())
		}
		if err := m.checkUpgrade(); (err == nil) != (tc.refused == "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
			t.Errorf("%s: %v, want %q", name, err, tc.refused)
		}
	}
}

// TestRolloutDeferred: a service that waits for its turn is told what it can run: the claim's settings, unless they are of the next release.
func TestRolloutDeferred(t *testing.T) {
	const keystone = `{spec: {openStackRelease: "2025.2"}, status: {release: "2025.2"}}`
	for name, tc := range map[string]struct{ reason, image, config, want string }{
		"Both":  {"A digest and an option of both.", `{digest: "sha256:` + digits + `"}`, "{DEFAULT: {debug: true}}", `{"digest":"sha256:` + digits + `"} {"DEFAULT":{"debug":true}}`},
		"Image": {"A version of the next release.", "{tag: 15.0.1}", "{DEFAULT: {debug: true}}", `{"tag":"14.0.1"} {}`},
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
		spec := m.serviceSpec(m.services[1])
		if got := text(t, spec.Image) + " " + text(t, spec.Config); got != tc.want || spec.OpenStackRelease != "2025.2" {
			t.Errorf("%s: told %s in %s, want %s", tc.reason, got, spec.OpenStackRelease, tc.want)
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
