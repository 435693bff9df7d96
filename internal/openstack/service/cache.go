package service

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/cache"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

const (
	// cacheGroup is the option group of oslo.cache.
	cacheGroup = "cache"
	// cacheModules is the folder of the modules that encrypt the entries of the cache, in the folder of the service.
	cacheModules = "python"
)

// CacheAccount returns the password of the entries that the service writes into the cache. Each service has its own, so that none can
// write entries of another.
func (b *Base) CacheAccount() Account {
	return Account{Resource: "cache", Secret: b.Sub("cache"), User: b.App, Replaceable: true}
}

// CacheEnv returns the environment variable with this password, for modules of package cache.
func (b *Base) CacheEnv() corev1.EnvVar {
	return workload.SecretEnv(cache.PasswordEnv, b.CacheAccount().Secret, secret.PasswordKey)
}

// cachesData reports whether all pods use the cache for computed data.
func (s *Service) cachesData() bool { return len(s.extension.Config.Options[cacheGroup]) > 0 }

// usesCache reports whether pods of the service use python-memcached.
func (s *Service) usesCache() bool { return s.registered() || s.cachesData() }

// useCache adds the client of the cache to a pod that uses it: for computed data, and for tokens if it validates them.
func (s *Service) useCache(c *corev1.Container, validatesTokens bool) {
	validatesTokens = validatesTokens && s.registered()
	if !validatesTokens && !s.cachesData() {
		return
	}
	for _, module := range slices.Sorted(maps.Keys(cache.Modules())) {
		c.VolumeMounts = append(c.VolumeMounts, workload.MountFile("config", s.Path(cacheModules, module), module))
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: "PYTHONPATH", Value: s.Path(cacheModules)}, s.CacheEnv())
	if validatesTokens {
		c.Env = append(c.Env, workload.SecretEnv(oslo.MustEnvName(authToken, "memcache_secret_key"), s.CacheAccount().Secret, secret.PasswordKey))
	}
}
