package keystone

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestOptions verifies the options of keystone.conf without a tenant's overrides.
func TestOptions(t *testing.T) {
	const fernetKeys = "/etc/keystone/fernet-keys"
	always := oslo.Config{
		"DEFAULT":          {"use_stderr": true}, // where the cluster collects logs
		"cache":            {"enabled": true, "backend": "oslo_cache.memcache_pool"},
		"database":         {"max_retries": -1, "retry_interval": 1, "connection_recycle_time": 600}, // it reconnects automatically
		"token":            {"provider": "fernet", "expiration": 3600, "allow_expired_window": 172800},
		"fernet_tokens":    {"key_repository": fernetKeys},
		"fernet_receipts":  {"key_repository": fernetKeys},
		"credential":       {"key_repository": "/etc/keystone/credential-keys"},
		"oslo_policy":      {"policy_file": "/etc/keystone/policy.yaml"},
		"oslo_middleware":  {"enable_proxy_headers_parsing": true}, // a Gateway reports the origin of a request
		"oslo_concurrency": {"lock_path": "/tmp"},                  // nothing else can be written
	}
	for file, additional := range map[string]oslo.Config{
		"small": nil,
		"directories": {
			"identity": {"domain_specific_drivers_enabled": true, "domain_config_dir": "/etc/keystone/domains"},
		},
		"federation": {
			"database":   {"mysql_wsrep_sync_wait": 1}, // a Galera cluster
			"auth":       {"methods": []string{"password", "token", "application_credential", "openid", "mapped"}},
			"openid":     {"remote_id_attribute": "HTTP_OIDC_ISS"},
			"federation": {"trusted_dashboard": oslo.Multi{"https://a.example.com/auth/websso/", "https://b.example.com/auth/websso/"}},
		},
		"paths": {
			"DEFAULT": {"public_endpoint": "https://cloud.example.com/identity"},
		},
	} {
		m := derived(t, xr(t, file))
		want := always.Merge(additional).Merge(oslo.Config{"cache": {"memcache_servers": service.Strings(m.spec.Cache.Servers)}})
		if file != "small" { // whose lifetime of tokens is their own
			want = want.Merge(oslo.Config{"token": {
				"expiration": int(m.spec.Fernet.TokenExpirationSeconds), "allow_expired_window": int(*m.spec.Fernet.AllowExpiredWindowSeconds),
			}})
		}
		if m.spec.Database.Galera {
			want = want.Merge(oslo.Config{"database": {"mysql_wsrep_sync_wait": 1}})
		}
		if diff := cmp.Diff(want, m.ComputedOptions()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// TestUWSGIListensForItsClients verifies that uWSGI listens for all clients with HTTPS, with both address families if pods have IPv6, and
// for the proxy only if there is one.
func TestUWSGIListensForItsClients(t *testing.T) {
	for name, tc := range map[string]struct{ file, family, want string }{
		"default":    {"small", "", "https-socket = :5000,/etc/keystone/tls/tls.crt,/etc/keystone/tls/tls.key"},
		"IPv4":       {"small", "IPv4", "https-socket = :5000,/etc/keystone/tls/tls.crt,/etc/keystone/tls/tls.key"},
		"IPv6":       {"small", "IPv6", "https-socket = [::]:5000,/etc/keystone/tls/tls.crt,/etc/keystone/tls/tls.key"},
		"federation": {"federation", "IPv6", "http-socket = 127.0.0.1:5001"},
	} {
		m, err := derive(input(t, xr(t, tc.file, set(450, "uwsgi", "harakiriSeconds"), set(tc.family, "ipFamily")), nil))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(m.Files.Data["uwsgi.ini"], "\n")
		for _, want := range []string{tc.want, "module = keystone.wsgi.api:application", "harakiri = 450", "worker-reload-mercy = 60"} {
			if !contains(lines, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, strings.Join(lines, "\n"))
			}
		}
	}
}

func contains(lines []string, want string) bool {
	for _, line := range lines {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}

// TestProxyAuthenticatesOnlyFederationPaths verifies that Apache authenticates with the provider on Keystone's federation paths, removes
// its own headers from all other requests, and forwards all of them.
func TestProxyAuthenticatesOnlyFederationPaths(t *testing.T) {
	for file, tc := range map[string]struct{ lines, locations []string }{
		"federation": {
			lines: []string{"OIDCScope \"openid groups\""},
			locations: []string{
				"/: openid-connect pass: Require valid-user",
				"/v3/OS-FEDERATION/identity_providers/keycloak/protocols/openid/auth: openid-connect auth: Require valid-user",
				"/v3/auth/OS-FEDERATION/identity_providers/keycloak/protocols/openid/websso: openid-connect auth: Require valid-user",
				"/v3/auth/OS-FEDERATION/websso/openid: openid-connect auth: Require valid-user",
				"/v3/OS-FEDERATION/redirect: openid-connect auth: Require valid-user",
			},
		},
		"federation-tokens": {
			lines: []string{
				"OIDCOAuthIntrospectionEndpoint https://id.example.com:8443/realms/cloud/protocol/openid-connect/token/introspect",
				"OIDCOAuthClientID \"keystone\"", "OIDCOAuthClientSecret \"${OIDC_CLIENT_SECRET}\"", "OIDCOAuthAcceptTokenAs header",
				"OIDCOAuthTokenIntrospectionInterval -1", "OIDCCABundlePath /etc/keystone/provider-ca/ca.crt",
			},
			locations: []string{
				"/: openid-connect pass: Require valid-user",
				"/v3/OS-FEDERATION/identity_providers/keycloak/protocols/openid/auth: auth-openidc auth: <RequireAll> Require claim iss:https://id.example.com/realms/cloud " +
					"<RequireAny> Require claim aud:keystone Require claim azp:keystone Require claim client_id:keystone </RequireAny> </RequireAll>",
				"/v3/auth/OS-FEDERATION/identity_providers/keycloak/protocols/openid/websso: openid-connect auth: Require valid-user",
				"/v3/auth/OS-FEDERATION/websso/openid: openid-connect auth: Require valid-user",
				"/v3/OS-FEDERATION/redirect: openid-connect auth: Require valid-user",
			},
		},
	} {
		lines := strings.Split(derived(t, xr(t, file)).Files.Data["httpd.conf"], "\n")
		for _, want := range append(tc.lines,
			"Listen 5000", "<VirtualHost *:5000>", "SSLEngine on",
			"SSLCertificateFile /etc/keystone/tls/tls.crt", "SSLCertificateKeyFile /etc/keystone/tls/tls.key",
			"OIDCProviderMetadataURL https://id.example.com/realms/cloud/.well-known/openid-configuration", "OIDCClientID \"keystone\"",
			"OIDCClientSecret \"${OIDC_CLIENT_SECRET}\"", "OIDCCryptoPassphrase \"${OIDC_CRYPTO_PASSPHRASE}\"",
			"OIDCRedirectURI https://keystone.example.com/v3/OS-FEDERATION/redirect", "OIDCClaimPrefix OIDC-", "OIDCPassClaimsAs headers",
			"ProxyPass / http://127.0.0.1:5001/ max=25 acquire=1000 responsefieldsize=32768", "ProxyPassReverse / http://127.0.0.1:5001/", "ProxyPreserveHost On",
			"GracefulShutdownTimeout 60", "MaxRequestWorkers 160", "ProxyTimeout 120", "LimitRequestFieldSize 32768", "<VirtualHost *:1718>",
		) {
			if !contains(lines, want) {
				t.Errorf("%s: %q is not in\n%s", file, want, strings.Join(lines, "\n"))
			}
		}
		for _, module := range []string{
			"mpm_event", "authn_core", "authz_core", "authz_user", "headers", "proxy", "proxy_http", "setenvif", "socache_shmcb", "ssl", "auth_openidc",
		} {
			if want := "LoadModule " + module + "_module /usr/lib/apache2/modules/mod_" + module + ".so"; !contains(lines, want) {
				t.Errorf("%s: %q is missing", file, want)
			}
		}
		if diff := cmp.Diff(tc.locations, locationsOf(lines)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// locationsOf returns one line for each Location: path, authentication, action without a login, and admitted users.
func locationsOf(lines []string) []string {
	var out []string
	inside := false
	for _, line := range lines {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch last := len(out) - 1; {
		case word == "<Location":
			out, inside = append(out, strings.TrimSuffix(rest, ">")+":"), true
		case word == "</Location>":
			inside = false
		case inside && word == "AuthType":
			out[last] += " " + rest
		case inside && word == "OIDCUnAuthAction":
			out[last] += " " + rest + ":"
		case inside:
			out[last] += " " + line
		}
	}
	return out
}
