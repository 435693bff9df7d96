//go:build node && linux

package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// Observed kinds.
var (
	keysKind     = schema.GroupVersionKind{Group: "openstack.c5c3.io", Version: "v1alpha1", Kind: "KeyRepository"}
	schemaKind   = schema.GroupVersionKind{Group: "openstack.c5c3.io", Version: "v1alpha1", Kind: "DatabaseSync"}
	rotationKind = schema.GroupVersionKind{Group: "c5c3.io", Version: "v1alpha1", Kind: "CredentialRotation"}
	mariaDBKind  = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"}
)

// dayTwo is a control plane in use, which tests change by its claim.
type dayTwo struct {
	// claim was applied last, without a status.
	claim     *unstructured.Unstructured
	namespace string
	load      *load
}

// TestDayTwoOperationsLoseNoRequest performs every operation of a tenant on an existing control plane, while clients use it. No request is
// lost; the data in the database and the Secrets outlives the claim.
func TestDayTwoOperationsLoseNoRequest(t *testing.T) {
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	d := &dayTwo{claim: decode(t, "testdata/daytwo.yaml")}
	created := order(ctx, t, "testdata/daytwo.yaml")
	d.namespace = instance(ctx, t, created)
	t.Parallel() // it takes longest, so the others wait until it can begin
	d.load = startLoad(ctx, t, d.namespace)
	for _, step := range []struct {
		name string
		run  func(context.Context, *testing.T)
	}{
		{"CatalogCredential", d.testCatalogCredential},
		{"Keys", d.testKeys},
		{"Option", d.testOption},
		{"Cluster", d.testCluster},
		{"Upgrade", d.testUpgrade("2025.2")},
		{"SLURP", d.testUpgrade("2026.1")},
	} {
		t.Run(step.name, func(t *testing.T) {
			started := time.Now()
			step.run(ctx, t)
			counts := d.load.take()
			counts.lossless(t, fmt.Sprintf("%s, %.0f s", step.name, time.Since(started).Seconds()))
		})
	}
	t.Run("Retain", func(t *testing.T) { d.testRetain(ctx, t) })
}

// decode reads the one object of a file.
func decode(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := platform.Decode(data)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%s has %d objects: %v", file, len(objects), err)
	}
	return objects[0]
}

// edit changes a field of the claim.
func (d *dayTwo) edit(ctx context.Context, t *testing.T, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(d.claim.Object, value, append([]string{"spec"}, path...)...); err != nil {
		t.Fatal(err)
	}
	apply(ctx, t, d.claim)
}

// apply applies an object with server-side apply.
func apply(ctx context.Context, t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	data, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(ctx, data); err != nil {
		t.Fatal(err)
	}
}

// ready waits until the current generation of the claim is ready. Right after an edit a claim still has the status of
// its composite resource from before it, so that the composite resource is checked, too.
func (d *dayTwo) ready(ctx context.Context, t *testing.T) {
	t.Helper()
	eventually(ctx, t, 5*time.Minute, func() error {
		u := d.claim.DeepCopy()
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(d.claim), u); err != nil {
			return err
		}
		c, _ := platform.ConditionOf(u, "Ready")
		if c.ObservedGeneration != u.GetGeneration() {
			return errors.New("the claim's last edit was not seen yet")
		}
		xr := u.DeepCopy()
		xr.SetKind("X" + u.GetKind())
		name, _, _ := unstructured.NestedString(u.Object, "spec", "resourceRef", "name")
		if err := cluster.Client.Get(ctx, types.NamespacedName{Name: name}, xr); err != nil {
			return err
		}
		is, _ := platform.ConditionOf(xr, "Ready")
		if c.Status != "True" || is.Status != "True" || is.ObservedGeneration != xr.GetGeneration() {
			return fmt.Errorf("Ready is %s, and %s at generation %d of %d of the composite resource:%s",
				c.Status, is.Status, is.ObservedGeneration, xr.GetGeneration(), untrue(u))
		}
		return nil
	})
}

// untrue returns the conditions of an object that are not true.
func untrue(u *unstructured.Unstructured) string {
	var out strings.Builder
	for _, c := range platform.Conditions(u) {
		if c.Status != "True" && c.Reason != "NotApplicable" { // the claim no longer has the component
			fmt.Fprintf(&out, "\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return out.String()
}

// object reads an object of the control plane.
func (d *dayTwo) object(ctx context.Context, t *testing.T, kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: d.namespace, Name: name}, u); err != nil {
		t.Fatal(err)
	}
	return u
}

// status returns a text in an object's status.
func status(u *unstructured.Unstructured, field string) string {
	s, _, _ := unstructured.NestedString(u.Object, "status", field)
	return s
}

// eventually retries until there is no error any more.
func eventually(ctx context.Context, t *testing.T, timeout time.Duration, so func() error) {
	t.Helper()
	if err := within(ctx, timeout, so); err != nil {
		t.Fatalf("after %.0f s: %v", timeout.Seconds(), err)
	}
}

// testKeys checks that a schedule of the claim that was due in the current minute, and is only due again in a year,
// rotates both sets of keys once. In the end every pod has them, and stored data is encrypted with the new one.
func (d *dayTwo) testKeys(ctx context.Context, t *testing.T) {
	all := map[string]string{"keystone-fernet-keys": "fernet", "keystone-credential-keys": "credentialKeys"}
	primary := func(name string) int64 {
		n, _, _ := unstructured.NestedInt64(d.object(ctx, t, keysKind, name).Object, "status", "primary")
		return n
	}
	before := map[string]int64{}
	var now time.Time
	eventually(ctx, t, 2*time.Minute, func() error { // schedules that were due before the first keys do not count
		now = time.Now().UTC()
		if created := d.object(ctx, t, keysKind, "keystone-fernet-keys").GetCreationTimestamp(); !now.Truncate(time.Minute).After(created.Time) {
			return fmt.Errorf("the keys were made in this minute, at %s", created)
		}
		return nil
	})
	schedule := fmt.Sprintf("%d %d %d %d *", now.Minute(), now.Hour(), now.Day(), now.Month())
	for name, field := range all {
		before[name] = primary(name)
		d.edit(ctx, t, schedule, "services", "keystone", field, "rotationSchedule")
	}
	eventually(ctx, t, 4*time.Minute, func() error {
		for name := range all {
			u := d.object(ctx, t, keysKind, name)
			for _, want := range []string{"Ready", "Distributed", "Migrated"} {
				if c, ok := platform.ConditionOf(u, want); ok && c.Status != "True" {
					return fmt.Errorf("%s: %s: %s", name, c.Reason, c.Message)
				}
			}
			if n := primary(name); n != before[name]+1 {
				return fmt.Errorf("the primary key of %s is %d, it was %d", name, n, before[name])
			}
		}
		return nil
	})
	d.ready(ctx, t)
}

// testCatalogCredential replaces K-ORC's credential as described in docs/how-to/secrets.md, and checks that both log in.
func (d *dayTwo) testCatalogCredential(ctx context.Context, t *testing.T) {
	u := d.object(ctx, t, rotationKind, "keystone-korc")
	before, old := status(u, "currentID"), secret(ctx, t, d.namespace, "keystone-korc")
	patch := fmt.Sprintf(`{"metadata": {"annotations": {"c5c3.io/rotate": %q}}}`, before)
	if err := cluster.Client.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	var current string
	eventually(ctx, t, 2*time.Minute, func() error {
		u := d.object(ctx, t, rotationKind, "keystone-korc")
		c, _ := platform.ConditionOf(u, "Distributed")
		if current = status(u, "currentID"); current == before || c.Status != "True" {
			return fmt.Errorf("the credential is %s, it was %s; distributed: %s", current, before, c.Message)
		}
		return nil
	})
	for _, s := range []map[string][]byte{old, secret(ctx, t, d.namespace, "keystone-korc")} {
		if err := d.authenticate(ctx, t, gophercloud.AuthOptions{
			ApplicationCredentialID:     string(s["application_credential_id"]),
			ApplicationCredentialSecret: string(s["application_credential_secret"]),
		}); err != nil {
			t.Errorf("the credential %s does not log in: %v", s["application_credential_id"], err)
		}
	}
	if yaml := string(secret(ctx, t, d.namespace, "keystone-korc-clouds")["clouds.yaml"]); !strings.Contains(yaml, current) {
		t.Error("K-ORC's clouds.yaml has another credential")
	}
}

// authenticate logs in again.
func (d *dayTwo) authenticate(ctx context.Context, t *testing.T, o gophercloud.AuthOptions) error {
	t.Helper()
	c := login(ctx, t, d.namespace)
	o.IdentityEndpoint = c.url
	other, err := openstack.NewClient(c.url)
	if err != nil {
		return err
	}
	other.HTTPClient = c.provider.HTTPClient
	return openstack.Authenticate(ctx, other, o)
}

// testOption checks that an option of the claim is in effect in Keystone when the claim is ready, with one more pod
// than before.
func (d *dayTwo) testOption(ctx context.Context, t *testing.T) {
	d.edit(ctx, t, "^.{10,}$", "services", "keystone", "config", "security_compliance", "password_regex")
	d.edit(ctx, t, int64(3), "services", "keystone", "replicas")
	// A pass of Crossplane that started before an edit may end after it, and report its result for the edit; so Ready
	// alone is not enough.
	eventually(ctx, t, 4*time.Minute, func() error {
		if n := d.pods(ctx, t, ""); n != 3 {
			return fmt.Errorf("Keystone has %d pods", n)
		}
		return nil
	})
	d.ready(ctx, t)
	c := login(ctx, t, d.namespace)
	for password, want := range map[string]int{"short": http.StatusBadRequest, "long enough for it": http.StatusCreated} {
		_, err := users.Create(ctx, c.identity, users.CreateOpts{Name: "tenant", Password: password, DomainID: "default"}).Extract()
		got := http.StatusCreated
		if u := (gophercloud.ErrUnexpectedResponseCode{}); errors.As(err, &u) {
			got = u.Actual
		}
		if got != want {
			t.Errorf("a user with the password %q: got %d (%v), want %d", password, got, err, want)
		}
	}
}

// pods counts the pods of Keystone's API that are not being deleted, and run an image with a tag.
func (d *dayTwo) pods(ctx context.Context, t *testing.T, tag string) int {
	t.Helper()
	api, all := &appsv1.Deployment{}, &corev1.PodList{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: d.namespace, Name: "keystone"}, api); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Client.List(ctx, all, client.InNamespace(d.namespace), client.MatchingLabels(api.Spec.Selector.MatchLabels)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range all.Items {
		if p.DeletionTimestamp == nil && strings.HasSuffix(p.Spec.Containers[0].Image, tag) {
			n++
		}
	}
	return n
}

// testCluster checks that a single server cannot become a Galera cluster, since its operator adds no volumes; the claim
// reports it, and nothing changes.
func (d *dayTwo) testCluster(ctx context.Context, t *testing.T) {
	before := d.object(ctx, t, mariaDBKind, "mariadb")
	d.edit(ctx, t, int64(3), "infrastructure", "mariadb", "replicas")
	valid := func(want string) func() error {
		return func() error {
			u := d.claim.DeepCopy()
			if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(d.claim), u); err != nil {
				return err
			}
			c, _ := platform.ConditionOf(u, "SpecValid")
			if c.Status != want || want == "False" && !strings.Contains(c.Message, "spec.infrastructure.mariadb.replicas") {
				return fmt.Errorf("SpecValid is %s: %s", c.Status, c.Message)
			}
			return nil
		}
	}
	eventually(ctx, t, time.Minute, valid("False"))
	if after := d.object(ctx, t, mariaDBKind, "mariadb"); after.GetGeneration() != before.GetGeneration() {
		t.Error("the database was changed")
	}
	d.edit(ctx, t, int64(1), "infrastructure", "mariadb", "replicas")
	eventually(ctx, t, time.Minute, valid("True"))
	d.ready(ctx, t)
}

// testUpgrade upgrades to another release, with two pods.
func (d *dayTwo) testUpgrade(to release.Release) func(context.Context, *testing.T) {
	return func(ctx context.Context, t *testing.T) {
		version, err := to.Version("keystone")
		if err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(d.claim.Object, int64(2), "spec", "services", "keystone", "replicas"); err != nil {
			t.Fatal(err)
		}
		d.edit(ctx, t, string(to), "openStackRelease")
		eventually(ctx, t, 4*time.Minute, func() error {
			if s := d.object(ctx, t, schemaKind, "keystone"); status(s, "contractedRelease") != string(to) || status(s, "phase") != "Done" {
				c, _ := platform.ConditionOf(s, "Contracted")
				return fmt.Errorf("the schema is in phase %s: %s", status(s, "phase"), c.Message)
			}
			return nil
		})
		d.ready(ctx, t)
		u := d.claim.DeepCopy()
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(d.claim), u); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{status(u, "release"), status(u, "updatePhase")}; got != [2]string{string(to), "Idle"} {
			t.Errorf("the claim is ready with release and updatePhase %v", got)
		}
		if n := d.pods(ctx, t, ":"+version); n != 2 {
			t.Errorf("%d pods run %s", n, version)
		}
	}
}

// retainedSecrets are Secrets that must outlive a claim: without them the data is inaccessible.
var retained = []string{"mariadb-root", "keystone-database", "keystone-admin", "keystone-fernet-keys", "keystone-credential-keys"}

// testRetain checks that a re-created claim adopts the retained objects: database, volumes, passwords and keys. Earlier
// tokens and users are valid.
func (d *dayTwo) testRetain(ctx context.Context, t *testing.T) {
	old := d.load.retained()
	d.load.stop()
	look := func() map[string]any {
		out := map[string]any{"database": d.object(ctx, t, mariaDBKind, "mariadb").GetUID()}
		for _, name := range retained {
			out[name] = secret(ctx, t, d.namespace, name)
		}
		volumes := &corev1.PersistentVolumeClaimList{}
		if err := cluster.Client.List(ctx, volumes, client.InNamespace(d.namespace)); err != nil {
			t.Fatal(err)
		}
		for _, v := range volumes.Items {
			out["volume "+v.Name] = v.UID
		}
		return out
	}
	before, project := look(), d.project(ctx, t)
	started := time.Now()
	d.remove(ctx, t)
	eventually(ctx, t, 3*time.Minute, func() error {
		remaining := &appsv1.DeploymentList{}
		if err := cluster.Client.List(ctx, remaining, client.InNamespace(d.namespace)); err != nil || len(remaining.Items) > 0 {
			return errors.Join(fmt.Errorf("%d Deployments are left", len(remaining.Items)), err)
		}
		return nil
	})
	t.Logf("gone after %.0f s", time.Since(started).Seconds())
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("without the claim: -before +after\n%s", diff)
	}
	started = time.Now()
	d.edit(ctx, t, "Retain", "deletionPolicy")
	d.ready(ctx, t)
	t.Logf("back after %.0f s", time.Since(started).Seconds())
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("with the claim again: -before +after\n%s", diff)
	}
	if restored := d.project(ctx, t); restored != project {
		t.Errorf("the project of the services was %s, and is %s", project, restored)
	}
	c := login(ctx, t, d.namespace)
	for _, token := range old {
		if err := tokens.Get(ctx, c.identity, token).Err; err != nil {
			t.Fatalf("an earlier token is not valid: %v", err)
		}
	}
	t.Logf("%d earlier tokens are valid", len(old))
	if err := d.authenticate(ctx, t, gophercloud.AuthOptions{Username: "tenant", Password: "long enough for it", DomainName: "Default"}); err != nil {
		t.Errorf("an earlier user does not log in: %v", err)
	}
}

// project returns the ID of the project that K-ORC has created.
func (d *dayTwo) project(ctx context.Context, t *testing.T) string {
	t.Helper()
	pages, err := projects.List(login(ctx, t, d.namespace).identity, projects.ListOpts{Name: "service"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil || len(all) != 1 {
		t.Fatalf("there are %d projects called service: %v", len(all), err)
	}
	return all[0].ID
}

// remove deletes the claim and waits until it is deleted.
func (d *dayTwo) remove(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := cluster.Client.Delete(ctx, d.claim.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, 4*time.Minute, func() error {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(d.claim), d.claim.DeepCopy()); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the claim is still there"), err)
		}
		return nil
	})
}
