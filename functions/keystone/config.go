package keystone

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Where things are in a pod.
const (
	configDir       = "/etc/keystone"
	fernetDir       = configDir + "/fernet-keys"
	credentialDir   = configDir + "/credential-keys"
	domainDir       = configDir + "/domains"
	databaseCADir   = configDir + "/database-ca"
	serverTLSDir    = configDir + "/tls"
	certFile        = serverTLSDir + "/tls.crt"
	keyFile         = serverTLSDir + "/tls.key"
	databaseCAFile  = databaseCADir + "/ca.crt"
	federationIssue = "HTTP_OIDC_ISS"
)

// Files of the ConfigMap.
const (
	keystoneConf = "keystone.conf"
	policyYAML   = "policy.yaml"
	uwsgiINI     = "uwsgi.ini"
	httpdConf    = "httpd.conf"
	// ssoPage is where Keystone looks for the page by default.
	ssoPage = "sso_callback_template.html"
)

// hashDigits is the length of hashes in names.
const hashDigits = 10

// files are the contents of the ConfigMap of one release; name is that of the ConfigMap, which changes with them.
type files struct {
	name string
	data map[string]string
}

// render writes the configuration files for a release, with the tenant's own options and rules, each checked against what
// Keystone has in that release.
func (m *model) render(r release.Release) (files, error) {
	conf := m.options()
	over, err := override.Options(service, string(r), m.spec.Overrides, "spec")
	if err != nil {
		return files{}, err
	}
	text, err := conf.Merge(over).Render()
	if err != nil {
		return files{}, fmt.Errorf("cannot write %s: %w", keystoneConf, err)
	}
	data := map[string]string{keystoneConf: text, uwsgiINI: m.uwsgi().Config()}
	rules, err := override.Rules(service, string(r), m.spec.Overrides, "spec")
	if err != nil {
		return files{}, err
	}
	if data[policyYAML], err = policyFile(rules); err != nil {
		return files{}, err
	}
	if m.spec.Federation != nil {
		data[httpdConf], data[ssoPage] = m.httpd(), ssoForm
	}
	return files{name: m.sub("config-" + hashOf(data)), data: data}, nil
}

// noRules is a policy file without rules. The empty mapping that a YAML library writes is also JSON, which keystone-status
// refuses: every upgrade would stop at its check.
const noRules = "# Keystone's own rules apply.\n"

// policyFile writes the rules that differ from Keystone's own.
// https://docs.openstack.org/oslo.policy/latest/admin/policy-yaml-file.html
func policyFile(rules map[string]string) (string, error) {
	if len(rules) == 0 {
		return noRules, nil
	}
	text, err := yaml.Marshal(rules)
	if err != nil {
		return "", fmt.Errorf("cannot write %s: %w", policyYAML, err)
	}
	return string(text), nil
}

// hashOf is the hash of files by name.
func hashOf(data map[string]string) string {
	keys := make([]string, 0, len(data))
	for k := range data {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var parts []string
	for _, k := range keys {
		parts = append(parts, k, data[k])
	}
	return names.Hash(hashDigits, parts...)
}

// options is keystone.conf without secrets: those are environment variables.
// https://docs.openstack.org/keystone/latest/configuration/config-options.html
func (m *model) options() oslo.Config {
	c := oslo.Config{
		"DEFAULT": {"use_stderr": true},
		"cache": {
			"enabled": true,
			// memcache_pool survives a dead server; dogpile.cache.pymemcache answers nothing at all then.
			"backend":          "oslo_cache.memcache_pool",
			"memcache_servers": m.cacheServers(),
		},
		"database": {
			"max_retries": -1,
			// A request waits so long for the next try to connect, in seconds. With the ten of oslo.db, one failed look-up of a name in a
			// new pod kept its first client waiting for longer than clients wait.
			"retry_interval":          1,
			"connection_recycle_time": 600,
		},
		"token": {
			"provider":             "fernet",
			"expiration":           int(m.spec.Fernet.TokenExpirationSeconds),
			"allow_expired_window": int(*m.spec.Fernet.AllowExpiredWindowSeconds),
		},
		"fernet_tokens": {"key_repository": fernetDir},
		// Receipts load their own repository even where nobody uses them.
		"fernet_receipts":  {"key_repository": fernetDir},
		"credential":       {"key_repository": credentialDir},
		"oslo_policy":      {"policy_file": configDir + "/" + policyYAML},
		"oslo_middleware":  {"enable_proxy_headers_parsing": true},
		"oslo_concurrency": {"lock_path": "/tmp"},
	}
	if m.spec.Database.Galera {
		// Reads on another member see what was just written.
		c["database"]["mysql_wsrep_sync_wait"] = 1
	}
	if m.spec.Exposure != nil && m.spec.Exposure.Path != "" {
		// The Gateway takes the path away, so that Keystone cannot see it in requests.
		c["DEFAULT"]["public_endpoint"] = strings.TrimSuffix(string(m.spec.Endpoints.Public), "/v3")
	}
	if len(m.spec.IdentityBackends) > 0 {
		c["identity"] = oslo.Options{"domain_specific_drivers_enabled": true, "domain_config_dir": domainDir}
	}
	if f := m.spec.Federation; f != nil {
		c["auth"] = oslo.Options{"methods": []string{"password", "token", "application_credential", "openid", "mapped"}}
		c["openid"] = oslo.Options{"remote_id_attribute": federationIssue}
		if len(f.TrustedDashboards) > 0 {
			c["federation"] = oslo.Options{"trusted_dashboard": oslo.Multi(asStrings(f.TrustedDashboards))}
		}
	}
	return c
}

func (m *model) cacheServers() []string { return asStrings(m.spec.Cache.Servers) }

func asStrings[S ~string](in []S) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// uwsgi serves https itself, or http to the proxy beside it.
func (m *model) uwsgi() workload.UWSGI {
	u := workload.UWSGI{
		Module:    "keystone.wsgi.api:application",
		Listen:    fmt.Sprintf(":%d", apiPort),
		CertFile:  certFile,
		KeyFile:   keyFile,
		Processes: m.spec.UWSGI.Processes,
		Threads:   m.spec.UWSGI.Threads,
		Harakiri:  time.Duration(m.spec.UWSGI.HarakiriSeconds) * time.Second,
		Mercy:     mercy,
	}
	if m.ipv6 {
		// It takes clients of both. Elsewhere it would not start on nodes whose kernel has no IPv6.
		u.Listen = fmt.Sprintf("[::]:%d", apiPort)
	}
	if m.spec.Federation != nil {
		u.Listen, u.CertFile, u.KeyFile = fmt.Sprintf("127.0.0.1:%d", localPort), "", ""
	}
	return u
}

// domainConfig is keystone.<domain>.conf of an identity backend. The password is a placeholder, which the companion fills.
func domainConfig(i int, b backend, r release.Release, allowUnknown bool) (string, error) {
	ldap := literal(oslo.Options{
		"url":           b.LDAP.URL,
		"suffix":        string(b.LDAP.Suffix),
		"user_tree_dn":  string(b.LDAP.UserTreeDN),
		"group_tree_dn": string(b.LDAP.GroupTreeDN),
		"user":          string(b.LDAP.User),
	})
	for _, k := range []string{"user", "group_tree_dn"} {
		if ldap[k] == "" {
			delete(ldap, k)
		}
	}
	if b.LDAP.PasswordSecretRef != nil {
		ldap["password"] = oslo.Template("{{ ." + passwordSource(i) + " }}")
	}
	if b.LDAP.CASecretRef != nil {
		ldap["tls_cacertfile"] = ldapCAFile(b)
	}
	over, err := override.Directory(string(r), b.LDAP.Options, allowUnknown, fmt.Sprintf("spec.identityBackends[%d].ldap", i))
	if err != nil {
		return "", err
	}
	for group, options := range over {
		over[group] = literal(options)
	}
	return oslo.Config{"identity": {"driver": "ldap"}, "ldap": ldap}.Merge(over).Render()
}
