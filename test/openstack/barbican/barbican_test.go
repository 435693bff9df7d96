//go:build openstack && linux

package barbican

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/orders"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/keystone"
)

// TestBarbican checks that the Barbican of every release stores the secrets of plain users, creates the keys that they
// order, and can still read all of them after its encryption keys are rotated and its pods killed.
func TestBarbican(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			cloud := harness.Start(t, harness.Claim(t, "secrets.yaml", r, harness.Suffix(r)), nil)
			s := safeOf(t, cloud, "keeper")
			t.Run("Entries", func(t *testing.T) {
				harness.CheckCatalog(t, cloud, barbicanv1.ServiceName, barbicanv1.ServiceType, barbicanv1.Port, "")
			})
			t.Run("Secret", func(t *testing.T) { testSecret(t, s) })
			t.Run("Order", func(t *testing.T) { testOrder(t, s) })
			t.Run("Container", func(t *testing.T) { testContainer(t, s) })
			// Before the clock is set forward, which triggers scheduled rotations.
			t.Run("Credential", func(t *testing.T) { harness.CheckRotation(t, cloud, barbicanv1.ServiceName, secretsUsed(t, s)) })
			t.Run("Keys", func(t *testing.T) { testKeyEncryptionKeys(t, s) })
			t.Run("Killed", func(t *testing.T) { testSafeKilled(t, s) })
			t.Run("Cleaned", func(t *testing.T) { testCleaned(t, s) })
		})
	}
}

// safeOf creates a project with a member of the same name, and logs in as the member.
func safeOf(t *testing.T, cloud *clouds.Cloud, who string) Barbican {
	t.Helper()
	ctx, c := context.Background(), harness.KeystoneClient(t, cloud, false)
	a := harness.AdminOf(t, c)
	project := a.Create("project", map[string]any{"name": who, "domain_id": "default"})
	user := a.Create("user", map[string]any{"name": who, "domain_id": "default", "password": who})
	a.Do(http.MethodPut, "/projects/"+project+"/users/"+user+"/roles/"+a.Named("roles", "name=member"), nil, nil)
	provider, err := config.NewProviderClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: c.URL, Username: who, Password: who, DomainID: "default", AllowReauth: true,
		Scope: &gophercloud.AuthScope{ProjectID: project},
	}, config.WithHTTPClient(*c.HTTP))
	if err != nil {
		t.Fatal(err)
	}
	out := Barbican{cloud: cloud}
	if out.ServiceClient, err = openstack.NewKeyManagerV1(provider, gophercloud.EndpointOpts{
		Region: harness.Region, Availability: gophercloud.AvailabilityInternal,
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// store stores a text, and returns the secret's ID.
func (s Barbican) store(ctx context.Context, text string) (string, error) {
	created, err := secrets.Create(ctx, s.ServiceClient, secrets.CreateOpts{
		Name: "secret", Payload: text, PayloadContentType: "text/plain", SecretType: secrets.OpaqueSecret,
	}).Extract()
	if err != nil {
		return "", err
	}
	return path.Base(created.SecretRef), nil
}

// read returns a secret with a content type.
func (s Barbican) read(ctx context.Context, id, as string) (string, error) {
	content, err := secrets.GetPayload(ctx, s.ServiceClient, id, secrets.GetPayloadOpts{PayloadContentType: as}).Extract()
	return string(content), err
}

// order orders a key, and returns its secret's ID.
func (s Barbican) order(ctx context.Context) (string, error) {
	created, err := orders.Create(ctx, s.ServiceClient, orders.CreateOpts{
		Type: orders.KeyOrder,
		Meta: orders.MetaOpts{Name: "key", Algorithm: "aes", BitLength: 256, Mode: "cbc", PayloadContentType: octets},
	}).Extract()
	if err != nil {
		return "", err
	}
	id := ""
	err = s.cloud.Cluster.Wait(ctx, time.Minute, "a key", func(ctx context.Context) (bool, error) {
		o, err := orders.Get(ctx, s.ServiceClient, path.Base(created.OrderRef)).Extract()
		if err != nil {
			return false, err
		}
		if o.Status == "ERROR" {
			return false, fmt.Errorf("%s: %s", o.ErrorStatusCode, o.ErrorReason)
		}
		id = path.Base(o.SecretRef)
		return o.Status == "ACTIVE", nil
	})
	return id, err
}

const (
	text   = "text/plain"
	octets = "application/octet-stream"
)

// testSecret checks that a member can read a stored secret, that users of other projects cannot, and that it is
// encrypted in the database.
func testSecret(t *testing.T, s Barbican) {
	ctx, content := context.Background(), "private to the project"
	id := harness.Must[string](t)(s.store(ctx, content))
	if got := harness.Must[string](t)(s.read(ctx, id, text)); got != content {
		t.Errorf("stored %q, and read %q", content, got)
	}
	other := safeOf(t, s.cloud, "stranger")
	if _, err := other.read(ctx, id, text); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("a stranger gets %v", err)
	}
	out, err := s.cloud.Operators.SQL(ctx, s.cloud.Namespace, "mariadb", "SELECT cypher_text FROM barbican.encrypted_data")
	if err != nil || out == "" || strings.Contains(out, content) {
		t.Errorf("the database has %q (%v)", out, err)
	}
	secret := harness.Must[*secrets.Secret](t)(secrets.Get(ctx, s.ServiceClient, id).Extract())
	if want := "https://barbican.secrets"; !strings.HasPrefix(secret.SecretRef, want) {
		t.Errorf("users get %s, want prefix %s", secret.SecretRef, want)
	}
}

// testOrder checks that a worker creates a key.
func testOrder(t *testing.T, s Barbican) {
	const size = 256 / 8
	id := harness.Must[string](t)(s.order(context.Background()))
	if key := harness.Must[string](t)(s.read(context.Background(), id, octets)); len(key) != size {
		t.Errorf("the key has %d bytes, want %d", len(key), size)
	}
	content := slices.ContainsFunc(s.pods(t, "worker"), func(pod string) bool {
		text, err := os.ReadFile(s.cloud.Cluster.Log(s.cloud.Namespace, pod, barbicanv1.ServiceName))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "process_type_order")
	})
	if !content {
		t.Error("no worker has logged the creation of a key")
	}
}

// testContainer checks that secrets can be combined in a container, and found by it.
func testContainer(t *testing.T, s Barbican) {
	ctx := context.Background()
	id := harness.Must[string](t)(s.store(ctx, "part of it"))
	secret := harness.Must[*secrets.Secret](t)(secrets.Get(ctx, s.ServiceClient, id).Extract())
	created := harness.Must[*containers.Container](t)(containers.Create(ctx, s.ServiceClient, containers.CreateOpts{
		Type: containers.GenericContainer, Name: "whole", SecretRefs: []containers.SecretRef{{Name: "part", SecretRef: secret.SecretRef}},
	}).Extract())
	got := harness.Must[*containers.Container](t)(containers.Get(ctx, s.ServiceClient, path.Base(created.ContainerRef)).Extract())
	if diff := cmp.Diff([]containers.SecretRef{{Name: "part", SecretRef: secret.SecretRef}}, got.SecretRefs); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// testKeyEncryptionKeys rotates the keys while clients store and read, and checks that earlier and new secrets are
// encrypted with the new one and can be read. No key is removed.
func testKeyEncryptionKeys(t *testing.T, s Barbican) {
	const name, month = "barbican-keys", 32 * 24 * time.Hour
	ctx := context.Background()
	id := harness.Must[string](t)(s.store(ctx, "from before"))
	load := secretsUsed(t, s)
	_, set := keystone.Repository(t, s.cloud, name)
	encrypted := func() string {
		t.Helper()
		out, err := s.cloud.Operators.SQL(ctx, s.cloud.Namespace, "mariadb", "SELECT plugin_meta FROM barbican.kek_data ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for range 3 {
		previous, count := encrypted(), len(set)
		s.cloud.Operators.Forward(month)
		set = keystone.Rotated(t, s.cloud, name, set.Primary())
		err := s.cloud.Cluster.Wait(ctx, 3*time.Minute, "everything to be encrypted with another key", func(context.Context) (bool, error) {
			r, _ := keystone.Repository(t, s.cloud, name)
			migrated := apimeta.FindStatusCondition(r.Status.Conditions, "Migrated")
			with := fmt.Sprintf("encrypted with key %d", set.Primary())
			return migrated != nil && migrated.Status == metav1.ConditionTrue && strings.HasSuffix(migrated.Message, with), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if encrypted() == previous {
			t.Error("the keys of projects are encrypted as before")
		}
		if len(set) != count+1 {
			t.Errorf("there are %d keys, want %d: a copy of the database may need each", len(set), count+1)
		}
		if got := harness.Must[string](t)(s.read(ctx, id, text)); got != "from before" {
			t.Errorf("after a rotation, it reads %q", got)
		}
	}
	load.More(t, 10)
	load.Stop(t)
	t.Log(load)
}

// testSafeKilled checks that stored secrets exist, and that keys can be created, after all pods have been killed.
func testSafeKilled(t *testing.T, s Barbican) {
	ctx := context.Background()
	id := harness.Must[string](t)(s.store(ctx, "outlives"))
	for _, component := range []string{"api", "worker"} {
		for _, pod := range s.pods(t, component) {
			if err := s.cloud.Cluster.Kill(s.cloud.Namespace, pod); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := s.cloud.Cluster.Wait(ctx, 2*time.Minute, "Barbican to answer again", func(ctx context.Context) (bool, error) {
		got, err := s.read(ctx, id, text)
		return err == nil && got == "outlives", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	harness.Must[string](t)(s.order(ctx))
}

// testCleaned checks that the command of the CronJob removes deleted secrets from the database, and keeps existing
// ones.
func testCleaned(t *testing.T, s Barbican) {
	ctx := context.Background()
	deleted, retained := harness.Must[string](t)(s.store(ctx, "gone")), harness.Must[string](t)(s.store(ctx, "kept"))
	if err := secrets.Delete(ctx, s.ServiceClient, deleted).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cloud.Cluster.Exec(ctx, s.cloud.Namespace, s.pods(t, "api")[0],
		"barbican-manage", "db", "clean", "--min-days", "0", "--soft-delete-expired-secrets")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rows, err := s.cloud.Operators.SQL(ctx, s.cloud.Namespace, "mariadb", "SELECT id FROM barbican.secrets")
	if err != nil || strings.Contains(rows, deleted) || !strings.Contains(rows, retained) {
		t.Errorf("deleted %s, kept %s, and the database has %s (%v)", deleted, retained, rows, err)
	}
}

// secretsUsed starts two clients that store, read and delete secrets.
func secretsUsed(t *testing.T, s Barbican) *harness.Clients {
	t.Helper()
	return harness.StartClients(t, 2, func(ctx context.Context, client, round int, try harness.Request) error {
		want, id := fmt.Sprintf("load-%d-%d", client, round), ""
		if err := try("store a secret", func() (err error) { id, err = s.store(ctx, want); return err }); err != nil {
			return err
		}
		if err := try("read a secret", func() error {
			got, err := s.read(ctx, id, text)
			if err == nil && got != want {
				err = fmt.Errorf("it reads %q, want %q: %w", got, want, io.ErrUnexpectedEOF)
			}
			return err
		}); err != nil {
			return err
		}
		return try("delete a secret", func() error { return secrets.Delete(ctx, s.ServiceClient, id).ExtractErr() })
	})
}

// pods returns the pods of a component, when there are as many as in the claim: a terminating pod cannot be
// distinguished from a running one.
func (s Barbican) pods(t *testing.T, component string) []string {
	t.Helper()
	var out []string
	err := s.cloud.Cluster.Wait(context.Background(), 2*time.Minute, "two pods of the "+component, func(ctx context.Context) (bool, error) {
		out = nil
		pods := &corev1.PodList{}
		err := s.cloud.Cluster.Client.List(ctx, pods, client.InNamespace(s.cloud.Namespace), client.MatchingLabels{
			"app.kubernetes.io/instance": barbicanv1.ServiceName, harness.ComponentLabel: component,
		})
		for _, p := range pods.Items {
			if p.Status.Phase == corev1.PodRunning {
				out = append(out, p.Name)
			}
		}
		return len(out) == 2, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
