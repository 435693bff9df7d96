package keystone

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// named are the names of the desired resources that begin so.
func named(desired map[string]map[string]any, prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(desired)), func(n string) bool { return !strings.HasPrefix(n, prefix) })
}

// configOf is the ConfigMap that a pod of the desired object reads.
func configOf(o map[string]any, template ...any) any {
	volumes, _ := at(o, append(template, "spec", "volumes")...).([]any)
	for _, v := range volumes {
		if name := at(v, "configMap", "name"); name != nil {
			return name
		}
	}
	return nil
}

// TestChangedOptionReplacesConfigMapAndPods verifies that a changed option creates a new ConfigMap and replaces the pods, and that the old
// ConfigMap is retained while pods may read it.
func TestChangedOptionReplacesConfigMapAndPods(t *testing.T) {
	w := ready(t, xr(t, "paths"))
	before := named(desired(t, w), "config-")
	if len(before) != 1 {
		t.Fatalf("ConfigMaps %v", before)
	}

	w.XR = xr(t, "paths", set(7200, "config", "token", "cache_time"))
	changed := desired(t, w)
	both := named(changed, "config-")
	if len(both) != 2 || !slices.Contains(both, before[0]) {
		t.Fatalf("ConfigMaps while it rolls out: %v, before %v", both, before)
	}
	fresh := slices.DeleteFunc(slices.Clone(both), func(n string) bool { return n == before[0] })[0]
	if got := at(changed[before[0]], "metadata", "name"); got != "keystone-"+before[0] {
		t.Errorf("the old ConfigMap is called %v", got)
	}
	if diff := cmp.Diff(desired(t, ready(t, xr(t, "paths")))[before[0]], changed[before[0]]); diff != "" {
		t.Errorf("the old ConfigMap is changed (-before +after):\n%s", diff)
	}
	if !strings.Contains(at(changed[fresh], "data", "keystone.conf").(string), "cache_time = 7200") {
		t.Errorf("the new ConfigMap holds %v", at(changed[fresh], "data"))
	}
	for name, template := range map[string][]any{
		"deployment": {"spec", "template"}, "schema": {"spec", "template"}, "trust-flush": {"spec", "jobTemplate", "spec", "template"},
	} {
		if got := configOf(changed[name], template...); got != "keystone-"+fresh {
			t.Errorf("%s reads %v, want keystone-%s", name, got, fresh)
		}
	}

	finish(t, w)
	if after := named(desired(t, w), "config-"); !slices.Equal(after, []string{fresh}) {
		t.Errorf("ConfigMaps after the roll-out: %v, want %s alone", after, fresh)
	}
}

// TestPodsUpgradeAfterSchema verifies that pods keep the image and configuration of the old release until the schema of the new one is
// installed.
func TestPodsUpgradeAfterSchema(t *testing.T) {
	oldImage, newImage := "ghcr.io/c5c3/keystone:"+versionOf(t, "2025.1"), "ghcr.io/c5c3/keystone:"+versionOf(t, "2025.2")
	w := ready(t, xr(t, "small", set("2025.1", "openStackRelease")))
	previous := desired(t, w)
	w.XR = xr(t, "small", set("2025.2", "openStackRelease"))

	image := func(o map[string]any, path ...any) any {
		return at(o, append(path, "spec", "containers", 0, "image")...)
	}
	pod, job := []any{"spec", "template"}, []any{"spec", "jobTemplate", "spec", "template"}
	now := desired(t, w)
	if got := at(now["schema"], "spec", "release"); got != "2025.2" {
		t.Errorf("the schema is brought to %v", got)
	}
	if got := image(now["schema"], pod...); got != newImage {
		t.Errorf("schema Jobs run %v", got)
	}
	if diff := cmp.Diff(previous["deployment"], now["deployment"]); diff != "" {
		t.Errorf("pods change before the schema is upgraded (-before +after):\n%s", diff)
	}
	if got := image(now["trust-flush"], job...); got != oldImage {
		t.Errorf("trusts are flushed by %v", got)
	}
	if got := named(now, "bootstrap-"); !slices.Equal(got, named(previous, "bootstrap-")) {
		t.Errorf("bootstrap Jobs %v before the schema is upgraded, had %v", got, named(previous, "bootstrap-"))
	}

	finish(t, w)
	done := desired(t, w)
	if got := image(done["deployment"], pod...); got != newImage {
		t.Errorf("pods run %v in the end", got)
	}
	if got := named(done, "bootstrap-"); len(got) != 1 || got[0] == named(previous, "bootstrap-")[0] {
		t.Errorf("bootstrap Jobs %v in the end: a new release may bring new roles", got)
	}
	if status := w.XR.AsMap()["status"]; at(status, "release") != "2025.2" || at(status, "version") != versionOf(t, "2025.2") || at(status, "phase") != "Ready" {
		t.Errorf("status %v", status)
	}
}

// TestBootstrapRunsOncePerInput verifies that the name of the Job, and with it a new run, changes if and only if its input changes.
func TestBootstrapRunsOncePerInput(t *testing.T) {
	bootstrapName := func(changes ...func(map[string]any)) string {
		m := derived(t, xr(t, "small", changes...))
		stages, err := bootstrap(m)
		if err != nil {
			t.Fatal(err)
		}
		return stages[0][0].Name
	}
	first := bootstrapName()
	if next := bootstrapName(); next != first {
		t.Errorf("%s and then %s of the same input", first, next)
	}
	for name, tc := range map[string]struct {
		change func(map[string]any)
		next   bool
	}{
		"option":           {change: set(7200, "config", "token", "cache_time")},
		"rule":             {change: set("@", "policy", "identity:get_user")},
		"replicas":         {change: set(5, "replicas")},
		"resources":        {change: set("3", "resources", "requests", "cpu")},
		"placement":        {change: set(map[string]any{"disk": "fast"}, "nodeSelector"), next: true},
		"processes":        {change: set(8, "uwsgi", "processes")},
		"fernet keys":      {change: set(9, "fernet", "maxActiveKeys")},
		"schedule":         {change: set("1 1 * * *", "trustFlush", "schedule")},
		"monitoring":       {change: set(true, "monitoring", "enabled")},
		"deletion policy":  {change: set("Delete", "deletionPolicy")},
		"cache":            {change: set([]any{"a:11211"}, "cache", "servers")},
		"user":             {change: set("root", "bootstrap", "adminUser"), next: true},
		"region":           {change: set("eu", "region"), next: true},
		"public address":   {change: set("https://a.example.com/v3", "endpoints", "public"), next: true},
		"internal address": {change: set("https://b.svc:5000/v3", "endpoints", "internal"), next: true},
		"image":            {change: set("28.1.0-p9", "image", "tag"), next: true},
		"release":          {change: set("2026.1", "openStackRelease"), next: true},
		"database":         {change: set("db.example.com", "database", "host"), next: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bootstrapName(tc.change); (got != first) != tc.next {
				t.Errorf("name %s, first %s; another one: %t, want %t", got, first, got != first, tc.next)
			}
		})
	}
}

// TestRetainsDataUnlessPolicyIsDelete verifies that objects with data outlive the Keystone by default.
func TestRetainsDataUnlessPolicyIsDelete(t *testing.T) {
	data := []string{
		"admin-secret", "cache-secret", "credential-keys", "database", "database-grant", "database-secret", "database-user", "fernet-keys",
	}
	keep, all := []any{"Observe", "Create", "Update", "LateInitialize"}, []any{"*"}
	for policy, want := range map[string][]any{"Retain": keep, "Delete": all, "": keep} {
		t.Run(policy, func(t *testing.T) {
			w := ready(t, xr(t, "small", set(policy, "deletionPolicy")))
			var wrapped []string
			for name, o := range objects(t, w) {
				if !wrapper.IsObject(o) {
					continue
				}
				wrapped = append(wrapped, name)
				if diff := cmp.Diff(want, at(o.Map(), "spec", "managementPolicies")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			slices.Sort(wrapped)
			if diff := cmp.Diff(data, wrapped); diff != "" {
				t.Errorf("retained objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestComposesObjectsInOtherCluster verifies that all objects are composed in the other cluster.
func TestComposesObjectsInOtherCluster(t *testing.T) {
	for name, o := range objects(t, ready(t, xr(t, "federation"))) {
		if !wrapper.IsObject(o) || at(o.Map(), "spec", "providerConfigRef", "name") != "east" {
			t.Errorf("%s is composed as %v, provider config %v", name, o.At("kind").Text(), at(o.Map(), "spec", "providerConfigRef"))
		}
	}
}

// objects returns the objects that the function composes now.
func objects(t *testing.T, w *simulate.Cluster) map[string]encoded.Struct {
	t.Helper()
	rsp, _, err := w.Kinds[kind].Explain(w.Request())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]encoded.Struct{}
	for name, r := range rsp.Composed {
		out[name] = r.Object
	}
	return out
}

// TestGraph verifies that components without dependencies are created at once, and groups together. test/invariants verifies the order.
func TestGraph(t *testing.T) {
	w := &simulate.Cluster{XR: xr(t, "paths"), Kinds: map[string]function.Runner{kind: New()}}
	stage := map[string]int{}
	calls := 0
	if err := w.Run(func(s simulate.Step) {
		calls++
		for _, name := range s.New {
			name, _, _ = strings.Cut(name, "-0")
			stage[name] = calls
		}
	}); err != nil {
		t.Fatal(err)
	}
	if stage["service"] != stage["deployment"] || stage["alerts"] != 1 {
		t.Errorf("stages %v", stage)
	}
}
