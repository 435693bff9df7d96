// Package gosdk replaces the SDK of a cloud that provider-kubernetes supports for logins and that this project does not use: the real SDK
// requires a module that public module proxies do not have. A login with it returns an error.
package gosdk

import (
	"context"
	"errors"

	"github.com/nebius/gosdk/auth"
)

// SDK is a client, which does not exist here.
type SDK struct{}

// Option is an option of New.
type Option struct{}

// Credentials are the credentials of a login.
type Credentials struct{}

// New returns no client: it always fails.
func New(context.Context, ...Option) (*SDK, error) {
	return nil, errors.New("this build of provider-kubernetes cannot log in to Nebius")
}

// BearerToken returns no token: it always fails.
func (*SDK) BearerToken(context.Context) (auth.BearerToken, error) {
	return auth.BearerToken{}, errors.New("this build of provider-kubernetes cannot log in to Nebius")
}

// WithCredentials is an option without an effect.
func WithCredentials(Credentials) Option { return Option{} }

// ServiceAccountReader returns empty credentials.
func ServiceAccountReader(auth.PrivateKeyParser) Credentials { return Credentials{} }
