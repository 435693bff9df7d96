//go:build openstack && linux

package keystone

import (
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

const (
	// IdentityProvider is the address of the provider.
	IdentityProvider = "https://keycloak.example.com/realms/cloud"
	// ProtocolPath is the path of the provider's protocol in Keystone's API.
	ProtocolPath = "/OS-FEDERATION/identity_providers/keycloak/protocols/openid"
	dashboard    = "https://dashboard.federated.tenant-a.example.com/auth/websso/"
)

// Federate registers the provider in Keystone, with the mapping of its users.
func Federate(t *testing.T, c *clouds.Client) {
	t.Helper()
	a := harness.AdminOf(t, c)
	group := a.Create("group", map[string]any{"name": "federated", "domain_id": "default"})
	project, role := a.Named("projects", "name=admin&domain_id=default"), a.Named("roles", "name=reader")
	a.Do(http.MethodPut, "/projects/"+project+"/groups/"+group+"/roles/"+role, nil, nil)
	a.Do(http.MethodPut, "/OS-FEDERATION/identity_providers/keycloak", map[string]any{"identity_provider": map[string]any{
		"enabled": true, "remote_ids": []string{IdentityProvider}, "domain_id": "default",
	}}, nil)
	a.Do(http.MethodPut, "/OS-FEDERATION/mappings/keycloak", map[string]any{"mapping": map[string]any{"rules": []any{map[string]any{
		"local":  []any{map[string]any{"user": map[string]any{"name": "{0}"}, "group": map[string]any{"id": group}}},
		"remote": []any{map[string]any{"type": "HTTP_OIDC_PREFERRED_USERNAME"}},
	}}}}, nil)
	a.Do(http.MethodPut, ProtocolPath, map[string]any{"protocol": map[string]any{"mapping_id": "keycloak"}}, nil)
}

// Browser returns a client that keeps cookies and, if follow is set, follows redirects.
func Browser(t *testing.T, c *clouds.Cloud, follow bool) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	trusted := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: c.Operators.Public.Pool(), MinVersion: tls.VersionTLS12}, DialContext: c.Cluster.Dial,
	}
	b := &http.Client{Jar: jar, Transport: trusted}
	if !follow {
		b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return b
}

// Page is the final response that a browser got.
type Page struct {
	Code     int
	Status   string
	Location *url.URL
	Header   http.Header
	Text     string
}

// Visit returns the page at an address.
func Visit(t *testing.T, b *http.Client, method, address, body string, header http.Header) Page {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(request.Header, header)
	request.Header.Set("Accept", "text/html,*/*") // as browsers do; others get no redirect
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Page{
		Code: response.StatusCode, Status: response.Status, Location: response.Request.URL, Header: response.Header, Text: string(text),
	}
}
