package override

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

const service, release, base = "keystone", "2025.2", "spec.services.keystone"

// overrides parses them as an API server does.
func overrides(t testing.TB, text string) common.Overrides {
	t.Helper()
	o := common.Overrides{}
	if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// invalidFields returns the fields of the errors, which must be errors of the tenant.
func invalidFields(t *testing.T, err error) []string {
	t.Helper()
	var out []string
	for _, e := range flat(err) {
		var s *invalid.Spec
		if !errors.As(e, &s) || s.Sentence == "" {
			t.Errorf("not a tenant's mistake: %v", e)
			continue
		}
		out = append(out, s.Field)
	}
	return out
}

func flat(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		reason, in string
		want       oslo.Config
		wantErr    []string
	}{
		"nothing": {reason: "There is nothing to check.", in: "{}", want: oslo.Config{}},
		"types": {
			reason: "Values keep their types, a list of a repeated option becomes one of its values each.",
			in: "{config: {token: {cache_time: 600, cache_on_issue: false}, auth: {methods: [password, token]}, DEFAULT: {notification_opt_out: [a, b]}," +
				" cors: {allowed_origin: 'https://a.example.com'}}}",
			want: oslo.Config{
				"token":   {"cache_time": int64(600), "cache_on_issue": false},
				"auth":    {"methods": []string{"password", "token"}},
				"DEFAULT": {"notification_opt_out": oslo.Multi{"a", "b"}},
				"cors":    {"allowed_origin": "https://a.example.com"},
			},
		},
		"case": {
			reason: "oslo.config compares groups case-insensitively, but two sections of a file are two groups.",
			in:     "{config: {Token: {cache_time: 600}}}", want: oslo.Config{"token": {"cache_time": int64(600)}},
		},
		"case of an unknown group": {
			reason: "The same holds for a group that the service does not have.",
			in:     "{allowUnknown: true, config: {Mine: {a: 1}}}", want: oslo.Config{"mine": {"a": int64(1)}},
		},
		"old name": {
			reason: "An option stands under its present name, where our own would beat it.",
			in:     "{config: {assignment: {caching: false}}}", want: oslo.Config{"resource": {"caching": false}},
		},
		"twice": {
			reason: "One of them would be lost.", in: "{config: {token: {cache_time: 1}, TOKEN: {cache_time: 2}, assignment: {caching: true}, resource: {caching: false}}}",
			wantErr: []string{"spec.services.keystone.config.resource.caching", "spec.services.keystone.config.token.cache_time"},
		},
		"all mistakes": {
			reason:  "All errors are reported, sorted.",
			in:      "{config: {token: {cache_time: x, nothing: 1, provider: fernet}, nowhere: {a: 1}, database: {connection: x}, auth: {methods: {a: b}}}}",
			wantErr: []string{"spec.services.keystone.config.auth.methods", "spec.services.keystone.config.database.connection", "spec.services.keystone.config.nowhere.a", "spec.services.keystone.config.token.cache_time", "spec.services.keystone.config.token.nothing", "spec.services.keystone.config.token.provider"},
		},
		"unknown": {
			reason: "An unknown option is written unchanged.", in: "{allowUnknown: true, config: {token: {mine: 'a$b'}}}",
			want: oslo.Config{"token": {"mine": "a$b"}},
		},
		"unknown allows no more": {
			reason:  "Known options are validated; line breaks and secrets are rejected.",
			in:      `{allowUnknown: true, config: {token: {cache_time: x, mine: "a\nb"}, "a b": {c: d}, default: {x: y}, cache: {memcache_password: x}}}`,
			wantErr: []string{`spec.services.keystone.config."a b".c`, "spec.services.keystone.config.cache.memcache_password", "spec.services.keystone.config.default.x", "spec.services.keystone.config.token.cache_time", "spec.services.keystone.config.token.mine"},
		},
		"names": {
			reason:  "A name that reads like a path, or moves a terminal's cursor, is quoted.",
			in:      `{config: {"a\u001b]": {"b\nspec.size": 1}, "` + strings.Repeat("x", 200) + `": {c: 1}}}`,
			wantErr: []string{`spec.services.keystone.config."a\x1b]"."b\nspec.size"`, `spec.services.keystone.config."` + strings.Repeat("x", 100) + `…".c`},
		},
		"too much": {
			reason: "A ConfigMap has to hold it.", in: "{allowUnknown: true, config: {mine: {a: " + strings.Repeat("x", largest) + "}}}",
			wantErr: []string{"spec.services.keystone.config.mine"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Options(service, release, overrides(t, tc.in), base)
			if diff := cmp.Diff(tc.wantErr, invalidFields(t, err)); diff != "" {
				t.Errorf("%s\nfields (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := Options(service, "2020.1", overrides(t, "{config: {a: {b: 1}}}"), base); err == nil || invalid.Is(err) {
		t.Errorf("error %v, want one that is not the tenant's: a release without a registry", err)
	}
}

// TestErrorsContainNoSecretValues checks that errors for secrets do not contain their values.
func TestErrorsContainNoSecretValues(t *testing.T) {
	_, err := Options(service, release, overrides(t, "{config: {database: {connection: 'mysql://a:hunter2@b/c'}, DEFAULT: {admin_token: hunter2}}}"), base)
	if n := len(invalidFields(t, err)); n != 2 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestDirectory(t *testing.T) {
	in := overrides(t, "{config: {ldap: {query_scope: sub, pool_size: 5, password: x, none: 1, url: x}}}").Config["ldap"]
	_, err := Directory(release, in, false, "spec.ldap")
	if diff := cmp.Diff([]string{"spec.ldap.options.none", "spec.ldap.options.password", "spec.ldap.options.url"}, invalidFields(t, err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	delete(in, "password")
	delete(in, "url")
	got, err := Directory(release, in, true, "spec.ldap")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(oslo.Config{"ldap": {"query_scope": "sub", "pool_size": int64(5), "none": int64(1)}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRules(t *testing.T) {
	cases := map[string]struct {
		reason, in string
		wantErrs   int
	}{
		"nothing":   {"There is nothing to check.", "{}", 0},
		"fine":      {"The rule exists, and the check is valid.", "{policy: {'identity:get_user': 'role:admin or user_id:%(user_id)s'}}", 0},
		"unknown":   {"The rule does not exist.", "{policy: {'identity:get_usr': '@'}}", 1},
		"unparsed":  {"It would deny all requests.", "{policy: {'identity:get_user': 'role:admin or'}}", 1},
		"both":      {"All errors are reported.", "{policy: {'identity:get_usr': '@', 'identity:get_user': ')'}}", 2},
		"mine":      {"Rules of one's own may be used by others.", "{policy: {mine: 'role:a', 'identity:get_user': 'rule:mine'}}", 0},
		"allowed":   {"A patched image may have more.", "{allowUnknown: true, policy: {'identity:get_usr': '@'}}", 0},
		"no more":   {"Checks are still validated.", "{allowUnknown: true, policy: {'identity:get_usr': 'http://a/', 'identity:get_user': ''}}", 2},
		"reference": {"The referenced rule does not exist.", "{policy: {'identity:get_user': 'rule:nowhere'}}", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			over := overrides(t, tc.in)
			got, err := Rules(service, release, over, base)
			fields := invalidFields(t, err)
			if len(fields) != tc.wantErrs || slices.ContainsFunc(fields, func(f string) bool { return !strings.HasPrefix(f, base+".policy") }) {
				t.Errorf("%s\nfields %v (%v), want %d", tc.reason, fields, err, tc.wantErrs)
			}
			if err == nil && len(got) != len(over.Policy) {
				t.Errorf("%s\nrules %v", tc.reason, got)
			}
		})
	}
}

// FuzzOptions checks that any input is either rejected as an error of the tenant, or results in exactly one option of the
// file.
func FuzzOptions(f *testing.F) {
	f.Add("token", "expiration", "600", false)
	f.Add("Token", "expiration", `"$x\u0000"`, true)
	f.Add("DEFAULT", "notification_opt_out", `["a", 1, true, null]`, false)
	f.Add("default", "a = b\n[c]", `{"a": 1e400}`, true)
	f.Add("auth", "methods", `[[]]`, true)
	f.Add("mine", "x", `" 'a' "`, true)
	f.Fuzz(func(t *testing.T, group, option, raw string, allowUnknown bool) {
		if !json.Valid([]byte(raw)) {
			t.Skip()
		}
		over := common.Overrides{
			Config:       common.Config{group: common.Options{option: apiextensionsv1.JSON{Raw: []byte(raw)}}},
			AllowUnknown: allowUnknown,
		}
		conf, err := Options(service, release, over, base)
		if err != nil {
			if !invalid.Is(err) || strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("error %q", err)
			}
			return
		}
		text, err := oslo.Config{"DEFAULT": {"ours": true}, "token": {"ours": true}}.Merge(conf).Render()
		if err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		file, err := oslo.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, options := range file {
			count += len(options)
		}
		if count != 3 {
			t.Errorf("one option became %d:\n%s", count-2, text)
		}
	})
}
