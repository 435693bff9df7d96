//go:build openstack && linux

package keystone

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestKeystoneFederation checks that a user of an OpenID Connect provider can log in through the proxy in each pod, on
// the command line and through a dashboard; and that no other client can claim an identity.
func TestKeystoneFederation(t *testing.T) {
	t.Parallel()
	provider, err := NewIssuer(IdentityProvider, "keystone", "client secret: 100%")
	if err != nil {
		t.Fatal(err)
	}
	cloud := harness.Start(t, harness.Read(t, "federation.yaml"), func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{"keycloak-client": {"client-secret": []byte(provider.Secret)}}
		o.Prepare = func(c *clouds.Cloud) error { return c.Operators.HTTPS("keycloak.example.com", provider.ServeHTTP) }
	})
	c := harness.KeystoneClient(t, cloud, true)
	Federate(t, c)
	t.Run("Login", func(t *testing.T) { testLogin(t, cloud, c, provider) })
	t.Run("Dashboard", func(t *testing.T) { testDashboard(t, cloud, c) })
	t.Run("Forged", func(t *testing.T) { testForged(t, cloud) })
	t.Run("AccessToken", func(t *testing.T) { testAccessToken(t, cloud, c, provider) })
	t.Run("Passwords", func(t *testing.T) { testPasswords(t, cloud) })
	t.Run("Certificate", func(t *testing.T) { testFederatedCertificate(t, cloud) })
}

func testLogin(t *testing.T, cloud *clouds.Cloud, c *clouds.Client, provider *Issuer) {
	answer := Visit(t, Browser(t, cloud, true), http.MethodGet, c.URL+ProtocolPath+"/auth", "", nil)
	token := answer.Header.Get("X-Subject-Token")
	if answer.Code != http.StatusCreated || token == "" {
		t.Fatalf("the login ends with %s at %s: %.500s", answer.Status, answer.Location, answer.Text)
	}
	got, err := c.Validate(context.Background(), harness.AdminOf(t, c).Token, token)
	if err != nil {
		t.Fatal(err)
	}
	if got.User.Name != "carol" {
		t.Errorf("the token is of %q, want carol", got.User.Name)
	}
	scoped, err := c.Issue(context.Background(), map[string]any{
		"identity": map[string]any{"methods": []string{"token"}, "token": map[string]any{"id": token}}, "scope": clouds.Project("admin", "Default"),
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
func testDashboard(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) {
	for origin, want := range map[string]int{dashboard: http.StatusOK, "https://elsewhere.example.com/": http.StatusUnauthorized} {
		address := strings.Replace(c.URL+ProtocolPath+"/websso?origin="+url.QueryEscape(origin), "/v3/OS-FEDERATION", "/v3/auth/OS-FEDERATION", 1)
		got := Visit(t, Browser(t, cloud, true), http.MethodGet, address, "", nil)
		if got.Code != want {
			t.Errorf("origin %s: got %s at %s, want %d: %.500s", origin, got.Status, got.Location, want, got.Text)
			continue
		}
		if want == http.StatusOK && (!strings.Contains(got.Text, origin) || !strings.Contains(got.Text, `name="token"`)) {
			t.Errorf("the form does not bring a token to the dashboard: %.500s", got.Text)
		}
	}
}

// testForged checks that headers with a user's identity are only accepted from the proxy.
func testForged(t *testing.T, cloud *clouds.Cloud) {
	forged := http.Header{}
	for _, prefix := range []string{"OIDC-", "OIDC_"} {
		forged[prefix+"iss"] = []string{IdentityProvider}
		forged[prefix+"preferred_username"] = []string{"carol"}
	}
	forged.Set("Content-Type", "application/json")
	for _, public := range []bool{true, false} {
		c := harness.KeystoneClient(t, cloud, public)
		b := Browser(t, cloud, false)
		if !public {
			secret, err := cloud.Operators.Secret(context.Background(), cloud.Namespace, "keystone-tls")
			if err != nil {
				t.Fatal(err)
			}
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(secret["ca.crt"])
			b.Transport.(*http.Transport).TLSClientConfig.RootCAs = pool
		}
		got := Visit(t, b, http.MethodGet, c.URL+ProtocolPath+"/auth", "", forged)
		// Users log in at the public address, to which the provider redirects them: the proxy rejects others.
		if got.Header.Get("X-Subject-Token") != "" || got.Code < 300 ||
			(public && !strings.HasPrefix(got.Header.Get("Location"), IdentityProvider)) {
			t.Errorf("forged headers at the login of %s: got %s to %q, want a redirect to the provider: %.300s",
				c.URL, got.Status, got.Header.Get("Location"), got.Text)
		}
		const body = `{"auth":{"identity":{"methods":["mapped"],"mapped":{"identity_provider":"keycloak","protocol":"openid"}}}}`
		for _, b2 := range []string{body, strings.ReplaceAll(body, `"mapped"`, `"openid"`)} {
			got = Visit(t, b, http.MethodPost, c.URL+"/auth/tokens", b2, forged)
			if got.Code != http.StatusUnauthorized || got.Header.Get("X-Subject-Token") != "" {
				t.Errorf("forged headers where tokens are given: got %s, want 401: %.300s", got.Status, got.Text)
			}
		}
	}
}

// testAccessToken checks that a command line can log in with an access token that the provider issued to this client;
// tokens of other clients, revoked tokens and forged ones are rejected.
func testAccessToken(t *testing.T, cloud *clouds.Cloud, c *clouds.Client, provider *Issuer) {
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
		got := Visit(t, Browser(t, cloud, false), http.MethodGet, c.URL+ProtocolPath+"/auth", "", header)
		token := got.Header.Get("X-Subject-Token")
		if got.Code != try.want || (token != "") != (try.want == http.StatusCreated) {
			t.Errorf("a token that is %s: got %s, want %d: %.300s", try.reason, got.Status, try.want, got.Text)
		}
		if token == "" {
			continue
		}
		if by, err := c.Validate(context.Background(), harness.AdminOf(t, c).Token, token); err != nil || by.User.Name != "carol" {
			t.Errorf("the token is of %v (%v), want carol", by, err)
		}
	}
	provider.revoke(revoked)
	got := Visit(t, Browser(t, cloud, false), http.MethodGet, c.URL+ProtocolPath+"/auth", "", http.Header{"Authorization": {"Bearer " + revoked}})
	if got.Code != http.StatusUnauthorized {
		t.Errorf("a revoked token: got %s, want 401", got.Status)
	}
}

// testFederatedCertificate checks that a renewed certificate restarts the pods, and that no request fails. Tests of the
// function check that it restarts them when cert-manager reports the renewal.
func testFederatedCertificate(t *testing.T, cloud *clouds.Cloud) {
	c := harness.KeystoneClient(t, cloud, false)
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
func testPasswords(t *testing.T, cloud *clouds.Cloud) {
	for _, public := range []bool{true, false} {
		c := harness.KeystoneClient(t, cloud, public)
		if _, err := c.Issue(context.Background(), c.Admin); err != nil {
			t.Errorf("%s: %v", c.URL, err)
		}
	}
}
