package registry

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/expected"
)

// releases of the committed data.
var releases = []string{"2025.1", "2025.2", "2026.1", "2026.2"}

func keystone(t testing.TB, release string) *Registry {
	t.Helper()
	return of(t, "keystone", release)
}

func of(t testing.TB, service, release string) *Registry {
	t.Helper()
	r, err := For(service, release)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFor(t *testing.T) {
	cases := map[string]struct {
		reason, service, release, want string
	}{
		"Known":          {"A pair with data is given.", "keystone", "2025.2", ""},
		"UnknownService": {"The error lists the services.", "nowa", "2025.2", `the options of service "nowa" are unknown; known services are barbican, cinder, `},
		"UnknownRelease": {"The error lists the releases.", "keystone", "2024.2", `the options of keystone are unknown in release "2024.2"; known releases are 2025.1, 2025.2, 2026.1, 2026.2`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if r, err := For(c.service, c.release); err != nil {
				got = err.Error()
			} else if r.Service != c.service || r.Release != c.release {
				t.Errorf("%s\nFor gives %s %s", c.reason, r.Service, r.Release)
			}
			if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("%s\ngot %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

func TestForReturnsSharedRegistryConcurrently(t *testing.T) {
	var wait sync.WaitGroup
	found := make([]*Registry, 8)
	for i := range found {
		wait.Go(func() { found[i], _ = For("keystone", "2025.1") })
	}
	wait.Wait()
	for _, r := range found {
		if r == nil || r != found[0] {
			t.Fatal("got different registries")
		}
	}
}

func TestSubject(t *testing.T) {
	for file, want := range map[string][2]string{
		"keystone-2025.1.json.gz":          {"keystone", "2025.1"},
		"neutron-ovn-agent-2026.2.json.gz": {"neutron-ovn-agent", "2026.2"},
	} {
		if service, release := subject(file); want != [2]string{service, release} {
			t.Errorf("%s is about %s in %s, want %s", file, service, release, want)
		}
	}
}

// TestData checks the versions of the packages, and the size of the data.
func TestData(t *testing.T) {
	want := map[string]map[string]expected.Registry{}
	for service, facts := range expected.Services(t) {
		want[service] = facts.Registry
	}
	got := map[string]map[string]expected.Registry{}
	for service := range registries {
		got[service] = map[string]expected.Registry{}
		for _, r := range All(service) {
			c := expected.Registry{Version: r.Version, Groups: len(r.Groups()), PolicyRules: len(r.policies)}
			for _, group := range r.Groups() {
				c.Options += len(r.Options(group))
			}
			for _, template := range r.Templates() {
				c.TemplateOptions += len(r.TemplateOptions(template))
			}
			got[service][r.Release] = c
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWellKnownOptions(t *testing.T) {
	cases := map[Name]Option{
		{"DEFAULT", "debug"}:                          {Type: Type{Kind: kindBoolean}, Default: false, Mutable: true},
		{"DEFAULT", "public_endpoint"}:                {Type: Type{Kind: kindURI}},
		{"DEFAULT", "log_dir"}:                        {Type: Type{Kind: kindString}, Deprecated: []Name{{"DEFAULT", "logdir"}}},
		{"token", "expiration"}:                       {Type: Type{Kind: kindInteger, Min: "0", Max: "9223372036854775807"}, Default: 3600.0},
		{"cache", "enabled"}:                          {Type: Type{Kind: kindBoolean}, Default: false},
		{"cache", "memcache_servers"}:                 {Type: Type{Kind: kindList}, Default: []any{"localhost:11211"}},
		{"fernet_tokens", "max_active_keys"}:          {Type: Type{Kind: kindInteger, Min: "1"}, Default: 3.0},
		{"fernet_receipts", "key_repository"}:         {Type: Type{Kind: kindString}, Default: "/etc/keystone/fernet-keys/"},
		{"identity", "driver"}:                        {Type: Type{Kind: kindString}, Default: "sql"},
		{"identity", "max_password_length"}:           {Type: Type{Kind: kindInteger, Max: "4096"}, Default: 4096.0},
		{"identity_mapping", "driver"}:                {Type: Type{Kind: kindString}, Default: "sql"},
		{"database", "connection"}:                    {Type: Type{Kind: kindString}, Secret: true},
		{"federation", "trusted_dashboard"}:           {Type: Type{Kind: kindString}, Multi: true, Default: []any{}},
		{"oslo_messaging_metrics", "metrics_enabled"}: {Type: Type{Kind: kindBoolean}, Default: false},
	}
	for name, want := range cases {
		for _, release := range releases {
			want.Group, want.Name = name.Group, name.Option
			got := keystone(t, release).groups[name.Group][name.Option]
			if got == nil {
				t.Errorf("%s has no %s", release, name)
				continue
			}
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Errorf("%s %s (-want +got)\n%s", release, name, diff)
			}
		}
	}
}

// TestDataFitCode checks the assumptions of the code: kinds of types, patterns that Go can compile, valid default policies
// without cycles, and names that a file can contain.
func TestDataFitCode(t *testing.T) {
	kinds := []string{
		kindString, kindBoolean, kindInteger, kindFloat, kindPort, kindList, kindDict, kindRange, kindIP, kindHostname,
		kindHost, kindDomain, kindURI,
	}
	name := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	for service, loads := range registries {
		for release := range loads {
			r := of(t, service, release)
			subject := service + " " + release
			options := r.options()
			for _, option := range options {
				if (option.Group != "" && !name.MatchString(option.Group)) || !name.MatchString(option.Name) {
					t.Errorf("%s %s: the name cannot stand in a file", subject, option.name())
				}
				for kind := &option.Type; kind != nil; kind = kind.Item {
					if !slices.Contains(kinds, kind.Kind) {
						t.Errorf("%s %s: type %q is unknown", subject, option.name(), kind.Kind)
					}
					if _, err := regexp.Compile(kind.Pattern); err != nil {
						t.Errorf("%s %s: %v", subject, option.name(), err)
					}
				}
			}
			for _, group := range r.Groups() {
				if got := r.Options(strings.ToUpper(group)); len(got) == 0 {
					t.Errorf("%s [%s] is not found in upper case", subject, group)
				}
			}
			defaults := map[string]string{}
			for rule, policy := range r.policies {
				if defaults[rule] = policy.Check; policy.Check == "" {
					defaults[rule] = "@" // An empty check means the same.
				}
			}
			for _, err := range r.CheckPolicies(defaults, false) {
				t.Errorf("%s: the default %v", subject, err)
			}
		}
	}
}

// options returns all options, including those of templates.
func (r *Registry) options() []*Option {
	var out []*Option
	for _, group := range r.Groups() {
		out = append(out, r.Options(group)...)
	}
	for _, template := range r.Templates() {
		out = append(out, r.TemplateOptions(template)...)
	}
	return out
}

func TestOptionsOfUnknownGroup(t *testing.T) {
	if got := keystone(t, "2025.2").Options("nothing"); len(got) != 0 {
		t.Errorf("got %d options", len(got))
	}
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, err := decode("data/keystone-2025.2.json.gz"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckOption(b *testing.B) {
	options := []struct {
		group, option string
		value         any
	}{
		{"DEFAULT", "debug", true}, {"DEFAULT", "log_dir", "/var/log"}, {"token", "expiration", 3600.0}, {"cache", "enabled", true},
		{"cache", "memcache_servers", []any{"a:11211", "b:11211"}}, {"fernet_tokens", "max_active_keys", 3.0}, {"identity", "driver", "sql"},
		{"auth", "methods", []any{"password", "token"}}, {"DEFAULT", "public_endpoint", "https://example.org/"}, {"ldap", "url", "ldap://x"},
	}
	for b.Loop() {
		r, err := For("keystone", "2025.2")
		if err != nil {
			b.Fatal(err)
		}
		for range 2 {
			for _, o := range options {
				if _, err := r.CheckOption(o.group, o.option, o.value); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
