// Package external tests claims that use a database server, a Keystone or a message queue outside of their control plane.
package external
