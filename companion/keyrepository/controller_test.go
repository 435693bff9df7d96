package keyrepository

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

// start creates a cluster with a Deployment, and runs the controller until it is idle.
func start(t *testing.T, repo *openstackv1.KeyRepository) (*cluster, *Reconciler) {
	t.Helper()
	c := newCluster(t, repo, deployment())
	r := c.reconciler(c.API, c.API)
	c.run(r)
	return c, r
}

// reconcileN runs the controller and the simulation for a number of passes.
func (c *cluster) reconcileN(r *Reconciler) {
	for range 25 {
		c.pass(r)
	}
}

func (c *cluster) change(do func(*openstackv1.KeyRepository)) {
	c.T.Helper()
	repo := c.repo()
	do(repo)
	repo.Generation++
	c.Must(c.API.Update(context.Background(), repo))
}

func (c *cluster) annotate(name, value string) {
	c.T.Helper()
	c.change(func(r *openstackv1.KeyRepository) { metav1.SetMetaDataAnnotation(&r.ObjectMeta, name, value) })
}

func (c *cluster) edit(do func(*corev1.Secret)) {
	c.T.Helper()
	s := c.secret()
	do(s)
	c.Must(c.API.Update(context.Background(), s))
}

func (c *cluster) deleteSecret() {
	c.T.Helper()
	c.Must(c.API.Delete(context.Background(), c.secret()))
}

// expect compares a condition: "True KeysReady". Its message must contain the words.
func (c *cluster) expect(condition, want string, wantParts ...string) {
	c.T.Helper()
	repo := c.repo()
	got := meta.FindStatusCondition(repo.Status.Conditions, condition)
	if got == nil {
		c.T.Fatalf("no condition %s", condition)
		return
	}
	if text := string(got.Status) + " " + got.Reason; text != want {
		c.T.Errorf("%s is %s, not %s: %s", condition, text, want, got.Message)
	}
	for _, w := range wantParts {
		if !strings.Contains(got.Message, w) {
			c.T.Errorf("the message of %s does not contain %q: %s", condition, w, got.Message)
		}
	}
	if got.ObservedGeneration != repo.Generation || repo.Status.ObservedGeneration != repo.Generation {
		c.T.Errorf("%s is of generation %d, not %d", condition, got.ObservedGeneration, repo.Generation)
	}
}

// recordedText returns the events so far with their reasons, and fails if one reveals a key.
func (c *cluster) recordedText() string {
	c.T.Helper()
	text := strings.Join(controllertest.Events(c.events), "\n")
	for _, k := range c.set() {
		if strings.Contains(text, string(k)) {
			c.T.Error("an event reveals a key")
		}
	}
	return text
}

func TestCreate(t *testing.T) {
	c := newCluster(t, fernet())
	c.reconcileN(c.reconciler(c.API, c.API))
	s := c.secret()
	if s == nil {
		t.Fatal("no Secret")
	}
	if len(s.OwnerReferences) != 0 || s.Labels["app.kubernetes.io/managed-by"] != managedBy {
		t.Errorf("owners %v, labels %v", s.OwnerReferences, s.Labels)
	}
	// Pods that mount the keys cannot start before the keys are ready.
	c.expect("Ready", "True KeysReady", "keys [0 1]", "1 is primary")
	c.expect("Distributed", "False Waiting", "Deployment keystone does not exist")
	status := c.repo().Status
	if status.ContentHash != c.set().Hash() || status.Primary != 1 || status.NeededKeys != 3 || !slices.Equal(status.Keys, []int32{0, 1}) {
		t.Errorf("%+v", status)
	}
	if want := time.Date(2026, time.March, 8, 0, 0, 0, 0, time.UTC); status.NextRotation == nil || !status.NextRotation.Time.Equal(want) {
		t.Errorf("next rotation %v", status.NextRotation)
	}
	if reported := c.recordedText(); !strings.Contains(reported, "Normal KeysCreated") {
		t.Error(reported)
	}
	c.Verify()
}

func TestAdoptsExistingKeys(t *testing.T) {
	random := newCluster(t, fernet()).random
	set, _ := keys.Setup(random)
	for range 5 {
		set, _ = set.Rotate(random, 9)
	}
	c := newCluster(t, fernet(), deployment(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace}, Data: set.Data(),
	})
	r := c.reconciler(c.API, c.API)
	c.run(r)
	if diff := cmp.Diff(set, c.set()); diff != "" {
		t.Error("changed existing keys: ", diff)
	}
	if reported := c.recordedText(); !strings.Contains(reported, "Normal KeysAdopted") {
		t.Error(reported)
	}
	c.untilRotation(r)
	c.Verify()
}

func TestStoreBeforeTheFirstKeys(t *testing.T) {
	c := newCluster(t, withBackup(credential()))
	r := c.reconciler(c.API, c.API)
	c.storeDown = true
	c.reconcileN(r)
	if c.secret() != nil {
		t.Fatal("made keys while the store was down")
	}
	c.expect("Ready", "False SecretStoreUnavailable", "store vault", "synthetic message", regenerateAnnotation+`: "repo-uid"`)

	t.Run("Found", func(t *testing.T) {
		set, _ := keys.Setup(c.random)
		c.store["prod/keys"] = set.Data()
		c.store["prod/keys"]["custom_metadata"] = []byte("map[managed-by:external-secrets]")
		c.storeDown = false
		c.reconcileN(r)
		if diff := cmp.Diff(set, c.set()); diff != "" {
			t.Error("not the keys of the backup: ", diff)
		}
		c.expect("BackedUp", "True Pushed")
		copied := &corev1.Secret{}
		if c.API.Get(context.Background(), key(secretName+"-restore"), copied) == nil {
			t.Error("the copy of the keys is still there")
		}
		if reported := c.recordedText(); !strings.Contains(reported, "Normal KeysRestored") {
			t.Error(reported)
		}
	})
	for name, tc := range map[string]struct {
		do   func(*cluster)
		want bool
	}{
		"NoEntry":      {func(c *cluster) { c.storeDown = false }, true},
		"Forced":       {func(c *cluster) { c.annotate(regenerateAnnotation, "repo-uid") }, true},
		"ForcedForAll": {func(c *cluster) { c.annotate(regenerateAnnotation, "true") }, false},
		"InvalidEntry": {func(c *cluster) {
			c.storeDown, c.store["prod/keys"] = false, map[string][]byte{"0": []byte("x")}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, withBackup(credential()))
			r := c.reconciler(c.API, c.API)
			c.storeDown = true
			c.reconcileN(r)
			tc.do(c)
			c.reconcileN(r)
			if regenerated := c.secret() != nil; regenerated != tc.want {
				t.Errorf("keys: %v. %s", regenerated, c.conditions())
			}
		})
	}
}

// TestStoreHasAMoment: if the store responds quickly, the first keys do not wait for the next poll.
func TestStoreHasAMoment(t *testing.T) {
	c := newCluster(t, withBackup(credential()))
	result, err := c.reconciler(c.API, c.API).Reconcile(context.Background(), c.request())
	if err != nil || result.RequeueAfter != storeResponseTime {
		t.Errorf("looks again after %s: %v", result.RequeueAfter, err)
	}
}

func TestNoExternalSecrets(t *testing.T) {
	c := newCluster(t, withBackup(fernet()))
	absent := interceptor.NewClient(c.API, interceptor.Funcs{
		List: func(ctx context.Context, api client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*unstructured.UnstructuredList); ok {
				return &meta.NoKindMatchError{GroupKind: pushSecretKind.GroupKind()}
			}
			return api.List(ctx, l, opts...)
		},
	})
	c.reconcileN(c.reconciler(absent, absent))
	c.expect("Ready", "False SecretStoreUnavailable", "External Secrets is not installed")
	if c.secret() != nil {
		t.Error("made keys without knowing of a backup")
	}
}

func TestKeysOutliveKeyRepository(t *testing.T) {
	c, r := start(t, withBackup(fernet()))
	request := c.request()
	before := c.set()
	c.Must(c.API.Delete(context.Background(), c.repo()))
	if _, err := r.Reconcile(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if c.set().Hash() != before.Hash() {
		t.Error("the keys went with the KeyRepository")
	}
	// A re-created claim finds its keys.
	repo := withBackup(fernet())
	repo.UID = "another"
	c.Must(c.API.Create(context.Background(), repo))
	c.reconcileN(r)
	if c.set().Hash() != before.Hash() {
		t.Error("not the same keys")
	}
	c.expect("Ready", "True KeysReady")
}
