// Package barbican tests a real Barbican: secrets, orders, and the rotation of key-encryption keys.
package barbican
