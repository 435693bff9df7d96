package service

import (
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// authToken is the group of the middleware that checks the tokens of requests.
// https://docs.openstack.org/keystonemiddleware/latest/middlewarearchitecture.html#configuration-options
const authToken = "keystone_authtoken"

// ComputedOptions are the options that are not the tenant's: those that every service has, and the service's own.
func (s *Service) ComputedOptions() oslo.Config { return s.options().Merge(s.Options) }

// HasOption says whether the service has an option in the release that is in effect.
func (s *Service) HasOption(group, option string) bool {
	known, err := registry.For(s.App, string(s.Effective))
	return err == nil && len(known.Lookup(group, option)) > 0
}

// options are those that every service has, without secrets: those are environment variables.
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
	for _, group := range s.Logins {
		c[group] = s.AuthOptions()
	}
	if s.Queue {
		c = c.Merge(QueueOptions(s.Spec.Queue, s.App, s.Effective))
	}
	return c
}

// DatabaseOptions are those of the group of a database.
func (s *Service) DatabaseOptions(plain bool) oslo.Options {
	o := oslo.Options{
		"max_retries": -1,
		// A request waits so long for the next try to connect, in seconds. With the ten of oslo.db, one failed look-up of a name in a
		// new pod kept its first client waiting for longer than clients wait.
		"retry_interval":          1,
		"connection_recycle_time": 600,
	}
	if s.Spec.Database.Galera && !plain {
		// Reads on another member see what was just written.
		o["mysql_wsrep_sync_wait"] = 1
	}
	return o
}

// CacheOptions are those of the group [cache], for a service that keeps there what it has computed.
func (s *Service) CacheOptions() oslo.Options {
	return oslo.Options{
		"enabled": true,
		// memcache_pool survives a dead server; dogpile.cache.pymemcache answers nothing at all then.
		"backend":          "oslo_cache.memcache_pool",
		"memcache_servers": s.cacheServers(),
	}
}

func (s *Service) cacheServers() []string { return Strings(s.Spec.Cache.Servers) }

// tokenOptions say how the tokens of requests are checked. A token that outlives its request is taken from services only.
func (s *Service) tokenOptions() oslo.Options {
	o := s.AuthOptions()
	o["www_authenticate_uri"] = string(s.Spec.Identity.PublicURL)
	o["interface"] = "internal"
	if region := s.lookupRegion(); region != "" {
		o["region_name"] = region
	}
	o["service_type"] = s.CatalogType
	o["memcached_servers"] = s.cacheServers()
	o["service_token_roles"] = []string{common.ServiceRole}
	o["service_token_roles_required"] = true
	return o
}

// AuthOptions are those of every group by which the service logs in to Keystone, as its own user. The credential is an environment
// variable (AuthEnv). It has a project and roles, and nothing may ask for others
// (https://docs.openstack.org/keystone/latest/user/application_credentials.html).
func (s *Service) AuthOptions() oslo.Options {
	return oslo.Options{
		"auth_type": "v3applicationcredential",
		"auth_url":  string(s.Spec.Identity.InternalURL),
		"cafile":    s.TrustedFile(),
	}
}

// AuthEnv is the credential of a group by which the service logs in to Keystone.
func (s *Service) AuthEnv(group string) []corev1.EnvVar {
	return []corev1.EnvVar{
		workload.SecretEnv(oslo.MustEnvName(group, credentialID), s.credentialSecret(), credentialID),
		workload.SecretEnv(oslo.MustEnvName(group, credentialSecret), s.credentialSecret(), credentialSecret),
	}
}

// Strings are texts of a type of its own.
func Strings[S ~string](in []S) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}
