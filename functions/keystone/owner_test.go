package keystone

import (
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// tunable are options that we set and a tenant may set otherwise: nothing else is computed from them.
var tunable = []string{"auth methods", "cache enabled"}

// overriding draws some options by any of their names.
func overriding(releases []*registry.Registry) *rapid.Generator[map[string]any] {
	var options []*registry.Option
	for _, r := range releases {
		options = append(options, servicetest.Options(r)...)
	}
	return rapid.Custom(func(t *rapid.T) map[string]any {
		out := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(t, "options") {
			o := rapid.SampledFrom(options).Draw(t, "option")
			name := rapid.SampledFrom(servicetest.Names(o)).Draw(t, "name")
			set(rapid.SampledFrom(servicetest.Values(o)).Draw(t, "value"), name.Group, name.Option)(out)
		}
		return out
	})
}

// TestOptionsCannotChangeComputedValues verifies for all options of all releases, with and without unknown ones, that an override cannot
// change a computed value.
func TestOptionsCannotChangeComputedValues(t *testing.T) {
	accepted := 0
	for i, r := range registry.All(definition.App) {
		file := []string{"small", "paths", "federation", "directories"}[i]
		for _, o := range servicetest.Options(r) {
			for _, name := range servicetest.Names(o) {
				// make test uses one spec for each setting, and make test-long all specs.
				if !effort.Long() && int(crc32.ChecksumIEEE([]byte(name.Group+" "+name.Option))%4) != i {
					continue
				}
				for _, value := range servicetest.Values(o) {
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
	if accepted < effort.Of(250, 1000) {
		t.Errorf("only %d specs were accepted", accepted)
	}
}

// TestRandomOptionsCannotChangeComputedValues verifies for any options of a tenant, with and without unknown ones: if the spec is accepted,
// files, keys, probes, policy and environment have the same values.
func TestRandomOptionsCannotChangeComputedValues(t *testing.T) {
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
	// About one in six is accepted, so none of a hundred is a defect.
	if accepted == 0 {
		t.Error("no spec was accepted")
	}
}

// checkOwners compares the values of files with the values that all other objects are computed from.
func checkOwners(t rapid.TB, m *model) {
	t.Helper()
	servicetest.CheckOwners(t, m, tunable...)
	file, err := oslo.Parse(m.Files.Data["keystone.conf"])
	if err != nil {
		t.Fatal(err)
	}
	// Keystone's defaults that other values depend on.
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
		t.Errorf("keys are retained for %+v, and the spec has %+v", l, m.spec.Fernet)
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
}
