//go:build openstack && linux

package keystone

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestKeystoneServesUsersAndServices checks that a Keystone with two pods serves tokens, the catalog, the tenant's options and rules and a
// directory's users, and that the companion rotates its keys.
func TestKeystoneServesUsersAndServices(t *testing.T) {
	t.Parallel()
	authority, err := pki.New("directory")
	if err != nil {
		t.Fatal(err)
	}
	server, err := authority.Issue(pki.Subject{Hosts: []string{directoryHost}})
	if err != nil {
		t.Fatal(err)
	}
	c := harness.Start(t, harness.Read(t, "full.yaml"), func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{"ldap-employees": {"password": []byte(directoryPassword), "ca.crt": authority.Certificate}}
		o.Prepare = func(c *clouds.Cloud) error { return directory(t, c, server.Certificate, server.Key) }
	})
	internal, public := harness.KeystoneClient(t, c, false), harness.KeystoneClient(t, c, true)
	t.Run("Tokens", func(t *testing.T) { testTokens(t, internal, public) })
	t.Run("Catalog", func(t *testing.T) { testCatalog(t, internal, public) })
	t.Run("Collations", func(t *testing.T) { harness.CheckCollations(t, c) })
	t.Run("ParallelWriters", func(t *testing.T) { testParallelWriters(t, c) })
	t.Run("Live", func(t *testing.T) { testLive(t, c) })
	t.Run("Lockout", func(t *testing.T) { testLockout(t, c, internal) })
	t.Run("ServiceUser", func(t *testing.T) { testServiceUser(t, c, internal) })
	t.Run("KORC", func(t *testing.T) { testKORC(t, c, internal) })
	t.Run("Policy", func(t *testing.T) { testPolicy(t, internal) })
	t.Run("Options", func(t *testing.T) { testOptions(t, internal) })
	t.Run("TrustFlush", func(t *testing.T) { testTrustFlush(t, c) })
	t.Run("Certificate", func(t *testing.T) { testCertificate(t, c, internal) })
	t.Run("Directory", func(t *testing.T) { testDirectory(t, internal) })
	t.Run("FernetKeys", func(t *testing.T) { testFernetKeys(t, c, internal) })
	t.Run("CredentialKeys", func(t *testing.T) { testCredentialKeys(t, c, internal) })
	t.Run("CatalogAccess", func(t *testing.T) { testCatalogAccess(t, c, internal) })
}

func testTokens(t *testing.T, internal, public *clouds.Client) {
	for name, issuer := range map[string]*clouds.Client{"internal": internal, "public": public} {
		token, err := issuer.Issue(context.Background(), issuer.Admin)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for other, validator := range map[string]*clouds.Client{"internal": internal, "public": public} {
			got, err := validator.Validate(context.Background(), token, token)
			if err != nil {
				t.Fatalf("token of the %s address at the %s one: %v", name, other, err)
			}
			if got.User.Name != "root" || got.Project.Name != "admin" {
				t.Errorf("the token is of user %q in project %q, want root in admin", got.User.Name, got.Project.Name)
			}
		}
	}
	wrong := clouds.Password("root", "Default", "wrong", clouds.Project("admin", "Default"))
	if _, err := internal.Issue(context.Background(), wrong); clouds.StatusOf(err) != http.StatusUnauthorized {
		t.Errorf("a wrong password: got %v, want 401", err)
	}
	if _, err := public.Do(context.Background(), http.MethodGet, "/../healthcheck", nil, nil, nil); err != nil {
		t.Errorf("the public address has no health check: %v", err)
	}
}

func testCatalog(t *testing.T, internal, public *clouds.Client) {
	token, err := internal.Issue(context.Background(), internal.Admin)
	if err != nil {
		t.Fatal(err)
	}
	got, err := internal.Validate(context.Background(), token, token)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Catalog) != 1 {
		t.Fatalf("the catalog has %d services, want 1: %+v", len(got.Catalog), got.Catalog)
	}
	service := got.Catalog[0]
	slices.SortFunc(service.Endpoints, func(a, b clouds.Endpoint) int { return len(a.Interface) - len(b.Interface) })
	if diff := cmp.Diff([]clouds.Endpoint{
		{Interface: "public", URL: public.URL, Region: "eu-de-1"},
		{Interface: "internal", URL: internal.URL, Region: "eu-de-1"},
	}, service.Endpoints); service.Type != "identity" || service.Name != "keystone" || diff != "" {
		t.Errorf("service %s of type %s (-want +got):\n%s", service.Name, service.Type, diff)
	}
	// The links in Keystone's version document lead to the requested host.
	for name, c := range map[string]*clouds.Client{"internal": internal, "public": public} {
		var version struct {
			Version struct {
				ID    string
				Links []struct{ Rel, Href string }
			}
		}
		if _, err := c.Do(context.Background(), http.MethodGet, "", nil, nil, &version); err != nil {
			t.Fatal(err)
		}
		if len(version.Version.Links) == 0 || version.Version.Links[0].Href != c.URL+"/" {
			t.Errorf("%s: the version document links to %+v, want %s/", name, version.Version.Links, c.URL)
		}
	}
}

// testApplicationCredential checks that a service user can create an application credential, which an administrator can
// revoke.
func testApplicationCredential(t *testing.T, c *clouds.Client, a harness.Admin) {
	t.Helper()
	user := a.Named("users", "name=glance&domain_id=default")
	var roles []map[string]any
	for _, name := range []string{"admin", "service"} {
		roles = append(roles, map[string]any{"id": a.Named("roles", "name="+name)})
	}
	glance := harness.Login(t, c, clouds.Password("glance", "Default", "glance-password", clouds.Project("service", "Default")))
	var credential struct {
		ApplicationCredential struct{ ID, Secret string } `json:"application_credential"`
	}
	glance.Do(http.MethodPost, "/users/"+user+"/application_credentials",
		map[string]any{"application_credential": map[string]any{"name": "one", "roles": roles}}, &credential)
	created := credential.ApplicationCredential
	token, err := c.Issue(context.Background(), clouds.ApplicationCredential(created.ID, created.Secret))
	if err != nil {
		t.Fatal(err)
	}
	harness.CheckRoles(t, c, a.Token, token, "admin", "service")
	got, err := c.Validate(context.Background(), a.Token, token)
	if err != nil {
		t.Fatal(err)
	}
	if got.Project.Name != "service" || got.User.Name != "glance" {
		t.Errorf("the application credential is of %s in %s, want glance in service", got.User.Name, got.Project.Name)
	}
	if err := a.Try(http.MethodDelete, "/users/"+user+"/application_credentials/"+created.ID, nil, nil); err != nil {
		t.Errorf("the administrator cannot revoke it: %v", err)
	}
	if _, err := c.Issue(context.Background(), clouds.ApplicationCredential(created.ID, created.Secret)); clouds.StatusOf(err) != http.StatusUnauthorized && clouds.StatusOf(err) != http.StatusNotFound {
		t.Errorf("a revoked application credential: got %v, want a refusal", err)
	}
}

// testPolicy checks that the claim's rule permits the role auditor to list projects, which Keystone's defaults do not.
func testPolicy(t *testing.T, c *clouds.Client) {
	a := harness.AdminOf(t, c)
	project := a.Named("projects", "name=admin&domain_id=default")
	a.Create("role", map[string]any{"name": "auditor"})
	for role, want := range map[string]int{"auditor": 0, "member": http.StatusForbidden} {
		user := a.Create("user", map[string]any{"name": "is-" + role, "domain_id": "default", "password": "password"})
		a.Do(http.MethodPut, "/projects/"+project+"/users/"+user+"/roles/"+a.Named("roles", "name="+role), nil, nil)
		err := harness.Login(t, c, clouds.Password("is-"+role, "Default", "password", clouds.Project("admin", "Default"))).Try(http.MethodGet, "/projects", nil, nil)
		if clouds.StatusOf(err) != want || (want == 0 && err != nil) {
			t.Errorf("role %s lists projects: got %v, want status %d", role, err, want)
		}
	}
}

// testOptions checks that users are locked out after two failures, as the claim configures.
func testOptions(t *testing.T, c *clouds.Client) {
	harness.AdminOf(t, c).Create("user", map[string]any{"name": "forgetful", "domain_id": "default", "password": "right"})
	for _, password := range []string{"wrong", "wrong", "right"} {
		_, err := c.Issue(context.Background(), clouds.Password("forgetful", "Default", password, nil))
		if clouds.StatusOf(err) != http.StatusUnauthorized {
			t.Errorf("password %s: got %v, want 401", password, err)
		}
	}
}

// testDirectory checks that users of the directory can log in if the filter matches them. K-ORC has created their
// domain after Keystone's start, and so Keystone's pods were replaced: they read the file of a domain only at their
// start, if the domain exists.
func testDirectory(t *testing.T, c *clouds.Client) {
	a := harness.AdminOf(t, c)
	domain := a.Named("domains", "name=employees")
	for name, want := range map[string]int{"alice": 0, "bob": http.StatusUnauthorized} {
		_, err := c.Issue(context.Background(), clouds.Password(name, "employees", name+"-password", nil))
		if clouds.StatusOf(err) != want || (want == 0 && err != nil) {
			t.Errorf("%s logs in: got %v, want status %d", name, err, want)
		}
	}
	a.Named("users", "domain_id="+domain)
	a.Named("groups", "domain_id="+domain)
}
