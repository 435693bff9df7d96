// Package cache contains the Python modules with which OpenStack's services use memcached. memcached authenticates no client, and the
// released clients load pickles, so a writer would run code in every service. These modules encrypt and authenticate each entry.
package cache

import (
	_ "embed"
)

// PasswordEnv is the environment variable with the password of the entries.
const PasswordEnv = "CACHE_PASSWORD"

var (
	//go:embed sealedcache.py
	sealed string
	//go:embed memcache.py
	client string
	//go:embed sealedsessions.py
	sessions string
)

// Backend is the class of Django's cache, in a module of DjangoModules.
const Backend = "sealedsessions.Cache"

// Modules returns the modules for programs that use python-memcached, directly or through oslo.cache and keystonemiddleware. Their folder
// must be in PYTHONPATH, so that memcache.py is found before the released module.
func Modules() map[string]string {
	return map[string]string{"sealedcache.py": sealed, "memcache.py": client}
}

// DjangoModules returns the modules for programs that use Django.
func DjangoModules() map[string]string {
	return map[string]string{"sealedcache.py": sealed, "sealedsessions.py": sessions}
}
