// Package auth holds the types of logging in; see package gosdk.
package auth

// BearerToken is a token.
type BearerToken struct{ Token string }

// PrivateKeyParser reads a private key.
type PrivateKeyParser struct{}

// NewPrivateKeyParser reads nothing.
func NewPrivateKeyParser(_ []byte, _, _ string) PrivateKeyParser { return PrivateKeyParser{} }
