package override

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/expected"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// reservedOptions are options of the shared tables that a tenant cannot set, by table and group. * stands for all options of a group. The
// reserved options of a service are in functions/<service>/expected.yaml.
var reservedOptions = map[string]map[string]string{
	"every service": {
		"DEFAULT": "config_file config_dir config_source log_config_append log_dir log_file use_stderr use_syslog use_journal watch_log_file",
		"cache": "backend backend_argument memcache_servers memcache_sasl_enabled memcache_username username proxies debug_cache_backend redis_db redis_sentinels redis_server " +
			"redis_username redis_sentinel_service_name tls_enabled tls_cafile tls_certfile tls_keyfile tls_allowed_ciphers",
		"database":                "backend connection_debug connection_parameters mysql_wsrep_sync_wait",
		"oslo_concurrency":        "lock_path",
		"oslo_messaging_metrics":  "*",
		"oslo_middleware":         "enable_proxy_headers_parsing http_basic_auth_user_file",
		"oslo_middleware_tracing": "*",
		"oslo_policy":             "policy_file policy_dirs policy_default_rule enforce_scope enforce_new_defaults *",
		"profiler":                "*",
		"profiler_jaeger":         "*",
		"profiler_otlp":           "*",
		"healthcheck":             "*",
	},
	"without queue": {
		"oslo_messaging_kafka":         "*",
		"oslo_messaging_notifications": "driver",
		"oslo_messaging_rabbit":        "*",
	},
	"client": {
		"barbican":              "*",
		"barbican_service_user": "*",
		"key_manager":           "*",
		"keystone_authtoken":    "*",
		"oslo_limit":            "*",
		"vault":                 "*",
	},
	"queue": {
		"DEFAULT":                      "control_exchange",
		"oslo_messaging_kafka":         "*",
		"oslo_messaging_notifications": "driver",
		"oslo_messaging_rabbit":        "*",
	},
}

// sharedTables contains the tables of several services, by name.
var sharedTables = map[string]table{"every service": everyService, "without queue": withoutQueue, "client": client, "queue": queue}

// reservedDirectoryOptions are reserved options in the file of an LDAP directory.
const reservedDirectoryOptions = "group_tree_dn password suffix tls_cacertdir tls_cacertfile url user user_tree_dn"

// fields maps reserved options of all services to the fields that set them.
var fields = map[string]string{
	"oslo_policy.policy_file": "policy", "oslo_policy.policy_dirs": "policy", "oslo_policy.policy_default_rule": "policy",
}

var fieldsOfDirectories = map[string]string{
	"group_tree_dn": "groupTreeDN", "password": "passwordSecretRef", "suffix": "suffix", "tls_cacertdir": "caSecretRef", "tls_cacertfile": "caSecretRef",
	"url": "url", "user": "user", "user_tree_dn": "userTreeDN",
}

// TestReservedOptionsAreRejected checks that every reserved option is rejected, even if unknown options are allowed, with a reason and the
// field that sets it, if there is one.
func TestReservedOptionsAreRejected(t *testing.T) {
	check := func(name, field string, err error) {
		t.Helper()
		switch {
		case err == nil:
			t.Errorf("%s is the tenant's", name)
		case field == "" && !strings.HasSuffix(err.Error(), "; remove it") && !strings.Contains(err.Error(), "; choose from "):
			t.Errorf("%s: %s", name, err)
		case field != "":
			if _, got, _ := strings.Cut(err.Error(), "; set "); got != base+"."+field+" instead" {
				t.Errorf("%s: set %s, want %s.%s", name, got, base, field)
			}
		}
	}
	raw := common.Options{}
	for service, facts := range expected.Services(t) {
		groups := storesOf(t, service)
		setBy := maps.Clone(fields)
		maps.Copy(setBy, facts.Options.Fields)
		for _, all := range append(shared(facts), facts.Options.Reserved) {
			for _, group := range slices.Sorted(maps.Keys(all)) {
				for option := range strings.FieldsSeq(all[group]) {
					if option == every {
						option = "anything"
					}
					group := group
					if driver, ok := strings.CutPrefix(group, "<"); ok {
						group = strings.TrimSuffix(driver, ">") + "1"
					}
					if err := json.Unmarshal([]byte(`{"`+option+`": "x"}`), &raw); err != nil {
						t.Fatal(err)
					}
					_, err := Options(service, release, common.Overrides{AllowUnknown: true, Config: common.Config{group: raw}}, base, groups...)
					check(service+" "+group+"."+option, setBy[group+"."+option], err)
					clear(raw)
				}
			}
		}
	}
	for option := range strings.FieldsSeq(reservedDirectoryOptions) {
		if err := json.Unmarshal([]byte(`{"`+option+`": "x"}`), &raw); err != nil {
			t.Fatal(err)
		}
		_, err := Directory(release, raw, true, base)
		check("a directory's "+option, fieldsOfDirectories[option], err)
		clear(raw)
	}
	if err := json.Unmarshal([]byte(`{"tls_req_cert": "never"}`), &raw); err != nil {
		t.Fatal(err)
	}
	if _, err := Directory(release, raw, false, base); err != nil {
		t.Errorf("a tenant must be able to set tls_req_cert: %s", err)
	}
}

// storesOf returns a store for each driver of a service.
func storesOf(t *testing.T, service string) []registry.Group {
	t.Helper()
	known, err := registry.For(service, release)
	if err != nil {
		t.Fatal(err)
	}
	var out []registry.Group
	for _, driver := range known.Templates() {
		out = append(out, registry.Group{Name: driver + "1", Template: driver})
	}
	return out
}

// shared returns the reserved options of the shared tables of a service.
func shared(facts expected.Service) []map[string]string {
	out := []map[string]string{reservedOptions["every service"]}
	for _, name := range facts.Options.Tables {
		out = append(out, reservedOptions[name])
	}
	return out
}

// TestReservedOptionsReviewed checks that the tables contain exactly the reserved options of this file and of the facts about each service,
// so that a new one requires a review.
func TestReservedOptionsReviewed(t *testing.T) {
	for name, table := range sharedTables {
		checkReviewed(t, name, table, reservedOptions[name])
	}
	facts := expected.Services(t)
	for service, tables := range services {
		if separate[service] == "" {
			checkReviewed(t, service, tables[0], facts[service].Options.Reserved)
		}
	}
	if len(reservedOptions) != len(sharedTables) {
		t.Errorf("%d tables, and %d here", len(sharedTables), len(reservedOptions))
	}
}

// checkReviewed compares the reserved options of a table with the reviewed ones.
func checkReviewed(t *testing.T, name string, table table, reviewed map[string]string) {
	t.Helper()
	got, want := map[string]map[string]bool{}, map[string]map[string]bool{}
	for group, options := range table {
		if group == every {
			group = "saml2"
		}
		if got[group] == nil {
			got[group] = map[string]bool{}
		}
		for option, o := range options {
			if !o.tenant {
				got[group][option] = true
			}
		}
		if len(got[group]) == 0 {
			delete(got, group)
		}
	}
	for group, options := range reviewed {
		want[group] = map[string]bool{}
		for option := range strings.FieldsSeq(options) {
			want[group][option] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: (-reviewed +tables):\n%s", name, diff)
	}
}

// TestTablesOfServices checks that each service has its own table and the shared tables in its facts, and each service with facts has tables.
func TestTablesOfServices(t *testing.T) {
	facts := expected.Services(t)
	for service, tables := range services {
		if separate[service] != "" {
			continue
		}
		var want []table
		for _, name := range append(facts[service].Options.Tables, "every service") {
			want = append(want, sharedTables[name])
		}
		if diff := cmp.Diff(want, tables[1:], cmp.AllowUnexported(owner{})); diff != "" {
			t.Errorf("%s (-facts +tables):\n%s", service, diff)
		}
	}
	for service := range facts {
		if services[service] == nil {
			t.Errorf("%s has no table", service)
		}
	}
}

// TestRejectsOptionsBeyondConfigMapSize checks that all options together fit into a ConfigMap, to the byte.
func TestRejectsOptionsBeyondConfigMapSize(t *testing.T) {
	of := func(n int) error {
		raw := common.Options{}
		// The size includes group, option and the quotes of the value.
		text := `{"o": "` + strings.Repeat("x", n-len("group")-len("o")-2) + `"}`
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		_, err := Options(service, release, common.Overrides{AllowUnknown: true, Config: common.Config{"group": raw}}, base)
		return err
	}
	if err := of(256 << 10); err != nil {
		t.Errorf("256 KiB: %.200s", err)
	}
	if err := of(256<<10 + 1); err == nil || !strings.Contains(err.Error(), "exceed 256 KiB") {
		t.Errorf("a byte more: %.200v", err)
	}
}
