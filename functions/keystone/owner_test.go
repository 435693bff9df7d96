package keystone

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// tunable are options that we set and a tenant may set otherwise: nothing else is computed from them.
var tunable = []string{"auth methods", "cache enabled", "database connection_recycle_time", "database max_retries", "database retry_interval"}

// namesOf are all names that an option has, or had, and some that are nearly so.
func namesOf(o *registry.Option) []registry.Name {
	names := append([]registry.Name{
		{Group: o.Group, Option: o.Name}, {Group: strings.ToUpper(o.Group), Option: o.Name}, {Group: o.Group, Option: strings.ReplaceAll(o.Name, "_", "-")},
	}, o.Deprecated...)
	slices.SortFunc(names, func(a, b registry.Name) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(names)
}

func optionsOf(r *registry.Registry) []*registry.Option {
	var out []*registry.Option
	for _, group := range r.Groups() {
		out = append(out, r.Options(group)...)
	}
	return out
}

// overriding draws some options by any of their names.
func overriding(releases []*registry.Registry) *rapid.Generator[map[string]any] {
	var options []*registry.Option
	for _, r := range releases {
		options = append(options, optionsOf(r)...)
	}
	return rapid.Custom(func(t *rapid.T) map[string]any {
		out := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(t, "options") {
			o := rapid.SampledFrom(options).Draw(t, "option")
			name := rapid.SampledFrom(namesOf(o)).Draw(t, "name")
			set(rapid.SampledFrom(valuesFor(o)).Draw(t, "value"), name.Group, name.Option)(out)
		}
		return out
	})
}

// valuesFor are values of which an option takes at least one, mostly.
func valuesFor(o *registry.Option) []any {
	switch {
	case len(o.Choices) > 0:
		return []any{o.Choices[0], o.Choices[len(o.Choices)-1]}
	case o.Kind == "boolean":
		return []any{true, false}
	case o.Kind == "integer" || o.Kind == "float" || o.Kind == "port":
		return []any{7.0, 1.0}
	case o.Kind == "list":
		return []any{[]any{"password", "token", "application_credential", "openid", "mapped", "x"}, []any{"token"}}
	case o.Kind == "uri":
		return []any{"https://elsewhere.example.com"}
	}
	return []any{"/tmp/x", "x"}
}

// TestEachOwner: no option of any release, by no name and whether or not unknown ones are allowed, says something else than what is
// computed.
func TestEachOwner(t *testing.T) {
	accepted := 0
	for i, r := range registry.All(definition.App) {
		file := []string{"small", "paths", "federation", "directories"}[i]
		for _, o := range optionsOf(r) {
			for _, name := range namesOf(o) {
				for _, value := range valuesFor(o) {
					m, err := derive(input(t, xr(t, file, set(r.Release, "openStackRelease"), set(value, "config", name.Group, name.Option), set(true, "allowUnknown")), nil))
					if invalid.Is(err) {
						continue
					} else if err != nil {
						t.Fatal(err)
					}
					accepted++
					checkOwners(t, m)
					if t.Failed() {
						t.Fatalf("%s: after %s = %v", file, name, value)
					}
				}
			}
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d specs were accepted", accepted)
	}
}

// TestOneOwner: whatever options a tenant sets, by whatever name, and whether or not unknown ones are allowed: where the spec is
// accepted, the files, the keys, the probes, the policy and the environment say the same.
func TestOneOwner(t *testing.T) {
	releases := registry.All(definition.App)
	draw := overriding(releases)
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		file := rapid.SampledFrom([]string{"small", "paths", "federation", "directories"}).Draw(rt, "file")
		tokens, window := rapid.IntRange(300, 9000).Draw(rt, "tokens"), rapid.IntRange(0, 9000).Draw(rt, "window")
		r := rapid.SampledFrom(release.Releases()).Draw(rt, "release")
		m, err := derive(input(t, xr(t, file,
			set(string(r), "openStackRelease"), set(draw.Draw(rt, "config"), "config"), set(rapid.Bool().Draw(rt, "allowUnknown"), "allowUnknown"),
			set(tokens, "fernet", "tokenExpirationSeconds"), set(window, "fernet", "allowExpiredWindowSeconds"),
		), nil))
		if invalid.Is(err) {
			return
		} else if err != nil {
			rt.Fatal(err)
		}
		accepted++
		checkOwners(rt, m)
	})
	// About one in six is: that none of a hundred was is no chance.
	if accepted == 0 {
		t.Error("no spec was accepted")
	}
}

// checkOwners compares what the files say with what everything else is computed from.
func checkOwners(t rapid.TB, m *model) {
	t.Helper()
	file, err := oslo.Parse(m.Files.Data["keystone.conf"])
	if err != nil {
		t.Fatal(err)
	}
	own, err := m.Computed().Render()
	if err != nil {
		t.Fatal(err)
	}
	computed, err := oslo.Parse(own)
	if err != nil {
		t.Fatal(err)
	}
	for group, options := range computed {
		for option, values := range options {
			if got := file[group][option]; !slices.Equal(got, values) && !slices.Contains(tunable, group+" "+option) {
				t.Errorf("[%s] %s is %v in the file, and %v to everything else", group, option, got, values)
			}
		}
	}
	// What we leave to Keystone's defaults, and count on.
	for _, name := range []registry.Name{
		{Group: "credential", Option: "provider"}, {Group: "fernet_tokens", Option: "max_active_keys"}, {Group: "oslo_policy", Option: "policy_dirs"},
		{Group: "DEFAULT", Option: "log_dir"}, {Group: "DEFAULT", Option: "log_file"}, {Group: "DEFAULT", Option: "config_dir"}, {Group: "healthcheck", Option: "path"},
		{Group: "identity", Option: "driver"}, {Group: "database", Option: "connection"},
	} {
		if v, ok := file[name.Group][name.Option]; ok {
			t.Errorf("%s is %v", name, v)
		}
	}
	stages, err := keys(m)
	if err != nil {
		t.Fatal(err)
	}
	repository, _ := stages[0][0].Object.(*openstackv1.KeyRepository)
	if l := repository.Spec.Token; l.ExpirationSeconds != m.spec.Fernet.TokenExpirationSeconds || l.AllowExpiredWindowSeconds != *m.spec.Fernet.AllowExpiredWindowSeconds {
		t.Errorf("keys are kept for %+v, and the spec says %+v", l, m.spec.Fernet)
	}
	want := map[string][]string{"expiration": {fmt.Sprint(repository.Spec.Token.ExpirationSeconds)}, "allow_expired_window": {fmt.Sprint(repository.Spec.Token.AllowExpiredWindowSeconds)}}
	for option, values := range want {
		if diff := cmp.Diff(values, file["token"][option]); diff != "" {
			t.Errorf("[token] %s (-keys +file):\n%s", option, diff)
		}
	}
	rules := map[string]string{}
	if err := yaml.Unmarshal([]byte(m.Files.Data[service.PolicyFile]), &rules); err != nil || len(rules) != len(m.spec.Policy) {
		t.Errorf("the policy file has %d rules, and the spec %d: %v", len(rules), len(m.spec.Policy), err)
	}
	for _, c := range m.APIPod().Containers {
		for _, e := range c.Env {
			for group, options := range file {
				for option := range options {
					if name, err := oslo.EnvName(group, option); err == nil && name == e.Name {
						t.Errorf("[%s] %s is in the file and in the environment", group, option)
					}
				}
			}
		}
	}
}
