//go:build openstack && linux

package external

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// strangerPassword is the password of the administrator with whose login a second cloud uses Keystone.
const strangerPassword = `p"4$s{{w}}ord`

// TestExternalKeystone runs a cloud with only Keystone, and a second claim that uses it as external Keystone: from
// another cluster, by its public address, with the CA that its claim names. Tokens of the first cloud are valid in the
// second one.
func TestExternalKeystone(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			home := harness.Start(t, harness.Claim(t, "identity.yaml", r, harness.Suffix(r)), nil)
			a := harness.AdminOf(t, harness.KeystoneClient(t, home, true))
			newStranger(a)
			before := snapshot(t, a)
			cloud := harness.Start(t, harness.Claim(t, "region.yaml", r, harness.Suffix(r)), func(o *clouds.Options) {
				o.Secrets = map[string]map[string][]byte{
					"elsewhere": {"password": []byte(strangerPassword), "ca.crt": home.Operators.Public.Certificate},
				}
			})
			a = harness.AdminOf(t, harness.KeystoneClient(t, home, true))
			t.Run("Entries", func(t *testing.T) { testSharedEntries(t, cloud, a) })
			t.Run("NoKeystone", func(t *testing.T) { testNoKeystone(t, cloud) })
			t.Run("Images", func(t *testing.T) { testImagesByToken(t, cloud, a) })
			t.Run("Clients", func(t *testing.T) { testSharedClients(t, cloud) })
			t.Run("Untouched", func(t *testing.T) { testUntouched(t, cloud, before, snapshot(t, a)) })
			t.Run("Gone", func(t *testing.T) {
				testGlanceDisabled(t, cloud, harness.Claim(t, "region.yaml", r, harness.Suffix(r)), a)
			})
		})
	}
}

// newStranger creates the administrator for the second cloud, in a separate project.
func newStranger(a harness.Admin) {
	project := a.Create("project", map[string]any{"name": "clouds", "domain_id": "default"})
	user := a.Create("user", map[string]any{"name": "cloud-admin", "domain_id": "default", "password": strangerPassword})
	a.Do(http.MethodPut, "/projects/"+project+"/users/"+user+"/roles/"+a.Named("roles", "name=admin"), nil, nil)
	// Objects of another cloud, which the second must not adopt.
	a.Create("user", map[string]any{"name": "glance", "domain_id": "default", "password": "another", "description": "of another cloud"})
	a.Create("service", map[string]any{"name": "glance", "type": "image", "description": "of another cloud"})
}

// snapshot returns the contents of a Keystone, by kind and name, with all fields.
func snapshot(t *testing.T, a harness.Admin) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, list := range []string{"users", "projects", "domains", "roles", "services", "endpoints", "regions", "role_assignments"} {
		all := map[string]any{}
		a.Do(http.MethodGet, "/"+list, nil, &all)
		items, _ := all[list].([]any)
		for _, item := range items {
			m, _ := item.(map[string]any)
			out[fmt.Sprintf("%s %v %v", list, m["name"], cmpID(m))] = m
		}
	}
	return out
}

// cmpID returns a unique key for an object without ID.
func cmpID(m map[string]any) any {
	if id, ok := m["id"]; ok {
		return id
	}
	return m["links"]
}

// sharedName returns the name of an object of the second cloud in Keystone.
func sharedName(cloud *clouds.Cloud, name string) string { return name + "-" + cloud.Namespace }

// testSharedEntries checks that the catalog has the services of the second cloud in its region, with Keystone, and that
// its users have their roles.
func testSharedEntries(t *testing.T, cloud *clouds.Cloud, a harness.Admin) {
	token, err := a.Client.Validate(context.Background(), a.Token, a.Token)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]clouds.Endpoint{}
	for _, entry := range token.Catalog {
		if strings.HasSuffix(entry.Name, cloud.Namespace) {
			slices.SortFunc(entry.Endpoints, func(x, y clouds.Endpoint) int { return strings.Compare(x.Interface, y.Interface) })
			got[entry.Type+" "+entry.Name] = entry.Endpoints
		}
	}
	want := map[string][]clouds.Endpoint{
		"identity " + sharedName(cloud, "keystone"): {
			{Interface: "internal", URL: a.Client.URL, Region: harness.Region}, {Interface: "public", URL: a.Client.URL, Region: harness.Region},
		},
	}
	domain := strings.TrimPrefix(a.Client.URL[:strings.LastIndex(a.Client.URL, "/")], "https://keystone.")
	domain = strings.Replace(domain, "identity-", "region-", 1)
	for service, entry := range map[string]string{glancev1.ServiceName: glancev1.ServiceType, placementv1.ServiceName: placementv1.ServiceType} {
		port := map[string]int{glancev1.ServiceName: glancev1.Port, placementv1.ServiceName: placementv1.Port}[service]
		want[entry+" "+sharedName(cloud, service)] = []clouds.Endpoint{
			{Interface: "internal", URL: fmt.Sprintf("https://%s.%s.svc:%d", service, cloud.Namespace, port), Region: harness.Region},
			{Interface: "public", URL: fmt.Sprintf("https://%s.%s", service, domain), Region: harness.Region},
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries of the catalog (-want +got):\n%s", diff)
	}
	_, is := harness.ServiceCredential(t, cloud, glancev1.ServiceName)
	own := harness.Login(t, a.Client, clouds.ApplicationCredential(is.ID, is.Secret))
	harness.CheckRoles(t, a.Client, a.Token, own.Token, "service")
	validated, err := a.Client.Validate(context.Background(), a.Token, own.Token)
	if err != nil {
		t.Fatal(err)
	}
	if validated.User.Name != sharedName(cloud, "glance") || validated.Project.Name != cloud.Namespace {
		t.Errorf("Glance logs in as %s in project %s", validated.User.Name, validated.Project.Name)
	}
}

// testNoKeystone checks that there is no pod and no database of Keystone.
func testNoKeystone(t *testing.T, cloud *clouds.Cloud) {
	pods := &corev1.PodList{}
	if err := cloud.Cluster.Client.List(context.Background(), pods, client.InNamespace(cloud.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		t.Error("no pod runs")
	}
	for _, p := range pods.Items {
		if p.Labels["app.kubernetes.io/instance"] == "keystone" {
			t.Errorf("pod %s runs", p.Name)
		}
	}
	for _, u := range cloud.Operators.All("Database.k8s.mariadb.com") {
		if u.GetName() == "keystone" {
			t.Error("there is a database of Keystone's")
		}
	}
}

// imagesBy returns a client of the second cloud's Glance, with a token of the first cloud's Keystone.
func imagesBy(cloud *clouds.Cloud, a harness.Admin, token string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{TokenID: token, HTTPClient: http.Client{Timeout: clouds.RequestTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: cloud.Operators.Public.Pool(), MinVersion: tls.VersionTLS12}, DialContext: cloud.Cluster.Dial,
		DisableKeepAlives: true,
	}}}
	at := strings.Replace(strings.Replace(strings.TrimSuffix(a.Client.URL, "v3"), "https://keystone.", "https://glance.", 1), "identity-", "region-", 1)
	return &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: at, ResourceBase: at + "v2/", Type: "image"}
}

// testImagesByToken checks that a token of the first cloud's Keystone is accepted by the second's Glance, and that an
// invalid token is not.
func testImagesByToken(t *testing.T, cloud *clouds.Cloud, a harness.Admin) {
	g := glance.Glance{ServiceClient: imagesBy(cloud, a, a.Token)}
	i := harness.Created(t, func() (*images.Image, error) {
		return images.Create(context.Background(), g.ServiceClient, images.CreateOpts{Name: "first", ContainerFormat: "bare", DiskFormat: "raw"}).Extract()
	})
	g.Upload(t, i.ID, strings.NewReader("an image of the second cloud"), "")
	is, err := images.Get(context.Background(), g.ServiceClient, i.ID).Extract()
	if err != nil || is.Status != images.ImageStatusActive || is.SizeBytes != 28 {
		t.Errorf("the image: %+v, %v", is, err)
	}
	_, err = images.Get(context.Background(), imagesBy(cloud, a, "gAAAAABnone"), i.ID).Extract()
	if harness.ResponseStatus(err) != http.StatusUnauthorized {
		t.Errorf("without a token of that Keystone: got %v, want 401", err)
	}
}

// testSharedClients checks that clients with the companion's clouds.yaml of a service find the second cloud's services.
func testSharedClients(t *testing.T, cloud *clouds.Cloud) {
	provider, ends, err := cloud.Operators.Login(context.Background(), cloud.Namespace, "glance-clouds", "glance")
	if err != nil {
		t.Fatal(err)
	}
	c, err := openstack.NewImageV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("https://glance.%s.svc:%d/", cloud.Namespace, glancev1.Port); c.Endpoint != want || ends.Region != harness.Region {
		t.Errorf("finds %s in region %s, want %s in %s", c.Endpoint, ends.Region, want, harness.Region)
	}
}

// testUntouched checks that the second cloud has changed no existing object, and that all new ones have its name, or
// its region's.
func testUntouched(t *testing.T, cloud *clouds.Cloud, before, after map[string]any) {
	own := map[string]bool{}
	for key, is := range after {
		m, _ := is.(map[string]any)
		if strings.HasSuffix(fmt.Sprint(m["name"]), cloud.Namespace) {
			own[fmt.Sprint(m["id"])] = true
		}
		if previous, ok := before[key]; ok {
			if diff := cmp.Diff(previous, is); diff != "" {
				t.Errorf("%s has changed (-before +after):\n%s", key, diff)
			}
		}
	}
	for key, is := range after {
		m, _ := is.(map[string]any)
		if _, ok := before[key]; ok || own[fmt.Sprint(m["id"])] {
			continue
		}
		user, _ := m["user"].(map[string]any)
		switch {
		case strings.HasPrefix(key, "regions ") && m["id"] == harness.Region, strings.HasPrefix(key, "endpoints ") && own[fmt.Sprint(m["service_id"])]:
		case strings.HasPrefix(key, "role_assignments ") && own[fmt.Sprint(user["id"])]:
		default:
			t.Errorf("%s is new: %v", key, is)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			t.Errorf("%s is gone", key)
		}
	}
}

// testGlanceDisabled checks that disabling Glance removes its user and catalog entry, and no others.
func testGlanceDisabled(t *testing.T, cloud *clouds.Cloud, claim []byte, a harness.Admin) {
	off := strings.Replace(string(claim), "    glance:\n      enabled: true\n", "    glance:\n      enabled: false\n", 1)
	harness.Change(t, cloud, []byte(off))
	remaining := map[string]any{}
	for key, is := range snapshot(t, a) {
		if strings.Contains(key, " glance") {
			remaining[key] = is
		}
	}
	for key := range remaining {
		if strings.Contains(key, cloud.Namespace) {
			t.Errorf("%s is left", key)
		}
	}
	if len(remaining) != 2 { // the user and the service of another cloud
		t.Errorf("%d are left of another cloud's Glance, want 2: %v", len(remaining), remaining)
	}
}
