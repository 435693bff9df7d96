package oslo_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

var update = flag.Bool("update", false, "write the golden files again; then let testdata/verify.py read them")

// keystone is a typical configuration.
var keystone = oslo.Config{
	"DEFAULT": {
		"use_stderr":                    true,
		"logging_context_format_string": "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s [%(global_request_id)s %(request_id)s] %(message)s",
		"default_log_levels":            []string{"amqp=WARN", "sqlalchemy=WARN", "dogpile.core.dogpile=INFO"},
	},
	"cache": {
		"enabled":          true,
		"backend":          "oslo_cache.memcache_pool",
		"backend_argument": oslo.Multi{"pool_maxsize:10", "url:a,b"},
		"memcache_servers": []string{"memcached-0.memcached:11211", "memcached-1.memcached:11211"},
	},
	"database": {"max_retries": -1, "connection_recycle_time": 280, "mysql_wsrep_sync_wait": 1},
	"federation": {
		"trusted_dashboard": oslo.Multi{"https://horizon.example.com/auth/websso/", "https://other.example.com/auth/websso/?a=b&c=$d"},
	},
	"fernet_tokens":   {"key_repository": "/etc/keystone/fernet-keys", "max_active_keys": 3},
	"ldap":            {"user_filter": `(&(objectClass=person)(!(cn=svc-\2a$)))`, "suffix": "dc=example,dc=com", "query_scope": "sub", "user_name_attribute": ""},
	"oslo_middleware": {"enable_proxy_headers_parsing": true},
	"oslo_policy":     {"policy_file": "/etc/keystone/policy.yaml", "enforce_scope": true},
	"security_compliance": {
		"password_regex":             `^(?=.*\d)(?=.*[a-zA-Z])[^#;'"$]{12,}$`,
		"password_regex_description": ` "12 characters or more"; a letter & a digit `,
		"lockout_failure_attempts":   6,
	},
	"token": {"provider": "fernet", "expiration": 3600, "caching": true},
}

// TestGoldensMatchOsloConfig compares with files that the real oslo.config has read: testdata/<name>.conf, and testdata/<name>.env with the
// values of environment variables as Kubernetes sets them. The expected values are in testdata/<name>.json: a repeated
// option is {"multi": [...]}, a reference {"template": ..., "value": ...}.
func TestGoldensMatchOsloConfig(t *testing.T) {
	if *update {
		write(t, "keystone.json", toJSON(t, keystone))
		write(t, "nasty.json", toJSON(t, nastyConfig()))
	}
	for _, name := range []string{"keystone", "nasty"} {
		t.Run(name, func(t *testing.T) {
			c := fromJSON(t, name+".json")
			text, err := c.Render()
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".conf", text)
			golden(t, name+".env", environment(t, c))
		})
	}
	if diff := cmp.Diff(toJSON(t, keystone), toJSON(t, fromJSON(t, "keystone.json"))); diff != "" {
		t.Errorf("testdata/keystone.json is not the configuration above: run with -update\n%s", diff)
	}
}

// nastyConfig returns 400 deterministic values and a few references.
func nastyConfig() oslo.Config {
	out := oslo.Config{"DEFAULT": {}, "nasty": {}, "references": {
		"base": "/var/lib/$x",
		"here": oslo.Template("$references.base/a"),
		"both": oslo.Template("${references.base}$$ \"b\" "),
	}}
	for i := range 400 {
		group := "nasty"
		if i%4 == 0 {
			group = "DEFAULT"
		}
		out[group][fmt.Sprintf("v%03d", i)] = value().Example(i)
	}
	return out
}

// resolved contains the values of the references in nastyConfig.
var resolved = map[oslo.Template]string{
	"$references.base/a":          "/var/lib/$x/a",
	"${references.base}$$ \"b\" ": "/var/lib/$x$ \"b\" ", //nolint:gocritic // the space at the end is what is tested
}

func toJSON(t *testing.T, c oslo.Config) string {
	t.Helper()
	out := map[string]map[string]any{}
	for group, options := range c {
		out[group] = map[string]any{}
		for option, v := range options {
			switch v := v.(type) {
			case oslo.Multi:
				out[group][option] = map[string]any{"multi": []string(v)}
			case oslo.Template:
				out[group][option] = map[string]any{"template": string(v), "value": resolved[v]}
			default:
				out[group][option] = v
			}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(out); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func fromJSON(t *testing.T, name string) oslo.Config {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var groups map[string]map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&groups); err != nil {
		t.Fatal(err)
	}
	out := oslo.Config{}
	for group, options := range groups {
		out[group] = oslo.Options{}
		for option, v := range options {
			out[group][option] = typed(t, v)
		}
	}
	return out
}

func typed(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			t.Fatal(err)
		}
		return f
	case []any:
		return texts(v)
	case map[string]any:
		if multi, ok := v["multi"].([]any); ok {
			return oslo.Multi(texts(multi))
		}
		return oslo.Template(v["template"].(string))
	}
	return v
}

func texts(list []any) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].(string)
	}
	return out
}

// environment sets the same options with environment variables, if possible.
func environment(t *testing.T, c oslo.Config) string {
	t.Helper()
	var lines []string
	for group, options := range c {
		for option, v := range options {
			switch v.(type) {
			case oslo.Multi, oslo.Template:
				continue
			}
			name, err := oslo.EnvName(group, option)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, name+"="+kubernetes(oslo.EnvValue(expected(v)[0])))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		write(t, name, got)
	}
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("testdata/%s: -want +got:\n%s", name, diff)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join("testdata", name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkRender(b *testing.B) {
	for b.Loop() {
		if _, err := keystone.Render(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text, err := keystone.Render()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := oslo.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
