package override

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// taken are options that a tenant does not set, by group: * is each of the group.
var taken = map[string]string{
	"DEFAULT": "config_file config_dir config_source log_config_append log_dir log_file use_stderr use_syslog use_journal watch_log_file public_endpoint",
	"cache": "backend backend_argument memcache_servers memcache_sasl_enabled memcache_username username proxies redis_db redis_sentinels redis_server " +
		"redis_username redis_sentinel_service_name tls_enabled tls_cafile tls_certfile tls_keyfile tls_allowed_ciphers",
	"database":                     "backend connection_parameters mysql_wsrep_sync_wait",
	"oslo_concurrency":             "lock_path",
	"oslo_messaging_metrics":       "*",
	"oslo_messaging_kafka":         "*",
	"oslo_messaging_rabbit":        "*",
	"oslo_messaging_notifications": "driver",
	"oslo_middleware":              "enable_proxy_headers_parsing http_basic_auth_user_file",
	"oslo_middleware_tracing":      "*",
	"oslo_policy":                  "policy_file policy_dirs policy_default_rule enforce_scope enforce_new_defaults *",
	"profiler":                     "*",
	"profiler_jaeger":              "*",
	"profiler_otlp":                "*",
	"application_credential":       "driver",
	"assignment":                   "driver",
	"auth":                         "application_credential ec2credential external mapped oauth1 openid password token totp",
	"catalog":                      "driver",
	"credential":                   "driver key_repository provider",
	"domain_config":                "driver",
	"endpoint_filter":              "driver",
	"endpoint_policy":              "driver",
	"eventlet_server":              "*",
	"federation":                   "driver remote_id_attribute sso_callback_template trusted_dashboard",
	"fernet_receipts":              "*",
	"fernet_tokens":                "key_repository max_active_keys",
	"healthcheck":                  "*",
	"identity":                     "default_domain_id domain_config_dir domain_configurations_from_database domain_specific_drivers_enabled driver",
	"identity_mapping":             "driver generator",
	"jwt_tokens":                   "*",
	"keystone_authtoken":           "*",
	"ldap":                         "*",
	"oauth1":                       "driver",
	"policy":                       "driver",
	"receipt":                      "expiration provider",
	"resource":                     "driver",
	"revoke":                       "driver",
	"role":                         "driver",
	"saml":                         "*",
	"saml2":                        "remote_id_attribute",
	"shadow_users":                 "driver",
	"token":                        "allow_expired_window expiration provider",
	"tokenless_auth":               "*",
	"trust":                        "driver",
	"unified_limit":                "driver",
}

// takenOfDirectories are those of a directory's file.
const takenOfDirectories = "group_tree_dn password suffix tls_cacertdir tls_cacertfile url user user_tree_dn"

// fields are those of Keystone and of a directory that set an option in its stead.
var fields = map[string]string{
	"oslo_policy.policy_file": "policy", "oslo_policy.policy_dirs": "policy", "oslo_policy.policy_default_rule": "policy",
	"federation.remote_id_attribute": "federation", "saml2.remote_id_attribute": "federation",
	"federation.trusted_dashboard": "federation.trustedDashboards", "fernet_tokens.max_active_keys": "fernet.maxActiveKeys",
	"identity.domain_config_dir": "identityBackends", "identity.domain_configurations_from_database": "identityBackends",
	"identity.domain_specific_drivers_enabled": "identityBackends", "identity.driver": "identityBackends", "ldap.anything": "identityBackends",
	"token.allow_expired_window": "fernet.allowExpiredWindowSeconds", "token.expiration": "fernet.tokenExpirationSeconds",
}

var fieldsOfDirectories = map[string]string{
	"group_tree_dn": "groupTreeDN", "password": "passwordSecretRef", "suffix": "suffix", "tls_cacertdir": "caSecretRef", "tls_cacertfile": "caSecretRef",
	"url": "url", "user": "user", "user_tree_dn": "userTreeDN",
}

// TestTaken: each of them is refused, also where unknown options are allowed, with the field that sets it, if there is one, and a reason.
func TestTaken(t *testing.T) {
	check := func(name, field string, err error) {
		t.Helper()
		switch {
		case err == nil:
			t.Errorf("%s is the tenant's", name)
		case field == "" && !strings.HasSuffix(err.Error(), "; leave it out") && !strings.Contains(err.Error(), "; choose from "):
			t.Errorf("%s: %s", name, err)
		case field != "":
			if _, got, _ := strings.Cut(err.Error(), "; set "); got != base+"."+field+" instead" {
				t.Errorf("%s: set %s, want %s.%s", name, got, base, field)
			}
		}
	}
	raw := common.Options{}
	for _, group := range slices.Sorted(maps.Keys(taken)) {
		for option := range strings.FieldsSeq(taken[group]) {
			if option == every {
				option = "anything"
			}
			if err := json.Unmarshal([]byte(`{"`+option+`": "x"}`), &raw); err != nil {
				t.Fatal(err)
			}
			_, err := Options(service, release, common.Overrides{AllowUnknown: true, Config: common.Config{group: raw}}, base)
			check(group+"."+option, fields[group+"."+option], err)
			clear(raw)
		}
	}
	for option := range strings.FieldsSeq(takenOfDirectories) {
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
		t.Errorf("whom to trust is the tenant's: %s", err)
	}
}

// TestNothingElseTaken: the tables have no more than that: what is taken from tenants is a decision, and stands here, too.
func TestNothingElseTaken(t *testing.T) {
	got := map[string]map[string]bool{}
	for _, tab := range []table{everyService, keystone} {
		for group, options := range tab {
			if group == every {
				group = "saml2"
			}
			if got[group] == nil {
				got[group] = map[string]bool{}
			}
			for option := range options {
				got[group][option] = true
			}
		}
	}
	want := map[string]map[string]bool{}
	for group, options := range taken {
		want[group] = map[string]bool{}
		for option := range strings.FieldsSeq(options) {
			want[group][option] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-here +tables):\n%s", diff)
	}
}

// TestSize: all options together have to fit into a ConfigMap, to the byte.
func TestSize(t *testing.T) {
	of := func(n int) error {
		raw := common.Options{}
		// Group, option and the quotes of the value count.
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
	if err := of(256<<10 + 1); err == nil || !strings.Contains(err.Error(), "more than 256 KiB") {
		t.Errorf("a byte more: %.200v", err)
	}
}
