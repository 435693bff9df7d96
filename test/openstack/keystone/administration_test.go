//go:build openstack && linux

package keystone

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// glance contains the Keystone objects of a service: a user with two roles, and a catalog entry with endpoints in the
// claim's region. Of K-ORC's objects, the first list has no dependencies; of the companion's, the second list depends
// on those.
const (
	glanceByKORC = `[
  {apiVersion: openstack.k-orc.cloud/v1alpha1, kind: User, metadata: {name: glance}, spec: {managementPolicy: managed, resource: {
    name: glance, domainRef: default, passwordRef: glance-password}}},
  {apiVersion: openstack.k-orc.cloud/v1alpha1, kind: Service, metadata: {name: glance}, spec: {managementPolicy: managed, resource: {
    name: glance, type: image}}},
  {apiVersion: openstack.k-orc.cloud/v1alpha1, kind: Endpoint, metadata: {name: glance-internal}, spec: {managementPolicy: managed, resource: {
    interface: internal, serviceRef: glance, url: "https://glance.example.com:9292"}}}]`
	glanceByCompanion = `[
  {apiVersion: openstack.c5c3.io/v1alpha1, kind: RoleAssignment, metadata: {name: glance-admin}, spec: {resource: {
    roleRef: admin, userRef: glance, projectRef: service}}},
  {apiVersion: openstack.c5c3.io/v1alpha1, kind: RoleAssignment, metadata: {name: glance-service}, spec: {resource: {
    roleRef: service, userRef: glance, projectRef: service}}},
  {apiVersion: openstack.c5c3.io/v1alpha1, kind: EndpointRegion, metadata: {name: glance-internal}, spec: {
    endpointRef: glance-internal, region: eu-de-1}}]`
)

// order applies objects in the cloud's namespace, with the administrator's login.
func order(t *testing.T, cloud *clouds.Cloud, text string) {
	t.Helper()
	if err := cloud.Operators.Reconcile(context.Background(), ordered(t, cloud, text)); err != nil {
		t.Fatal(err)
	}
}

func ordered(t *testing.T, cloud *clouds.Cloud, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		meta, _ := o["metadata"].(map[string]any)
		spec, _ := o["spec"].(map[string]any)
		meta["namespace"] = cloud.Namespace
		spec["cloudCredentialsRef"] = map[string]any{"secretName": "keystone-clouds", "cloudName": "admin"}
	}
	return list
}

// testKORC checks that an endpoint with another address is updated, in its region, and that a removed one is deleted,
// as if it had never existed.
func testKORC(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) {
	a := harness.AdminOf(t, c)
	id := a.EndpointOf("image")
	order(t, cloud, strings.Replace(glanceByKORC, "glance.example.com", "images.example.com", 1))
	var got struct{ Endpoint clouds.Endpoint }
	a.Do(http.MethodGet, "/endpoints/"+a.EndpointOf("image"), nil, &got)
	want := clouds.Endpoint{Interface: "internal", URL: "https://images.example.com:9292", Region: "eu-de-1"}
	if a.EndpointOf("image") != id || got.Endpoint != want {
		t.Errorf("the endpoint is %+v, want the same one at %+v", got.Endpoint, want)
	}
	if err := cloud.Operators.Remove(context.Background(), ordered(t, cloud, glanceByKORC)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/services?type=image", "/users?name=glance"} {
		var found map[string]any
		a.Do(http.MethodGet, path, nil, &found)
		for _, list := range found {
			if all, ok := list.([]any); ok && len(all) != 0 {
				t.Errorf("%s: %v is still there", path, all)
			}
		}
	}
}

// testServiceUser creates a service's objects of K-ORC and the companion: a user in the project service with two roles,
// and an application credential, which only that user can create. A removed role is assigned again; the role of a
// deleted object is removed.
func testServiceUser(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) {
	ctx := context.Background()
	if err := cloud.Operators.SetSecret(ctx, cloud.Namespace, "glance-password", map[string][]byte{"password": []byte("glance-password")}); err != nil {
		t.Fatal(err)
	}
	order(t, cloud, glanceByKORC)
	testRegionFilter(t, cloud, false)
	order(t, cloud, glanceByCompanion)
	testRegionFilter(t, cloud, true)

	a := harness.AdminOf(t, c)
	auth := clouds.Password("glance", "Default", "glance-password", clouds.Project("service", "Default"))
	token, err := c.Issue(ctx, auth)
	if err != nil {
		t.Fatalf("the user cannot log in: %v", err)
	}
	harness.CheckRoles(t, c, a.Token, token, "admin", "service")
	testApplicationCredential(t, c, a)

	keystone, err := cloud.Operators.Identity(ctx, cloud.Namespace, "keystone-clouds", "admin")
	if err != nil {
		t.Fatal(err)
	}
	assignment := &openstackv1.RoleAssignment{}
	if err := cloud.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: cloud.Namespace, Name: "glance-admin"}, assignment); err != nil {
		t.Fatal(err)
	}
	is := *assignment.Status.Resource
	if err := roles.Unassign(ctx, keystone, is.RoleID, roles.UnassignOpts{UserID: is.UserID, ProjectID: is.ProjectID}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	a.Do(http.MethodPatch, "/endpoints/"+a.EndpointOf("image"), map[string]any{"endpoint": map[string]any{"region_id": nil}}, nil)
	testRegionFilter(t, cloud, false)
	holds := func() bool {
		return roles.Validate(ctx, keystone, is.RoleID, roles.ValidateOpts{UserID: is.UserID, ProjectID: is.ProjectID}).ExtractErr() == nil
	}
	if holds() {
		t.Error("the role was taken away, and is still given")
	}
	wait := func(label string, condition func() bool) {
		t.Helper()
		cloud.Operators.Forward(10 * time.Minute)
		if err := cloud.Cluster.Wait(ctx, time.Minute, label, func(context.Context) (bool, error) { return condition(), nil }); err != nil {
			t.Error(err)
		}
	}
	wait("the role that was taken away", holds)
	wait("the region that was taken away", func() bool { return findsGlance(t, cloud) == nil })
	if err := cloud.Cluster.Client.Delete(ctx, assignment); err != nil {
		t.Fatal(err)
	}
	wait("the end of the role", func() bool { return !holds() })
	if token, err = c.Issue(ctx, auth); err != nil {
		t.Fatalf("the user cannot log in by the role that is left: %v", err)
	}
	harness.CheckRoles(t, c, a.Token, token, "service")
}

// findsGlance looks up the image service in the claim's region, as a client with a new token does.
func findsGlance(t *testing.T, cloud *clouds.Cloud) error {
	t.Helper()
	keystone, err := cloud.Operators.Identity(context.Background(), cloud.Namespace, "keystone-clouds", "admin")
	if err != nil {
		return err
	}
	found, err := keystone.EndpointLocator(gophercloud.EndpointOpts{
		Type: "image", Region: "eu-de-1", Availability: gophercloud.AvailabilityInternal,
	})
	if err == nil && found != "https://glance.example.com:9292/" {
		t.Errorf("the endpoint is %s", found)
	}
	return err
}

// testRegionFilter checks that a client with a region finds K-ORC's endpoint exactly if it was created in the region.
func testRegionFilter(t *testing.T, cloud *clouds.Cloud, found bool) {
	t.Helper()
	err := findsGlance(t, cloud)
	var missing *gophercloud.ErrEndpointNotFound
	if found && err != nil || !found && !errors.As(err, &missing) {
		t.Errorf("a client with a region: %v, expected to find the endpoint: %v", err, found)
	}
}

// testLive checks that the companion reports whether Keystone issues tokens, and the version of its API.
func testLive(t *testing.T, cloud *clouds.Cloud) {
	check := &openstackv1.IdentityCheck{}
	if err := cloud.Cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: cloud.Namespace, Name: "keystone"}, check); err != nil {
		t.Fatal(err)
	}
	s := check.Status
	if !apimeta.IsStatusConditionTrue(s.Conditions, "Reachable") || s.APIVersion != "v3.14" || s.LastToken == nil || time.Since(s.LastToken.Time) > time.Hour {
		t.Errorf("%+v", s)
	}
	for _, c := range []string{"PublicReachable", "LockoutExempt"} {
		if !apimeta.IsStatusConditionTrue(s.Conditions, c) {
			t.Errorf("%s: %+v", c, s.Conditions)
		}
	}
}

// testLockout locks users out after two failed logins. Any client may fail to log in as the administrator, whose name
// is known, and the companion must continue to log in; also after the option that protects it was removed, and before
// it was used.
func testLockout(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) {
	ctx := context.Background()
	fail := func(user string) {
		t.Helper()
		for range 6 {
			if _, err := c.Issue(ctx, clouds.Password(user, "Default", "wrong", nil)); clouds.StatusOf(err) != http.StatusUnauthorized {
				t.Errorf("a wrong password: %v", err)
			}
		}
	}
	a := harness.AdminOf(t, c)
	id := a.Create("user", map[string]any{"name": "locked-out", "domain_id": "default", "password": "right-password"})
	fail("locked-out")
	if _, err := c.Issue(ctx, clouds.Password("locked-out", "Default", "right-password", nil)); clouds.StatusOf(err) != http.StatusUnauthorized {
		t.Errorf("no user is locked out, so that this test has no effect: %v", err)
	}
	a.Do(http.MethodDelete, "/users/"+id, nil, nil)
	fail("root")
	a = harness.AdminOf(t, c)

	const option = "ignore_lockout_failure_attempts"
	root := a.Named("users", "name=root&domain_id=default")
	a.Do(http.MethodPatch, "/users/"+root, map[string]any{"user": map[string]any{"options": map[string]any{option: nil}}}, nil)
	cloud.Operators.Forward(2 * time.Minute)
	err := cloud.Cluster.Wait(ctx, 2*time.Minute, "the option", func(context.Context) (bool, error) {
		var out struct {
			User struct {
				Options map[string]any `json:"options"`
			} `json:"user"`
		}
		err := a.Try(http.MethodGet, "/users/"+root, nil, &out)
		return out.User.Options[option] == true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	fail("root")
	harness.AdminOf(t, c)
}
