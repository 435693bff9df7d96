// Package keystone tests a real Keystone: tokens, catalog, roles, keys, directories, federation, and upgrades under load.
package keystone
