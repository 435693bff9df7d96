// Package gosdk stands in for the SDK of a cloud that provider-kubernetes can log in to and we never do: the real one needs a
// module that public module proxies do not have. Whoever asks for that login is told that it is not there.
package gosdk

import (
	"context"
	"errors"

	"github.com/nebius/gosdk/auth"
)

// SDK is a client, of which there is none.
type SDK struct{}

// Option is an option of New.
type Option struct{}

// Credentials say who logs in.
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
