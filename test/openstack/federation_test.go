//go:build openstack && linux

package openstack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	identityProvider = "https://keycloak.example.com/realms/cloud"
	protocol         = "/OS-FEDERATION/identity_providers/keycloak/protocols/openid"
	dashboard        = "https://dashboard.federated.tenant-a.example.com/auth/websso/"
)

// TestKeystoneFederation checks that a user of an OpenID Connect provider can log in through the proxy in each pod, on
// the command line and through a dashboard; and that no other client can claim an identity.
func TestKeystoneFederation(t *testing.T) {
	t.Parallel()
	provider, err := newIssuer(identityProvider, "keystone", "client secret: 100%")
	if err != nil {
		t.Fatal(err)
	}
	cloud := start(t, read(t, "federation.yaml"), func(o *Options) {
		o.Secrets = map[string]map[string][]byte{"keycloak-client": {"client-secret": []byte(provider.secret)}}
		o.Prepare = func(c *Cloud) error { return c.Operators.HTTPS("keycloak.example.com", provider.ServeHTTP) }
	})
	c := clientOf(t, cloud, true)
	federate(t, c)
	t.Run("Login", func(t *testing.T) { testLogin(t, cloud, c, provider) })
	t.Run("Dashboard", func(t *testing.T) { testDashboard(t, cloud, c) })
	t.Run("Forged", func(t *testing.T) { testForged(t, cloud) })
	t.Run("AccessToken", func(t *testing.T) { testAccessToken(t, cloud, c, provider) })
	t.Run("Passwords", func(t *testing.T) { testPasswords(t, cloud) })
	t.Run("Certificate", func(t *testing.T) { testFederatedCertificate(t, cloud) })
}

// federate registers the provider in Keystone, with the mapping of its users.
func federate(t *testing.T, c *Client) {
	t.Helper()
	a := adminOf(t, c)
	group := a.create("group", map[string]any{"name": "federated", "domain_id": "default"})
	project, role := a.named("projects", "name=admin&domain_id=default"), a.named("roles", "name=reader")
	a.do(http.MethodPut, "/projects/"+project+"/groups/"+group+"/roles/"+role, nil, nil)
	a.do(http.MethodPut, "/OS-FEDERATION/identity_providers/keycloak", map[string]any{"identity_provider": map[string]any{
		"enabled": true, "remote_ids": []string{identityProvider}, "domain_id": "default",
	}}, nil)
	a.do(http.MethodPut, "/OS-FEDERATION/mappings/keycloak", map[string]any{"mapping": map[string]any{"rules": []any{map[string]any{
		"local":  []any{map[string]any{"user": map[string]any{"name": "{0}"}, "group": map[string]any{"id": group}}},
		"remote": []any{map[string]any{"type": "HTTP_OIDC_PREFERRED_USERNAME"}},
	}}}}, nil)
	a.do(http.MethodPut, protocol, map[string]any{"protocol": map[string]any{"mapping_id": "keycloak"}}, nil)
}

// browser returns a client that keeps cookies and, if follow is set, follows redirects.
func browser(t *testing.T, c *Cloud, follow bool) *http.Client {
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

// page is the final response that a browser got.
type page struct {
	code     int
	status   string
	location *url.URL
	header   http.Header
	text     string
}

// visit returns the page at an address.
func visit(t *testing.T, b *http.Client, method, address, body string, header http.Header) page {
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
	return page{
		code: response.StatusCode, status: response.Status, location: response.Request.URL, header: response.Header, text: string(text),
	}
}

func testLogin(t *testing.T, cloud *Cloud, c *Client, provider *issuer) {
	answer := visit(t, browser(t, cloud, true), http.MethodGet, c.URL+protocol+"/auth", "", nil)
	token := answer.header.Get("X-Subject-Token")
	if answer.code != http.StatusCreated || token == "" {
		t.Fatalf("the login ends with %s at %s: %.500s", answer.status, answer.location, answer.text)
	}
	got, err := c.Validate(context.Background(), adminOf(t, c).token, token)
	if err != nil {
		t.Fatal(err)
	}
	if got.User.Name != "carol" {
		t.Errorf("the token is of %q, want carol", got.User.Name)
	}
	scoped, err := c.Issue(context.Background(), map[string]any{
		"identity": map[string]any{"methods": []string{"token"}, "token": map[string]any{"id": token}}, "scope": Project("admin", "Default"),
	})
	if err != nil {
		t.Fatalf("carol's group has a role in project admin, yet: %v", err)
	}
	if _, err := c.Validate(context.Background(), scoped, scoped); err != nil {
		t.Error(err)
	}
	if want := []string{"openid", "email", "profile"}; !slices.Equal(provider.scopes, want) {
		t.Errorf("the requested scopes are %v, want %v", provider.scopes, want)
	}
}

// testDashboard checks that a trusted dashboard gets the token, and another one does not.
func testDashboard(t *testing.T, cloud *Cloud, c *Client) {
	for origin, want := range map[string]int{dashboard: http.StatusOK, "https://elsewhere.example.com/": http.StatusUnauthorized} {
		address := strings.Replace(c.URL+protocol+"/websso?origin="+url.QueryEscape(origin), "/v3/OS-FEDERATION", "/v3/auth/OS-FEDERATION", 1)
		got := visit(t, browser(t, cloud, true), http.MethodGet, address, "", nil)
		if got.code != want {
			t.Errorf("origin %s: got %s at %s, want %d: %.500s", origin, got.status, got.location, want, got.text)
			continue
		}
		if want == http.StatusOK && (!strings.Contains(got.text, origin) || !strings.Contains(got.text, `name="token"`)) {
			t.Errorf("the form does not bring a token to the dashboard: %.500s", got.text)
		}
	}
}

// testForged checks that headers with a user's identity are only accepted from the proxy.
func testForged(t *testing.T, cloud *Cloud) {
	forged := http.Header{}
	for _, prefix := range []string{"OIDC-", "OIDC_"} {
		forged[prefix+"iss"] = []string{identityProvider}
		forged[prefix+"preferred_username"] = []string{"carol"}
	}
	forged.Set("Content-Type", "application/json")
	for _, public := range []bool{true, false} {
		c := clientOf(t, cloud, public)
		b := browser(t, cloud, false)
		if !public {
			secret, err := cloud.Operators.Secret(context.Background(), cloud.Namespace, "keystone-tls")
			if err != nil {
				t.Fatal(err)
			}
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(secret["ca.crt"])
			b.Transport.(*http.Transport).TLSClientConfig.RootCAs = pool
		}
		got := visit(t, b, http.MethodGet, c.URL+protocol+"/auth", "", forged)
		// Users log in at the public address, to which the provider redirects them: the proxy rejects others.
		if got.header.Get("X-Subject-Token") != "" || got.code < 300 ||
			(public && !strings.HasPrefix(got.header.Get("Location"), identityProvider)) {
			t.Errorf("forged headers at the login of %s: got %s to %q, want a redirect to the provider: %.300s",
				c.URL, got.status, got.header.Get("Location"), got.text)
		}
		const body = `{"auth":{"identity":{"methods":["mapped"],"mapped":{"identity_provider":"keycloak","protocol":"openid"}}}}`
		for _, b2 := range []string{body, strings.ReplaceAll(body, `"mapped"`, `"openid"`)} {
			got = visit(t, b, http.MethodPost, c.URL+"/auth/tokens", b2, forged)
			if got.code != http.StatusUnauthorized || got.header.Get("X-Subject-Token") != "" {
				t.Errorf("forged headers where tokens are given: got %s, want 401: %.300s", got.status, got.text)
			}
		}
	}
}

// testAccessToken checks that a command line can log in with an access token that the provider issued to this client;
// tokens of other clients, revoked tokens and forged ones are rejected.
func testAccessToken(t *testing.T, cloud *Cloud, c *Client, provider *issuer) {
	revoked := provider.access("keystone")
	for _, try := range []struct {
		reason, token string
		want          int
	}{
		{"its own", provider.access("keystone"), http.StatusCreated},
		{"not yet revoked", revoked, http.StatusCreated},
		{"another client's", provider.access("webshop"), http.StatusUnauthorized},
		{"nobody's", "made-up", http.StatusUnauthorized},
	} {
		header := http.Header{"Authorization": {"Bearer " + try.token}}
		got := visit(t, browser(t, cloud, false), http.MethodGet, c.URL+protocol+"/auth", "", header)
		token := got.header.Get("X-Subject-Token")
		if got.code != try.want || (token != "") != (try.want == http.StatusCreated) {
			t.Errorf("a token that is %s: got %s, want %d: %.300s", try.reason, got.status, try.want, got.text)
		}
		if token == "" {
			continue
		}
		if by, err := c.Validate(context.Background(), adminOf(t, c).token, token); err != nil || by.User.Name != "carol" {
			t.Errorf("the token is of %v (%v), want carol", by, err)
		}
	}
	provider.revoke(revoked)
	got := visit(t, browser(t, cloud, false), http.MethodGet, c.URL+protocol+"/auth", "", http.Header{"Authorization": {"Bearer " + revoked}})
	if got.code != http.StatusUnauthorized {
		t.Errorf("a revoked token: got %s, want 401", got.status)
	}
}

// testFederatedCertificate checks that a renewed certificate restarts the pods, and that no request fails. Tests of the
// function check that it restarts them when cert-manager reports the renewal.
func testFederatedCertificate(t *testing.T, cloud *Cloud) {
	c := clientOf(t, cloud, false)
	before := served(t, cloud, c)
	u, err := cloud.Operators.Find("Certificate.cert-manager.io", cloud.Namespace, "keystone-tls")
	if err != nil {
		t.Fatal(err)
	}
	d, err := cloud.Operators.Find("Deployment.apps", cloud.Namespace, "keystone")
	if err != nil {
		t.Fatal(err)
	}
	d = d.DeepCopy()
	path := []string{"spec", "template", "metadata", "annotations", "keystone.openstack.c5c3.io/certificate"}
	if err := unstructured.SetNestedField(d.Object, "2", path...); err != nil {
		t.Fatal(err)
	}
	load := NewLoad(context.Background(), c, 1)
	if err := cloud.Operators.Reconcile(context.Background(), []map[string]any{u.DeepCopy().Object, d.Object}); err != nil {
		t.Fatal(err)
	}
	err = cloud.Cluster.Wait(context.Background(), 3*time.Minute, "the renewed certificate", func(context.Context) (bool, error) {
		for range 4 { // every pod
			if served(t, cloud, c) == before {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, err := range load.Stop() {
		t.Error(err)
	}
	t.Log(load)
}

// testPasswords checks that users without a provider can still log in, at both addresses.
func testPasswords(t *testing.T, cloud *Cloud) {
	for _, public := range []bool{true, false} {
		c := clientOf(t, cloud, public)
		if _, err := c.Issue(context.Background(), c.Admin); err != nil {
			t.Errorf("%s: %v", c.URL, err)
		}
	}
}
