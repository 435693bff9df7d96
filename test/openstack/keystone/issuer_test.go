//go:build openstack && linux

package keystone

import (
	"crypto/rand"
)

// access issues an access token for carol to a client, as for a command line.
func (i *Issuer) access(client string) string {
	token := rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tokens[token] = client
	return token
}

// revoke revokes an access token.
func (i *Issuer) revoke(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.tokens, token)
}
