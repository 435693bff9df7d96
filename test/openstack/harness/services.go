//go:build openstack && linux

package harness

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// UpgradeFrom and UpgradeTo are the releases of upgrade tests, which skip a release in one step.
const (
	UpgradeFrom release.Release = "2025.1"
	UpgradeTo   release.Release = "2026.1"
)

// Claim returns a claim of test/openstack/testdata in a release. Its name gets a suffix, and so do its host names: there is one hosts
// file for all clouds.
func Claim(t *testing.T, file string, r release.Release, end string) []byte {
	t.Helper()
	text := strings.Replace(string(Read(t, file)), `openStackRelease: "2025.1"`, fmt.Sprintf(`openStackRelease: %q`, r), 1)
	for _, name := range []string{"inventory", "images", "machines", "networks", "dashboard", "stacks", "volumes", "compute", "secrets", "tests", "identity", "region", "fleet"} {
		text = strings.ReplaceAll(text, name+".tenant-a", name+end+".tenant-a")
		text = strings.ReplaceAll(text, "  name: "+name+"\n", "  name: "+name+end+"\n")
	}
	return []byte(text)
}

// Suffix returns a release as a suffix of a name.
func Suffix(r release.Release) string { return "-" + strings.ReplaceAll(string(r), ".", "-") }

// Administrator returns a client that is logged in as administrator, and options for internal addresses.
func Administrator(t *testing.T, c *clouds.Cloud) (*gophercloud.ProviderClient, gophercloud.EndpointOpts) {
	t.Helper()
	provider, ends, err := c.Operators.Login(context.Background(), c.Namespace, "keystone-clouds", "admin")
	if err != nil {
		t.Fatal(err)
	}
	ends.Region = Region
	return provider, ends
}

// Region of the claims.
const Region = "eu-de-1"

// administrators are services whose users have the role admin; the others only validate tokens, and identify themselves as services.
var administrators = []string{"cinder", "neutron", "nova"}

// CheckCatalog checks that the catalog has the service at a public and an internal address in the claim's region, both
// with the same path, that its user has the required roles with the credential of its pods, and that its tables have
// the collation of its database.
func CheckCatalog(t *testing.T, cloud *clouds.Cloud, service, kind string, port int, path string) {
	ctx, c := context.Background(), KeystoneClient(t, cloud, false)
	a := AdminOf(t, c)
	token, err := c.Validate(ctx, a.Token, a.Token)
	if err != nil {
		t.Fatal(err)
	}
	var got []clouds.Endpoint
	for _, entry := range token.Catalog {
		if entry.Type == kind && entry.Name == service {
			got = entry.Endpoints
		}
	}
	want := map[string]clouds.Endpoint{
		"internal": {Interface: "internal", URL: fmt.Sprintf("https://%s.%s.svc:%d%s", service, cloud.Namespace, port, path), Region: Region},
	}
	for _, e := range got {
		if e.Interface == "public" && strings.HasPrefix(e.URL, "https://"+service+".") && strings.HasSuffix(e.URL, path) {
			want["public"] = clouds.Endpoint{Interface: "public", URL: e.URL, Region: Region}
		}
	}
	found := map[string]clouds.Endpoint{}
	for _, e := range got {
		found[e.Interface] = e
	}
	if diff := cmp.Diff(want, found); diff != "" || len(got) != 2 {
		t.Errorf("endpoints of %s (-want +got):\n%s", service, diff)
	}
	_, is := ServiceCredential(t, cloud, service)
	own := Login(t, c, clouds.ApplicationCredential(is.ID, is.Secret))
	roles := []string{"service"}
	if slices.Contains(administrators, service) {
		roles = append(roles, "admin")
	}
	CheckRoles(t, c, a.Token, own.Token, roles...)
	CheckCollations(t, cloud)
}

// ServiceCredential returns the credential of a service's pods.
func ServiceCredential(t testing.TB, c *clouds.Cloud, service string) (*c5c3v1.CredentialRotation, Credential) {
	t.Helper()
	r := &c5c3v1.CredentialRotation{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: service + "-credential"}
	if err := c.Cluster.Client.Get(context.Background(), key, r); err != nil {
		t.Fatal(err)
	}
	data, err := c.Operators.Secret(context.Background(), c.Namespace, string(r.Spec.SecretName))
	if err != nil {
		t.Fatal(err)
	}
	return r, Credential{ID: string(data["application_credential_id"]), Secret: string(data["application_credential_secret"])}
}

// CheckRotation requests the rotation of a service's credential while clients use the service. All pods get the new one,
// and no request fails.
func CheckRotation(t *testing.T, cloud *clouds.Cloud, service string, load *Clients) {
	ctx := context.Background()
	r, old := ServiceCredential(t, cloud, service)
	if err := cloud.Cluster.Patch(ctx, client.ObjectKeyFromObject(r), r, func() {
		r.Annotations = map[string]string{"c5c3.io/rotate": r.Status.CurrentID}
	}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err := cloud.Cluster.Wait(ctx, operators.Timeout, "another credential of "+service, func(context.Context) (bool, error) {
		r, is := ServiceCredential(t, cloud, service)
		return is != old && r.Status.CurrentID == is.ID && apimeta.IsStatusConditionTrue(r.Status.Conditions, "Distributed"), nil
	})
	if err != nil {
		r, _ := ServiceCredential(t, cloud, service)
		t.Fatalf("%v\n%s\n%+v\n%s", err, r.Annotations, r.Status, load)
	}
	took := time.Since(began)
	load.More(t, 10)
	load.Stop(t)
	t.Logf("all pods of %s have another credential after %.0f s; meanwhile %s", service, took.Seconds(), load)
	c := KeystoneClient(t, cloud, false)
	if _, err := c.Issue(ctx, clouds.ApplicationCredential(old.ID, old.Secret)); err != nil {
		t.Errorf("the old credential has its grace, and got %v", err)
	}
}

// Upgrade upgrades a cloud to another release, until the schemas of its services are contracted and no process of the
// old one runs. It returns the plan of the upgrade, which must name all pods that have restarted until then.
func Upgrade(t *testing.T, cloud *clouds.Cloud, claim []byte, to release.Release, services ...string) *PlannedEdit {
	t.Helper()
	planned := PlanEdit(t, cloud, claim)
	began := time.Now()
	if err := cloud.Change(claim); err != nil {
		t.Fatal(err)
	}
	for _, service := range services {
		CheckContracted(t, cloud, service, to)
		CheckImages(t, cloud, service, to)
	}
	t.Logf("%s after %.0f s", to, time.Since(began).Seconds())
	planned.CheckRestarts(t)
	return planned
}

// CheckContracted waits until a schema has been contracted to a release, and fails if any step failed.
func CheckContracted(t *testing.T, cloud *clouds.Cloud, schema string, to release.Release) {
	t.Helper()
	s := &openstackv1.DatabaseSync{}
	err := cloud.Cluster.Wait(context.Background(), operators.Timeout, "the schema of "+schema, func(ctx context.Context) (bool, error) {
		err := cloud.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: cloud.Namespace, Name: schema}, s)
		return s.Status.ContractedRelease == string(to) && s.Status.Phase == openstackv1.SyncPhaseDone, err
	})
	if err != nil {
		t.Fatalf("%v\n%+v", err, s.Status)
	}
	var steps []string
	for _, r := range s.Status.History {
		steps = append(steps, r.Step+" of "+r.Release)
		// A check that only warns ends with 1: Nova's does while there is a server without a type.
		if r.Result != openstackv1.StepSucceeded || r.ExitCode == nil {
			t.Errorf("step %s of %s to %s: %s", r.Step, schema, r.Release, r.Result)
		}
	}
	t.Logf("%s: %s", schema, strings.Join(steps, ", "))
}

// CheckImages checks that all pods of a service's API run its image of a release.
func CheckImages(t *testing.T, c *clouds.Cloud, service string, r release.Release) {
	t.Helper()
	version, err := r.Version(service)
	if err != nil {
		t.Fatal(err)
	}
	pods := &corev1.PodList{}
	if err := c.Cluster.Client.List(context.Background(), pods, client.InNamespace(c.Namespace), client.MatchingLabels{
		"app.kubernetes.io/instance": service, "app.kubernetes.io/component": "api",
	}); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		t.Errorf("%s has no pod", service)
	}
	for _, p := range pods.Items {
		if image := p.Spec.Containers[0].Image; p.DeletionTimestamp == nil && !strings.HasSuffix(image, ":"+version) {
			t.Errorf("pod %s runs %s, want %s", p.Name, image, version)
		}
	}
}

// Clients repeats the requests of a set of clients.
type Clients struct {
	requests atomic.Int64
	cancel   context.CancelFunc
	done     sync.WaitGroup
	mu       sync.Mutex
	errs     []error
}

// Request counts the result of a client's request, with a label.
type Request func(label string, do func() error) error

// StartClients starts clients. Each gets its number, the number of its round, and a function for its requests, which
// are counted.
func StartClients(t *testing.T, clients int, round func(ctx context.Context, client, round int, try Request) error) *Clients {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Clients{cancel: cancel}
	t.Cleanup(cancel)
	for i := range clients {
		l.done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// A turn ends with its first failure, which is noted.
				_ = round(context.Background(), i, n, l.try)
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	return l
}

func (l *Clients) try(label string, do func() error) error {
	began := time.Now()
	err := do()
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		err = fmt.Errorf("%s after %.1f s: cannot %s: %w", time.Now().Format(time.TimeOnly), time.Since(began).Seconds(), label, err)
		l.errs = append(l.errs, err)
		return err
	}
	l.requests.Add(1)
	return nil
}

// More waits for a number of further requests.
func (l *Clients) More(t *testing.T, n int64) {
	t.Helper()
	for end, began := l.requests.Load()+n, time.Now(); l.requests.Load() < end; time.Sleep(50 * time.Millisecond) {
		if stopwatch.Since(began) > 2*time.Minute {
			t.Fatalf("no more requests come through: %s: %v", l, l.errs)
		}
	}
}

// Stop waits until every client has finished its round: no request may have failed.
func (l *Clients) Stop(t *testing.T) {
	t.Helper()
	l.cancel()
	l.done.Wait()
	for _, err := range l.errs {
		t.Error(err)
	}
}

// Loss returns the numbers of requests and of failures.
func (l *Clients) Loss() Loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Loss{Requests: int(l.requests.Load()) + len(l.errs), Failed: len(l.errs)}
}

// String returns the numbers of requests and of failures.
func (l *Clients) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d requests, %d failed", l.requests.Load(), len(l.errs))
}

// ResponseStatus returns the status of an error response.
func ResponseStatus(err error) int {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict} {
		if gophercloud.ResponseCodeIs(err, code) {
			return code
		}
	}
	return 0
}
