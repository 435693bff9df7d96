package readiness_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestOnlyImagesAndReleasesChangeVersion tests which changes are a new version.
func TestOnlyImagesAndReleasesChangeVersion(t *testing.T) {
	pods := func(init string, containers ...string) map[string]any {
		list := []any{}
		for i := 0; i < len(containers); i += 2 {
			list = append(list, map[string]any{"name": containers[i], "image": containers[i+1]})
		}
		return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": list, "initContainers": []any{map[string]any{"name": "init", "image": init}},
		}}}}
	}
	release := func(release, image string) map[string]any {
		return map[string]any{"spec": map[string]any{"openStackRelease": release, "image": map[string]any{"tag": image}}}
	}
	for name, tc := range map[string]struct {
		reason    string
		kind      schema.GroupKind
		last, now map[string]any
		want      bool
	}{
		"same":      {"Nothing changes.", deployment, pods("1", "api", "1"), pods("1", "api", "1"), false},
		"image":     {"Another image is another version.", deployment, pods("1", "api", "1"), pods("1", "api", "2"), true},
		"second":    {"Of whichever container.", daemonSet, pods("1", "api", "1", "proxy", "1"), pods("1", "api", "1", "proxy", "2"), true},
		"init":      {"Init containers count.", deployment, pods("1", "api", "1"), pods("2", "api", "1"), true},
		"container": {"An additional container is no new version.", deployment, pods("1", "api", "1"), pods("1", "api", "1", "proxy", "2"), false},
		"removed":   {"And so it does when it goes.", deployment, pods("1", "api", "1", "proxy", "2"), pods("1", "api", "1"), false},
		"release":   {"A service's version is its release.", keystone, release("2025.1", "1"), release("2025.2", "1"), true},
		"tag":       {"A new image of the same release is no new version.", keystone, release("2025.1", "1"), release("2025.1", "2"), false},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _ := readiness.Rules.For(tc.kind)
			if got := rule.Rollout.NewVersion(structOf(t, tc.last), structOf(t, tc.now)); got != tc.want {
				t.Errorf("%s\nNewVersion(...) = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestDetectsServingVersion tests whether the running version serves.
func TestDetectsServingVersion(t *testing.T) {
	statefulSet := schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	for kind, cases := range map[schema.GroupKind]map[string]struct {
		status map[string]any
		want   bool
	}{
		deployment:  {"none": {}, "zero": {map[string]any{"availableReplicas": 0}, false}, "one": {map[string]any{"availableReplicas": 1}, true}},
		statefulSet: {"none": {}, "one": {map[string]any{"availableReplicas": 1}, true}},
		daemonSet:   {"none": {map[string]any{"availableReplicas": 1}, false}, "one": {map[string]any{"numberAvailable": 1}, true}},
		keystone:    {"none": {}, "installed": {map[string]any{"release": "2025.1"}, true}},
	} {
		rule, _ := readiness.Rules.For(kind)
		for name, tc := range cases {
			observed, err := observe.New(map[string]encoded.Struct{"o": structOf(t, map[string]any{"status": tc.status})})
			if err != nil {
				t.Fatal(err)
			}
			o, _ := observed.Get("o")
			if got := rule.Rollout.Serving(o); got != tc.want {
				t.Errorf("%s, %s: Serving() = %t, want %t", kind, name, got, tc.want)
			}
		}
	}
}

// TestOnlyWorkloadsHaveRollouts tests that exactly the kinds with workloads have a rollout.
func TestOnlyWorkloadsHaveRollouts(t *testing.T) {
	for _, kind := range kinds() {
		rule, _ := readiness.Rules.For(kind)
		pods := kind.Group == "apps" // Deployments and their like
		if got, want := rule.Rollout != nil, pods || rule.Composite; got != want {
			t.Errorf("%s has a roll-out: %t, want %t", kind, got, want)
		}
	}
}

func structOf(t *testing.T, o map[string]any) encoded.Struct {
	t.Helper()
	s, err := encode.Struct(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
