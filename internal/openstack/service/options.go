package service

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// authToken is the option group of the middleware that validates the tokens of requests.
// https://docs.openstack.org/keystonemiddleware/latest/middlewarearchitecture.html#configuration-options
const authToken = "keystone_authtoken"

// ComputedOptions returns the options that the tenant does not set: the common ones and the service's own.
func (s *Service) ComputedOptions() oslo.Config { return s.options().Merge(s.extension.Config.Options) }

// HasOption reports whether the service has an option in the effective release.
func (b *Base) HasOption(group, option string) bool {
	known, err := registry.For(b.App, string(b.Effective))
	return err == nil && len(known.Lookup(group, option)) > 0
}

// options returns the common options. Secrets are not included: they are environment variables.
func (s *Service) options() oslo.Config {
	c := oslo.Config{
		"DEFAULT":          {"use_stderr": true},
		"oslo_policy":      {"policy_file": s.Path(PolicyFile)},
		"oslo_middleware":  {"enable_proxy_headers_parsing": true},
		"oslo_concurrency": {"lock_path": "/tmp"},
	}
	for _, d := range s.Databases {
		c[d.Group] = s.DatabaseOptions(d.NoWsrepSyncWait)
	}
	if s.registered() {
		c[authToken] = s.tokenOptions()
	}
	for _, group := range s.extension.Keystone.Logins {
		c[group] = s.AuthOptions()
	}
	if s.Queue {
		c = c.Merge(QueueOptions(s.Spec.Queue, s.App, s.Effective))
	}
	return c
}

// DatabaseOptions returns the options of the group of a database.
func (b *Base) DatabaseOptions(noWsrepSyncWait bool) oslo.Options {
	o := oslo.Options{
		"max_retries": -1,
		// Time between attempts to connect, in seconds, during which a request waits. With oslo.db's default of ten, one
		// failed DNS lookup in a new pod delayed its first client beyond the client's timeout.
		"retry_interval":          1,
		"connection_recycle_time": 600,
	}
	if b.Spec.Database.Galera && !noWsrepSyncWait {
		// Reads from another member return data that was just written.
		o["mysql_wsrep_sync_wait"] = 1
	}
	return o
}

// CacheOptions returns the options of group [cache], for a service that caches computed data.
func (b *Base) CacheOptions() oslo.Options {
	return oslo.Options{
		"enabled": true,
		// memcache_pool tolerates a failed server; with dogpile.cache.pymemcache, every request would fail.
		"backend":          "oslo_cache.memcache_pool",
		"memcache_servers": b.cacheServers(),
	}
}

// cacheServers returns the servers as python-memcached reads them: without the prefix, it connects to IPv4 addresses only
// (https://github.com/linsomniac/python-memcached, _Host).
func (b *Base) cacheServers() []string {
	out := Strings(b.Spec.Cache.Servers)
	if b.Spec.IPFamily != common.IPv6 {
		return out
	}
	for i, server := range out {
		host, port, _ := strings.Cut(server, ":") // The type of the servers requires a port.
		out[i] = fmt.Sprintf("inet6:[%s]:%s", host, port)
	}
	return out
}

// tokenOptions returns the options that configure how the tokens of requests are validated. Expired tokens are accepted
// only from services.
func (b *Base) tokenOptions() oslo.Options {
	o := b.AuthOptions()
	o["www_authenticate_uri"] = string(b.Spec.Identity.PublicURL)
	o["interface"] = "internal"
	if region := b.lookupRegion(); region != "" {
		o["region_name"] = region
	}
	o["service_type"] = b.CatalogType
	o["memcached_servers"] = b.cacheServers()
	// The key is an environment variable of the pods that validate tokens (useCache).
	o["memcache_security_strategy"] = "ENCRYPT"
	o["service_token_roles"] = []string{common.ServiceRole}
	o["service_token_roles_required"] = true
	return o
}

// AuthOptions returns the options of a group with which the service logs in to Keystone as its own user. The credential
// itself is in environment variables (AuthEnv). It implies a project and roles, so options must not request others
// (https://docs.openstack.org/keystone/latest/user/application_credentials.html).
func (b *Base) AuthOptions() oslo.Options {
	return oslo.Options{
		"auth_type": "v3applicationcredential",
		"auth_url":  string(b.Spec.Identity.InternalURL),
		"cafile":    b.TrustedFile(),
	}
}

// AuthEnv returns the environment variables with the credential of an option group.
func (s *Service) AuthEnv(group string) []corev1.EnvVar {
	return []corev1.EnvVar{
		workload.SecretEnv(oslo.MustEnvName(group, credentialID), s.credentialSecret(), credentialID),
		workload.SecretEnv(oslo.MustEnvName(group, credentialSecret), s.credentialSecret(), credentialSecret),
	}
}

// Strings converts values of a string type to strings.
func Strings[S ~string](in []S) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}
