package wiring

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// Options and variables of programs that use memcached.
const (
	tokenGroup       = "keystone_authtoken"
	tokenLoginEnv    = "OS_KEYSTONE_AUTHTOKEN__APPLICATION_CREDENTIAL_ID" //nolint:gosec // a name, not a secret
	tokenKeyEnv      = "OS_KEYSTONE_AUTHTOKEN__MEMCACHE_SECRET_KEY"       //nolint:gosec // a name, not a secret
	cachePasswordEnv = "CACHE_PASSWORD"
	// clientModule replaces python-memcached, whose released version loads pickles of any writer, and djangoBackend Django's client.
	clientModule  = "memcache.py"
	djangoBackend = "sealedsessions.Cache"
)

// checkCaches checks that no program trusts the content of memcached, which does not authenticate writers: tokens are encrypted, and the
// clients load no pickles of other writers.
func (w *inventory) checkCaches() {
	for _, p := range w.pods {
		if p.spec == nil {
			continue
		}
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			mounts := w.mounts(p, c)
			for _, m := range mounts {
				switch path.Ext(m.path) {
				case ".conf":
					w.checkCacheOptions(p, c, mounts, m)
				case ".py":
					if !strings.Contains(m.value.content, "memcached-") {
						continue
					}
					if !strings.Contains(m.value.content, djangoBackend) || !fromSecret(c, cachePasswordEnv) {
						w.foundf("%s: container %s loads pickles of other writers by %s: it needs %s, and %s of a Secret.",
							p, c.Name, m.path, djangoBackend, cachePasswordEnv)
					}
				}
			}
		}
	}
}

func (w *inventory) checkCacheOptions(p *pod, c corev1.Container, mounts []mounted, m mounted) {
	options, err := oslo.Parse(m.value.content)
	if err != nil {
		return // checkOptions reports it.
	}
	_, cachesTokens := options[tokenGroup]["memcached_servers"]
	_, cachesData := options["cache"]["memcache_servers"]
	if cachesTokens && !slices.Equal(options[tokenGroup]["memcache_security_strategy"], []string{"ENCRYPT"}) {
		w.foundf("%s: container %s caches tokens that any writer can forge: %s has no memcache_security_strategy = ENCRYPT.", p, c.Name, m.path)
	}
	validates := cachesTokens && fromSecret(c, tokenLoginEnv)
	if validates && !fromSecret(c, tokenKeyEnv) {
		w.foundf("%s: container %s validates tokens without %s of a Secret.", p, c.Name, tokenKeyEnv)
	}
	if p.replicas == nil || !validates && !cachesData {
		return // Programs that run to completion do not reach the cache.
	}
	if !overridesModule(c, mounts, clientModule) || !fromSecret(c, cachePasswordEnv) {
		w.foundf("%s: container %s loads pickles of other writers: it needs %s in PYTHONPATH, and %s of a Secret.",
			p, c.Name, clientModule, cachePasswordEnv)
	}
}

// fromSecret reports whether a variable of a container is a value of a Secret.
func fromSecret(c corev1.Container, name string) bool {
	_, key := variable(c, namespaceRef{}, name)
	return key != ""
}

// overridesModule reports whether a container finds a mounted Python module before the released one.
func overridesModule(c corev1.Container, mounts []mounted, name string) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return e.Name == "PYTHONPATH" && slices.ContainsFunc(mounts, func(m mounted) bool { return m.path == path.Join(e.Value, name) })
	})
}
