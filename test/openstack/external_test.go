//go:build openstack && linux

package openstack

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
)

// strangerPassword is that of the administrator whom a second cloud logs in as.
const strangerPassword = `p"4$s{{w}}ord`

// TestExternalKeystone: a claim of Keystone alone is a cloud, and a second claim has no Keystone but that one: another cluster, which reaches
// it by its public address and trusts the authority that its claim names. What has a token of the first uses the second.
func TestExternalKeystone(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			home := start(t, of(t, "identity.yaml", r, dashed(r)), nil)
			a := adminOf(t, clientOf(t, home, true))
			newStranger(a)
			before := snapshot(t, a)
			cloud := start(t, of(t, "region.yaml", r, dashed(r)), func(o *Options) {
				o.Secrets = map[string]map[string][]byte{
					"elsewhere": {"password": []byte(strangerPassword), "ca.crt": home.Operators.Public.Certificate},
				}
			})
			a = adminOf(t, clientOf(t, home, true))
			t.Run("Entries", func(t *testing.T) { testSharedEntries(t, cloud, a) })
			t.Run("NoKeystone", func(t *testing.T) { testNoKeystone(t, cloud) })
			t.Run("Images", func(t *testing.T) { testImagesByToken(t, cloud, a) })
			t.Run("Clients", func(t *testing.T) { testSharedClients(t, cloud) })
			t.Run("Untouched", func(t *testing.T) { testUntouched(t, cloud, before, snapshot(t, a)) })
			t.Run("Gone", func(t *testing.T) { testGlanceGone(t, cloud, of(t, "region.yaml", r, dashed(r)), a) })
		})
	}
}

// newStranger makes the administrator whom the second cloud logs in as, in a project of his own.
func newStranger(a admin) {
	project := a.create("project", map[string]any{"name": "clouds", "domain_id": "default"})
	user := a.create("user", map[string]any{"name": "cloud-admin", "domain_id": "default", "password": strangerPassword})
	a.do(http.MethodPut, "/projects/"+project+"/users/"+user+"/roles/"+a.named("roles", "name=admin"), nil, nil)
	// Those of another cloud, which the second must not take over.
	a.create("user", map[string]any{"name": "glance", "domain_id": "default", "password": "another", "description": "of another cloud"})
	a.create("service", map[string]any{"name": "glance", "type": "image", "description": "of another cloud"})
}

// snapshot is what there is in a Keystone, by kind and name, with all that Keystone says of each.
func snapshot(t *testing.T, a admin) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, list := range []string{"users", "projects", "domains", "roles", "services", "endpoints", "regions", "role_assignments"} {
		all := map[string]any{}
		a.do(http.MethodGet, "/"+list, nil, &all)
		items, _ := all[list].([]any)
		for _, item := range items {
			m, _ := item.(map[string]any)
			out[fmt.Sprintf("%s %v %v", list, m["name"], cmpID(m))] = m
		}
	}
	return out
}

// cmpID tells apart what has no ID.
func cmpID(m map[string]any) any {
	if id, ok := m["id"]; ok {
		return id
	}
	return m["links"]
}

// sharedName is what something of the second cloud is called in the Keystone.
func sharedName(cloud *Cloud, name string) string { return name + "-" + cloud.Namespace }

// testSharedEntries: the catalog has the services of the second cloud in its region, with Keystone, and users have its roles.
func testSharedEntries(t *testing.T, cloud *Cloud, a admin) {
	token, err := a.c.Validate(context.Background(), a.token, a.token)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]Endpoint{}
	for _, entry := range token.Catalog {
		if strings.HasSuffix(entry.Name, cloud.Namespace) {
			slices.SortFunc(entry.Endpoints, func(x, y Endpoint) int { return strings.Compare(x.Interface, y.Interface) })
			got[entry.Type+" "+entry.Name] = entry.Endpoints
		}
	}
	want := map[string][]Endpoint{
		"identity " + sharedName(cloud, "keystone"): {
			{Interface: "internal", URL: a.c.URL, Region: region}, {Interface: "public", URL: a.c.URL, Region: region},
		},
	}
	domain := strings.TrimPrefix(a.c.URL[:strings.LastIndex(a.c.URL, "/")], "https://keystone.")
	domain = strings.Replace(domain, "identity-", "region-", 1)
	for service, entry := range map[string]string{glancev1.ServiceName: glancev1.ServiceType, placementv1.ServiceName: placementv1.ServiceType} {
		port := map[string]int{glancev1.ServiceName: glancev1.Port, placementv1.ServiceName: placementv1.Port}[service]
		want[entry+" "+sharedName(cloud, service)] = []Endpoint{
			{Interface: "internal", URL: fmt.Sprintf("https://%s.%s.svc:%d", service, cloud.Namespace, port), Region: region},
			{Interface: "public", URL: fmt.Sprintf("https://%s.%s", service, domain), Region: region},
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries of the catalog (-want +got):\n%s", diff)
	}
	_, is := serviceCredential(t, cloud, glancev1.ServiceName)
	own := login(t, a.c, ApplicationCredential(is.id, is.secret))
	checkRoles(t, a.c, a.token, own.token, "admin", "service")
	whose, err := a.c.Validate(context.Background(), a.token, own.token)
	if err != nil {
		t.Fatal(err)
	}
	if whose.User.Name != sharedName(cloud, "glance") || whose.Project.Name != cloud.Namespace {
		t.Errorf("Glance logs in as %s in project %s", whose.User.Name, whose.Project.Name)
	}
}

// testNoKeystone: no pod of Keystone runs beside the services, and none of its databases is there.
func testNoKeystone(t *testing.T, cloud *Cloud) {
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

// imagesBy is a client of the second cloud's Glance, with a token that the first cloud's Keystone has given.
func imagesBy(cloud *Cloud, a admin, token string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{TokenID: token, HTTPClient: http.Client{Timeout: requestTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: cloud.Operators.Public.Pool(), MinVersion: tls.VersionTLS12}, DialContext: cloud.Cluster.Dial,
		DisableKeepAlives: true,
	}}}
	at := strings.Replace(strings.Replace(strings.TrimSuffix(a.c.URL, "v3"), "https://keystone.", "https://glance.", 1), "identity-", "region-", 1)
	return &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: at, ResourceBase: at + "v2/", Type: "image"}
}

// testImagesByToken: a token of the first cloud's Keystone is good for an image in the second's Glance, and what is no token is not.
func testImagesByToken(t *testing.T, cloud *Cloud, a admin) {
	g := glance{ServiceClient: imagesBy(cloud, a, a.token)}
	i := made(t, func() (*images.Image, error) {
		return images.Create(context.Background(), g.ServiceClient, images.CreateOpts{Name: "first", ContainerFormat: "bare", DiskFormat: "raw"}).Extract()
	})
	g.upload(t, i.ID, strings.NewReader("an image of the second cloud"), "")
	is, err := images.Get(context.Background(), g.ServiceClient, i.ID).Extract()
	if err != nil || is.Status != images.ImageStatusActive || is.SizeBytes != 28 {
		t.Errorf("the image: %+v, %v", is, err)
	}
	_, err = images.Get(context.Background(), imagesBy(cloud, a, "gAAAAABnone"), i.ID).Extract()
	if status(err) != http.StatusUnauthorized {
		t.Errorf("without a token of that Keystone: got %v, want 401", err)
	}
}

// testSharedClients: who logs in by the companion's clouds.yaml of a service finds the second cloud's own.
func testSharedClients(t *testing.T, cloud *Cloud) {
	provider, ends, err := cloud.Operators.Login(context.Background(), cloud.Namespace, "glance-clouds", "glance")
	if err != nil {
		t.Fatal(err)
	}
	c, err := openstack.NewImageV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("https://glance.%s.svc:%d/", cloud.Namespace, glancev1.Port); c.Endpoint != want || ends.Region != region {
		t.Errorf("finds %s in region %s, want %s in %s", c.Endpoint, ends.Region, want, region)
	}
}

// testUntouched: the second cloud has changed nothing that was there, and all that is new bears its name, or its region's.
func testUntouched(t *testing.T, cloud *Cloud, before, after map[string]any) {
	ours := map[string]bool{}
	for what, is := range after {
		m, _ := is.(map[string]any)
		if strings.HasSuffix(fmt.Sprint(m["name"]), cloud.Namespace) {
			ours[fmt.Sprint(m["id"])] = true
		}
		if was, ok := before[what]; ok {
			if diff := cmp.Diff(was, is); diff != "" {
				t.Errorf("%s has changed (-before +after):\n%s", what, diff)
			}
		}
	}
	for what, is := range after {
		m, _ := is.(map[string]any)
		if _, ok := before[what]; ok || ours[fmt.Sprint(m["id"])] {
			continue
		}
		user, _ := m["user"].(map[string]any)
		switch {
		case strings.HasPrefix(what, "regions ") && m["id"] == region, strings.HasPrefix(what, "endpoints ") && ours[fmt.Sprint(m["service_id"])]:
		case strings.HasPrefix(what, "role_assignments ") && ours[fmt.Sprint(user["id"])]:
		default:
			t.Errorf("%s is new: %v", what, is)
		}
	}
	for what := range before {
		if _, ok := after[what]; !ok {
			t.Errorf("%s is gone", what)
		}
	}
}

// testGlanceGone: a Glance that is switched off takes its own user and entry along, and nobody else's.
func testGlanceGone(t *testing.T, cloud *Cloud, claim []byte, a admin) {
	off := strings.Replace(string(claim), "    glance:\n      enabled: true\n", "    glance:\n      enabled: false\n", 1)
	if err := cloud.Change([]byte(off)); err != nil {
		t.Fatal(err)
	}
	left := map[string]any{}
	for what, is := range snapshot(t, a) {
		if strings.Contains(what, " glance") {
			left[what] = is
		}
	}
	for what := range left {
		if strings.Contains(what, cloud.Namespace) {
			t.Errorf("%s is left", what)
		}
	}
	if len(left) != 2 { // the user and the service of another cloud
		t.Errorf("%d are left of another cloud's Glance, want 2: %v", len(left), left)
	}
}
