//go:build node && linux

package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// Namespaces and passwords of the example of identity as code (docs/identity-as-code.md).
const (
	administration = "acme-administration"
	tenant         = "acme-identity"
	firstPassword  = "first-password-of-acme"
	ownPassword    = "own-password-of-acme"
	deployPassword = "password-of-the-deployer"
)

// testIdentity checks that the objects of examples/identity are created in Keystone, with logins other than the
// administrator's, and that their permissions are limited to the domain.
func testIdentity(ctx context.Context, t *testing.T, namespace string, c *cloud) {
	manageDomains(ctx, t, namespace)
	prepareIdentity(ctx, t, namespace, c)
	administrator, people := exampleObjects(t, "identity/administrator.yaml"), exampleObjects(t, "identity/tenant.yaml")
	for _, objects := range [][]*unstructured.Unstructured{administrator, people, companions(ctx, t, namespace)} {
		for _, o := range objects {
			apply(ctx, t, o)
		}
	}
	available(ctx, t, slices.Concat(administrator, people))

	manager := c.as(ctx, t, "acme-manager", firstPassword, &gophercloud.AuthScope{DomainName: "acme"})
	if err := users.ChangePassword(ctx, manager, userOf(ctx, t, manager), users.ChangePasswordOpts{
		OriginalPassword: firstPassword, Password: ownPassword,
	}).ExtractErr(); err != nil {
		t.Fatalf("he cannot set a password of his own: %v", err)
	}
	secretIn(ctx, t, tenant, "manager", domainClouds(c, ownPassword), secret(ctx, t, namespace, "keystone-tls")["ca.crt"])
	later := people[slices.IndexFunc(people, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Project" })].DeepCopy()
	later.SetName("later")
	apply(ctx, t, later)
	available(ctx, t, []*unstructured.Unstructured{later})

	manager = c.as(ctx, t, "acme-manager", ownPassword, &gophercloud.AuthScope{DomainName: "acme"})
	t.Run("Deployer", func(t *testing.T) { testDeployer(ctx, t, c) })
	t.Run("Limits", func(t *testing.T) { testDomainLimits(ctx, t, manager) })
	t.Run("Rights", func(t *testing.T) { testIdentityRights(ctx, t, namespace) })
	t.Run("Delete", func(t *testing.T) { testDeleteIdentity(ctx, t, c, append(people, later), administrator) })
}

// manageDomains enables the management of domains as code: it adds the policy rules of the example's claim, and waits
// until Keystone has them.
func manageDomains(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	rules, found, err := unstructured.NestedMap(decode(t, "../../examples/identity/claim.yaml").Object, "spec", "services", "keystone", "policy")
	if err != nil || !found {
		t.Fatalf("the example's claim has no rules: %v", err)
	}
	desired := decode(t, "../../examples/controlplane/development.yaml")
	if err := unstructured.SetNestedMap(desired.Object, rules, "spec", "services", "keystone", "policy"); err != nil {
		t.Fatal(err)
	}
	apply(ctx, t, desired)
	eventually(ctx, t, 3*time.Minute, func() error {
		d := &appsv1.Deployment{}
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "keystone"}, d); err != nil {
			return err
		}
		if s := d.Status; s.ObservedGeneration < d.Generation || s.UpdatedReplicas < s.Replicas || s.AvailableReplicas < s.Replicas {
			return fmt.Errorf("Keystone rolls out: %+v", s)
		}
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.ConfigMap == nil {
				continue
			}
			files := &corev1.ConfigMap{}
			if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v.ConfigMap.Name}, files); err != nil {
				return err
			}
			if strings.Contains(files.Data["policy.yaml"], "identity:get_group") {
				return nil
			}
		}
		return errors.New("Keystone has no rules of ours")
	})
}

// exampleObjects returns the objects of a file of the examples, without namespaces, which exist already.
func exampleObjects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := examples.Files.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := platform.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
}

// prepareIdentity creates the namespaces and the logins as documented: an application credential of the administrator,
// and an initial password for the manager of the domain.
func prepareIdentity(ctx context.Context, t *testing.T, namespace string, c *cloud) {
	t.Helper()
	for _, name := range []string{administration, tenant} {
		if err := cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	created, err := applicationcredentials.Create(ctx, c.identity, userOf(ctx, t, c.identity), applicationcredentials.CreateOpts{
		Name: "identity-as-code", Roles: []applicationcredentials.Role{{Name: "admin"}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	authority := secret(ctx, t, namespace, "keystone-tls")["ca.crt"]
	secretIn(ctx, t, administration, "administrator", fmt.Sprintf(`clouds:
  administrator:
    auth_type: v3applicationcredential
    auth:
      auth_url: %s
      application_credential_id: %s
      application_credential_secret: %s
    identity_api_version: 3
    interface: internal
    endpoint_type: internal
`, c.url, created.ID, created.Secret), authority)
	secretIn(ctx, t, tenant, "manager", domainClouds(c, firstPassword), authority)
	for name, in := range map[string][2]string{"acme-manager": {administration, firstPassword}, "deployer": {tenant, deployPassword}} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: in[0], Name: name}, StringData: map[string]string{"password": in[1]}}
		if err := cluster.Client.Create(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
}

// domainClouds returns the clouds.yaml of the domain's manager.
func domainClouds(c *cloud, password string) string {
	return fmt.Sprintf(`clouds:
  acme:
    auth:
      auth_url: %s
      username: acme-manager
      password: %q
      user_domain_name: acme
      domain_name: acme
    identity_api_version: 3
    interface: internal
    endpoint_type: internal
`, c.url, password)
}

// secretIn creates or updates a Secret with a clouds.yaml.
func secretIn(ctx context.Context, t *testing.T, namespace, name, clouds string, authority []byte) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(s), s)
	s.Data = map[string][]byte{"clouds.yaml": []byte(clouds), "cacert": authority}
	switch {
	case apierrors.IsNotFound(err):
		err = cluster.Client.Create(ctx, s)
	case err == nil:
		err = cluster.Client.Update(ctx, s)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// companions returns the example's permissions and companions, with the image of the control plane's companion.
func companions(ctx context.Context, t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	own := &appsv1.Deployment{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "companion"}, own); err != nil {
		t.Fatal(err)
	}
	all := exampleObjects(t, "identity/rights.yaml")
	for _, o := range all {
		containers, found, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if !found {
			continue
		}
		containers[0].(map[string]any)["image"] = own.Spec.Template.Spec.Containers[0].Image
		if err := unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// available waits until every object is in Keystone.
func available(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	ready, stop := stopwatch.WithTimeout(ctx, 4*time.Minute)
	defer stop()
	for _, o := range objects {
		if err := cluster.WaitCondition(ready, o.GroupVersionKind(), client.ObjectKeyFromObject(o), "Available"); err != nil {
			t.Fatal(err)
		}
	}
}

// as logs in a user of domain acme.
func (c *cloud) as(ctx context.Context, t *testing.T, user, password string, scope *gophercloud.AuthScope) *gophercloud.ServiceClient {
	t.Helper()
	provider, err := openstack.NewClient(c.url)
	if err != nil {
		t.Fatal(err)
	}
	provider.HTTPClient = c.provider.HTTPClient
	if err := openstack.Authenticate(ctx, provider, gophercloud.AuthOptions{
		IdentityEndpoint: c.url, Username: user, Password: password, DomainName: "acme", Scope: scope,
	}); err != nil {
		t.Fatalf("%s cannot log in: %v", user, err)
	}
	identity, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityInternal})
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// userOf returns the ID of the logged-in user.
func userOf(ctx context.Context, t *testing.T, identity *gophercloud.ServiceClient) string {
	t.Helper()
	user, err := tokens.Get(ctx, identity, identity.Token()).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	return user.ID
}

// testDeployer checks that the user logs in to the project, with the assigned role and its implied roles.
func testDeployer(ctx context.Context, t *testing.T, c *cloud) {
	deployer := c.as(ctx, t, "deployer", deployPassword, &gophercloud.AuthScope{ProjectName: "web", DomainName: "acme"})
	roles, err := tokens.Get(ctx, deployer, deployer.Token()).ExtractRoles()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range roles {
		got = append(got, r.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"member", "reader"}) {
		t.Errorf("he has the roles %v", got)
	}
}

// testDomainLimits checks that the manager of a domain can neither create a domain, nor see projects of other domains,
// nor assign an administrator's role.
func testDomainLimits(ctx context.Context, t *testing.T, manager *gophercloud.ServiceClient) {
	if _, err := domains.Create(ctx, manager, domains.CreateOpts{Name: "other"}).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		t.Errorf("the manager creates a domain: %v", err)
	}
	pages, err := projects.List(manager, projects.ListOpts{}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"later", "web"}) {
		t.Errorf("he sees the projects %v", names)
	}
}

// testIdentityRights checks that the users of the domain can create objects in their namespace, and have no permissions
// in namespaces with other logins.
func testIdentityRights(ctx context.Context, t *testing.T, namespace string) {
	for _, tc := range []struct {
		namespace, group, resource, verb string
		want                             bool
	}{
		{tenant, "openstack.k-orc.cloud", "projects", "create", true},
		{tenant, "openstack.c5c3.io", "roleassignments", "create", true},
		{tenant, "openstack.c5c3.io", "credentialrotations", "create", false},
		{administration, "openstack.k-orc.cloud", "users", "create", false},
		{administration, "", "secrets", "get", false},
		{namespace, "openstack.k-orc.cloud", "users", "create", false},
		{namespace, "", "secrets", "get", false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "somebody", Groups: []string{"acme"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: tc.namespace, Group: tc.group, Resource: tc.resource, Verb: tc.verb},
		}}
		if err := cluster.Client.Create(ctx, review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != tc.want {
			t.Errorf("%s %s in %s: allowed %v", tc.verb, tc.resource, tc.namespace, review.Status.Allowed)
		}
	}
}

// testDeleteIdentity deletes the objects, those in the domain before the domain, which is retained until its policy is
// Delete.
func testDeleteIdentity(ctx context.Context, t *testing.T, c *cloud, people, administrator []*unstructured.Unstructured) {
	for _, p := range people {
		if p.GetKind() != "Project" {
			continue
		}
		p = p.DeepCopy()
		if err := unstructured.SetNestedField(p.Object, "delete", "spec", "managedOptions", "onDelete"); err != nil {
			t.Fatal(err)
		}
		apply(ctx, t, p)
	}
	deleteObjects(ctx, t, people)
	for _, o := range administrator {
		if o.GetKind() != "Domain" {
			continue
		}
		o = o.DeepCopy()
		if err := errors.Join(
			unstructured.SetNestedField(o.Object, "delete", "spec", "managedOptions", "onDelete"),
			unstructured.SetNestedField(o.Object, false, "spec", "resource", "enabled"),
		); err != nil {
			t.Fatal(err)
		}
		apply(ctx, t, o)
		eventually(ctx, t, 2*time.Minute, func() error {
			pages, err := domains.List(c.identity, domains.ListOpts{Name: "acme"}).AllPages(ctx)
			if err != nil {
				return err
			}
			all, err := domains.ExtractDomains(pages)
			if err != nil || len(all) != 1 || all[0].Enabled {
				return fmt.Errorf("the domain is still enabled: %+v, %w", all, err)
			}
			return nil
		})
	}
	deleteObjects(ctx, t, administrator)
	pages, err := domains.List(c.identity, domains.ListOpts{Name: "acme"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := domains.ExtractDomains(pages); err != nil || len(all) > 0 {
		t.Errorf("the domain is left: %+v, %v", all, err)
	}
	for _, name := range []string{administration, tenant} {
		if err := cluster.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Error(err)
		}
	}
}

// deleteObjects deletes objects, RoleAssignments before the objects that they name, and waits until they are deleted.
func deleteObjects(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	isAssignment := func(o *unstructured.Unstructured) bool { return o.GetKind() == "RoleAssignment" }
	for _, now := range []func(*unstructured.Unstructured) bool{isAssignment, func(o *unstructured.Unstructured) bool { return !isAssignment(o) }} {
		for _, o := range objects {
			if now(o) {
				if err := cluster.Client.Delete(ctx, o.DeepCopy()); client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				}
			}
		}
		eventually(ctx, t, 4*time.Minute, func() error {
			for _, o := range objects {
				if !now(o) {
					continue
				}
				remaining := o.DeepCopy()
				if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), remaining); !apierrors.IsNotFound(err) {
					return fmt.Errorf("%s %s is left: %w", o.GetKind(), o.GetName(), errors.Join(err, errors.New(fmt.Sprint(platform.Conditions(remaining)))))
				}
			}
			return nil
		})
	}
}
