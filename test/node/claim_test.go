//go:build node && linux

package node_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// region is the default region of a claim's endpoints.
const region = "RegionOne"

// TestClaimServesExternalClients checks that a claim becomes a Keystone that external clients can use, and that its deletion leaves
// nothing.
func TestClaimServesExternalClients(t *testing.T) {
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	claim := order(ctx, t, "../../examples/controlplane/development.yaml")
	namespace := instance(ctx, t, claim)

	cloud := login(ctx, t, namespace)
	t.Parallel() // until here, no other test uses the processors: it measures the time of a claim, with a token
	t.Run("Token", func(t *testing.T) { testToken(ctx, t, cloud) })
	t.Run("Catalog", func(t *testing.T) { testCatalog(ctx, t, cloud) })
	t.Run("Client", func(t *testing.T) { testClient(ctx, t, namespace, cloud) })
	t.Run("Project", func(t *testing.T) { testProject(ctx, t, cloud) })
	t.Run("ApplicationCredential", func(t *testing.T) { testApplicationCredential(ctx, t, cloud) })
	t.Run("Restricted", func(t *testing.T) { testRestricted(ctx, t, namespace) })
	t.Run("Backup", func(t *testing.T) { testBackup(ctx, t, claim, namespace, cloud) })
	t.Run("Identity", func(t *testing.T) { testIdentity(ctx, t, namespace, cloud) })
	t.Run("Delete", func(t *testing.T) { testDelete(ctx, t, claim, namespace) })
}

// namespaceOf creates the namespace of a claim, unless it exists.
func namespaceOf(ctx context.Context, t *testing.T, claim *unstructured.Unstructured) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: claim.GetNamespace()}}
	if err := cluster.Client.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

// order creates a claim and waits until it is ready. It logs when each of its conditions became true.
func order(ctx context.Context, t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	claim := decode(t, file)
	namespaceOf(ctx, t, claim)
	started := time.Now()
	apply(ctx, t, claim)
	ready, stop := stopwatch.WithTimeout(ctx, 15*time.Minute)
	defer stop()
	if err := cluster.WaitCondition(ready, claim.GroupVersionKind(), client.ObjectKeyFromObject(claim), "Ready"); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %.0f s", time.Since(started).Seconds())
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(claim.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(m["lastTransitionTime"])); err == nil {
			t.Logf("  %4.0f s  %s=%s", at.Sub(started).Seconds(), m["type"], m["status"])
		}
	}
	return claim
}

// instance returns the namespace of a claim's workloads.
func instance(ctx context.Context, t *testing.T, claim *unstructured.Unstructured) string {
	t.Helper()
	u := claim.DeepCopy()
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), u); err != nil {
		t.Fatal(err)
	}
	name, _, _ := unstructured.NestedString(u.Object, "status", "instance")
	if name == "" {
		t.Fatalf("%s %s has no status.instance", claim.GetKind(), claim.GetName())
	}
	return name
}

// cloud is the data that a client needs: address, CA, and the administrator's password.
type cloud struct {
	url, user, password string
	provider            *gophercloud.ProviderClient
	identity            *gophercloud.ServiceClient
}

// login logs in from outside of every pod, with the data of the claim's Secrets, over verified TLS.
func login(ctx context.Context, t *testing.T, namespace string) *cloud {
	t.Helper()
	admin, certificate := secret(ctx, t, namespace, "keystone-admin"), secret(ctx, t, namespace, "keystone-tls")
	c := &cloud{
		url: "https://keystone." + namespace + ".svc:5000/v3", user: string(admin["username"]), password: string(admin["password"]),
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificate["ca.crt"]) {
		t.Fatal("Keystone's certificate names no authority")
	}
	provider, err := openstack.NewClient(c.url)
	if err != nil {
		t.Fatal(err)
	}
	// The machine's DNS does not resolve names of Services.
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		name, in, _ := strings.Cut(strings.TrimSuffix(host, ".svc"), ".")
		service := &corev1.Service{}
		if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: in, Name: name}, service); err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(service.Spec.ClusterIP, port))
	}
	provider.HTTPClient = http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}}
	c.provider = provider
	if err := openstack.Authenticate(ctx, provider, gophercloud.AuthOptions{
		IdentityEndpoint: c.url, Username: c.user, Password: c.password, DomainName: "Default", TenantName: "admin",
		Scope: &gophercloud.AuthScope{ProjectName: "admin", DomainName: "Default"},
	}); err != nil {
		t.Fatalf("no client can log in: %v", err)
	}
	if c.identity, err = openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityInternal}); err != nil {
		t.Fatalf("region %s has no endpoint: %v", region, err)
	}
	return c
}

func secret(ctx context.Context, t *testing.T, namespace, name string) map[string][]byte {
	t.Helper()
	s := &corev1.Secret{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s.Data
}

func testToken(ctx context.Context, t *testing.T, c *cloud) {
	token := c.provider.Token()
	valid, err := tokens.Validate(ctx, c.identity, token)
	if err != nil || !valid {
		t.Errorf("the token is not valid: %v", err)
	}
}

// testCatalog checks that the catalog has the claim's services, each in its region.
func testCatalog(ctx context.Context, t *testing.T, c *cloud) {
	catalog, err := tokens.Get(ctx, c.identity, c.provider.Token()).ExtractServiceCatalog()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, entry := range catalog.Entries {
		for _, e := range entry.Endpoints {
			got[entry.Type] = append(got[entry.Type], e.Interface+" "+e.Region+" "+e.URL)
		}
		slices.Sort(got[entry.Type])
	}
	want := map[string][]string{"identity": {"internal " + region + " " + c.url, "public " + region + " " + c.url}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("catalog: -want +got\n%s", diff)
	}
}

// testProject checks that the objects which K-ORC reports exist.
func testProject(ctx context.Context, t *testing.T, c *cloud) {
	pages, err := projects.List(c.identity, projects.ListOpts{Name: "service"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil || len(all) != 1 || !all[0].Enabled {
		t.Errorf("got projects %+v, %v", all, err)
	}
}

// testApplicationCredential checks that an application credential can be created and used.
func testApplicationCredential(ctx context.Context, t *testing.T, c *cloud) {
	token, err := tokens.Get(ctx, c.identity, c.provider.Token()).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	created, err := applicationcredentials.Create(ctx, c.identity, token.ID, applicationcredentials.CreateOpts{Name: "test"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	other, err := openstack.NewClient(c.url)
	if err != nil {
		t.Fatal(err)
	}
	other.HTTPClient = c.provider.HTTPClient
	if err := openstack.Authenticate(ctx, other, gophercloud.AuthOptions{
		IdentityEndpoint: c.url, ApplicationCredentialID: created.ID, ApplicationCredentialSecret: created.Secret,
	}); err != nil {
		t.Errorf("it does not log in: %v", err)
	}
}

// unrestricted are pods that do not meet the restricted Pod Security Standard, as Kubernetes names them, each with the reason.
var unrestricted = map[string]string{
	"mariadb-0 (and 2 other pods)": "the operator's init container of a Galera cluster: functions/controlplane, podSecurity",
}

// warnings collects the warnings of an API server.
type warnings struct{ all []string }

func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.all = append(w.all, text) }

// testRestricted checks that the namespace enforces the restricted standard. If it does not, Kubernetes itself lists
// the pods that would violate it.
func testRestricted(ctx context.Context, t *testing.T, namespace string) {
	requested := &warnings{}
	config := rest.CopyConfig(cluster.Config)
	config.WarningHandler = requested
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	held := &corev1.Namespace{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Name: namespace}, held); err != nil {
		t.Fatal(err)
	}
	if held.Labels["pod-security.kubernetes.io/enforce"] == "restricted" {
		return // no pod has ever been in it that is not
	}
	const patch = `{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`
	if _, err := set.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if len(requested.all) == 0 {
		t.Error("every pod would be allowed in a namespace that enforces the restricted standard, and it does not")
	}
	for _, text := range requested.all {
		pod, _, ok := strings.Cut(text, ": ")
		if !ok || strings.HasPrefix(text, "existing pods") {
			continue
		}
		if unrestricted[pod] == "" {
			t.Error(text)
		}
	}
}

// testDelete checks that with deletionPolicy Delete, nothing is left, in the cluster and in the namespace, and that
// every object is deleted before the objects that its deletion needs.
func testDelete(ctx context.Context, t *testing.T, claim *unstructured.Unstructured, namespace string) {
	observed, err := platform.WatchDeletions(ctx, cluster.Client, namespace, true)
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if err := cluster.Client.Delete(ctx, claim); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, 8*time.Minute, func() error { return leftovers(ctx, claim, namespace) })
	t.Logf("nothing is left after %.0f s", time.Since(started).Seconds())
	if err := observed.Check(); err != nil {
		t.Error(err)
	}
	t.Logf("gone, in this order: %s", strings.Join(observed.Names(), ", "))
}

// leftovers returns an error that lists the remaining objects of a claim and its control plane.
func leftovers(ctx context.Context, claim *unstructured.Unstructured, namespace string) error {
	for _, o := range []client.Object{claim.DeepCopy(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}} {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the claim or its namespace is still there"), err)
		}
	}
	if err := objectsRemain(ctx, namespace); err != nil {
		return err
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := cluster.Client.List(ctx, volumes); err != nil {
		return err
	}
	for _, v := range volumes.Items {
		if v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == namespace {
			return fmt.Errorf("volume %s is left", v.Name)
		}
	}
	return nil
}

// objectsRemain returns an error that names a remaining Object of provider-kubernetes for a namespace.
func objectsRemain(ctx context.Context, namespace string) error {
	for _, version := range []string{"kubernetes.crossplane.io/v1alpha2", "kubernetes.m.crossplane.io/v1alpha1"} {
		all := &unstructured.UnstructuredList{}
		all.SetAPIVersion(version)
		all.SetKind("ObjectList")
		if err := cluster.Client.List(ctx, all); err != nil {
			return err
		}
		for _, o := range all.Items {
			if o.GetNamespace() == namespace || strings.HasPrefix(o.GetName(), namespace+"-") {
				return fmt.Errorf("Object %s is left", o.GetName())
			}
		}
	}
	return nil
}
