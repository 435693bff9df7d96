//go:build openstack && linux

package harness

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
)

// Credential is an application credential from the Secret of a CredentialRotation.
type Credential struct{ ID, Secret string }

// EndpointOf returns the ID of the only endpoint of a service type.
func (a Admin) EndpointOf(kind string) string {
	a.t.Helper()
	var out struct{ Services []struct{ ID string } }
	a.Do(http.MethodGet, "/services?type="+kind, nil, &out)
	if len(out.Services) != 1 {
		a.t.Fatalf("%d services of type %s", len(out.Services), kind)
	}
	return a.Named("endpoints", "service_id="+out.Services[0].ID)
}

// CheckRoles fails unless a token has exactly these roles, including implied ones.
func CheckRoles(t *testing.T, c *clouds.Client, with, token string, want ...string) {
	t.Helper()
	got, err := c.Validate(context.Background(), with, token)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got.Roles {
		names = append(names, r.Name)
	}
	for _, name := range []string{"admin", "service"} {
		if slices.Contains(names, name) != slices.Contains(want, name) {
			t.Errorf("the token has roles %v, want %v", names, want)
		}
	}
}

// KeystoneClient returns a client of a cloud's Keystone, at its public or internal address.
func KeystoneClient(t testing.TB, c *clouds.Cloud, public bool) *clouds.Client {
	t.Helper()
	out, err := c.Client(context.Background(), public)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Admin is a client with the administrator's token.
type Admin struct {
	t      testing.TB
	Client *clouds.Client
	Token  string
}

// AdminOf returns a client with a token of the administrator.
func AdminOf(t testing.TB, c *clouds.Client) Admin {
	t.Helper()
	return Login(t, c, c.Admin)
}

// Login returns a client with the token of a login.
func Login(t testing.TB, c *clouds.Client, auth map[string]any) Admin {
	t.Helper()
	token, err := c.Issue(context.Background(), auth)
	if err != nil {
		t.Fatalf("cannot log in: %v", err)
	}
	return Admin{t: t, Client: c, Token: token}
}

// Try sends a request that may fail.
func (a Admin) Try(method, path string, in, out any) error {
	_, err := a.Client.Do(context.Background(), method, path, http.Header{"X-Auth-Token": {a.Token}}, in, out)
	return err
}

// Do sends a request that must succeed.
func (a Admin) Do(method, path string, in, out any) {
	a.t.Helper()
	if err := a.Try(method, path, in, out); err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// Named finds the single resource of a listing with a name: list is "projects", one of the API's plurals.
func (a Admin) Named(list, query string) string {
	a.t.Helper()
	out := map[string]any{}
	a.Do(http.MethodGet, "/"+list+"?"+query, nil, &out)
	items, _ := out[list].([]any)
	if len(items) != 1 {
		a.t.Fatalf("%d of %s fit %q, want 1", len(items), list, query)
	}
	id, _ := items[0].(map[string]any)["id"].(string)
	return id
}

// Create creates a resource: kind is "project", one of the API's singulars.
func (a Admin) Create(kind string, fields map[string]any) string {
	a.t.Helper()
	out := map[string]struct{ ID string }{}
	a.Do(http.MethodPost, "/"+kind+"s", map[string]any{kind: fields}, &out)
	return out[kind].ID
}

// CheckCollations checks that the tables of a service have the collation of its database unless the service sets another
// one, so that columns of all tables can be compared and can refer to each other.
func CheckCollations(t *testing.T, c *clouds.Cloud) {
	t.Helper()
	out, err := c.Operators.SQL(context.Background(), c.Namespace, "mariadb", "SELECT table_schema, table_name, column_name, collation_name\n"+
		"FROM information_schema.columns WHERE collation_name NOT IN ('utf8mb3_general_ci', 'utf8mb3_bin', 'utf8mb4_bin', 'latin1_swedish_ci')\n"+
		"AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out), "\n"); out != "" {
		t.Errorf("%d columns have other collations, the first one is %s", len(lines), lines[0])
	}
}
