package keyrepository

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

// start makes a cluster with a Deployment, and lets the controller come to rest.
func start(t *testing.T, repo *openstackv1.KeyRepository) (*cluster, *Reconciler) {
	t.Helper()
	c := newCluster(t, repo, deployment())
	r := c.reconciler(c.api, c.api)
	c.run(r)
	return c, r
}

// passes lets the controller and the world go on for a while, whether or not they come to rest.
func (c *cluster) passes(r *Reconciler) {
	for range 25 {
		c.pass(r)
	}
}

func (c *cluster) change(do func(*openstackv1.KeyRepository)) {
	c.t.Helper()
	repo := c.repo()
	do(repo)
	repo.Generation++
	c.must(c.api.Update(context.Background(), repo))
}

func (c *cluster) annotate(name, value string) {
	c.t.Helper()
	c.change(func(r *openstackv1.KeyRepository) { metav1.SetMetaDataAnnotation(&r.ObjectMeta, name, value) })
}

func (c *cluster) edit(do func(*corev1.Secret)) {
	c.t.Helper()
	s := c.secret()
	do(s)
	c.must(c.api.Update(context.Background(), s))
}

func (c *cluster) deleteSecret() {
	c.t.Helper()
	c.must(c.api.Delete(context.Background(), c.secret()))
}

// expect compares a condition: "True KeysReady". Words have to be in its message.
func (c *cluster) expect(condition, want string, words ...string) {
	c.t.Helper()
	repo := c.repo()
	got := meta.FindStatusCondition(repo.Status.Conditions, condition)
	if got == nil {
		c.t.Fatalf("no condition %s", condition)
		return
	}
	if text := string(got.Status) + " " + got.Reason; text != want {
		c.t.Errorf("%s is %s, not %s: %s", condition, text, want, got.Message)
	}
	for _, w := range words {
		if !strings.Contains(got.Message, w) {
			c.t.Errorf("%s does not say %q: %s", condition, w, got.Message)
		}
	}
	if got.ObservedGeneration != repo.Generation || repo.Status.ObservedGeneration != repo.Generation {
		c.t.Errorf("%s is of generation %d, not %d", condition, got.ObservedGeneration, repo.Generation)
	}
}

// told gives the events so far with their reasons, and fails if one tells a key.
func (c *cluster) told() string {
	c.t.Helper()
	var all []string
	for len(c.events.Events) > 0 {
		all = append(all, <-c.events.Events)
	}
	text := strings.Join(all, "\n")
	for _, k := range c.set() {
		if strings.Contains(text, string(k)) {
			c.t.Error("an event tells a key")
		}
	}
	return text
}

func (c *cluster) clean() {
	c.t.Helper()
	for _, v := range c.violations {
		c.t.Error(v)
	}
}

func TestCreate(t *testing.T) {
	c := newCluster(t, fernet())
	c.passes(c.reconciler(c.api, c.api))
	s := c.secret()
	if s == nil {
		t.Fatal("no Secret")
	}
	if len(s.OwnerReferences) != 0 || s.Labels["app.kubernetes.io/managed-by"] != managedBy {
		t.Errorf("owners %v, labels %v", s.OwnerReferences, s.Labels)
	}
	// Nothing that needs keys can start before they are ready.
	c.expect("Ready", "True KeysReady", "keys [0 1]", "1 is primary")
	c.expect("Distributed", "False Waiting", "Deployment keystone does not exist")
	status := c.repo().Status
	if status.ContentHash != c.set().Hash() || status.Primary != 1 || status.NeededKeys != 3 || !slices.Equal(status.Keys, []int32{0, 1}) {
		t.Errorf("%+v", status)
	}
	if want := time.Date(2026, time.March, 8, 0, 0, 0, 0, time.UTC); status.NextRotation == nil || !status.NextRotation.Time.Equal(want) {
		t.Errorf("next rotation %v", status.NextRotation)
	}
	if told := c.told(); !strings.Contains(told, "Normal KeysCreated") {
		t.Error(told)
	}
	c.clean()
}

func TestAdopt(t *testing.T) {
	random := newCluster(t, fernet()).random
	set, _ := keys.Setup(random)
	for range 5 {
		set, _ = set.Rotate(random, 9)
	}
	c := newCluster(t, fernet(), deployment(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace}, Data: set.Data(),
	})
	r := c.reconciler(c.api, c.api)
	c.run(r)
	if diff := cmp.Diff(set, c.set()); diff != "" {
		t.Error("changed keys that were there: ", diff)
	}
	if told := c.told(); !strings.Contains(told, "Normal KeysAdopted") {
		t.Error(told)
	}
	c.untilRotation(r)
	c.clean()
}

func TestStoreBeforeTheFirstKeys(t *testing.T) {
	c := newCluster(t, withBackup(credential()))
	r := c.reconciler(c.api, c.api)
	c.storeDown = true
	c.passes(r)
	if c.secret() != nil {
		t.Fatal("made keys while the store was down")
	}
	c.expect("Ready", "False StoreUnknown", "store vault", "it said so", regenerateAnnotation+`: "repo-uid"`)

	t.Run("Found", func(t *testing.T) {
		set, _ := keys.Setup(c.random)
		c.store["prod/keys"] = set.Data()
		c.store["prod/keys"]["custom_metadata"] = []byte("map[managed-by:external-secrets]")
		c.storeDown = false
		c.passes(r)
		if diff := cmp.Diff(set, c.set()); diff != "" {
			t.Error("not the keys of the backup: ", diff)
		}
		c.expect("BackedUp", "True Pushed")
		copied := &corev1.Secret{}
		if c.api.Get(context.Background(), key(secretName+"-restore"), copied) == nil {
			t.Error("the copy of the keys is still there")
		}
		if told := c.told(); !strings.Contains(told, "Normal KeysRestored") {
			t.Error(told)
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
			r := c.reconciler(c.api, c.api)
			c.storeDown = true
			c.passes(r)
			tc.do(c)
			c.passes(r)
			if made := c.secret() != nil; made != tc.want {
				t.Errorf("keys: %v. %s", made, conditionsOf(c.repo()))
			}
		})
	}
}

func TestDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		repo   *openstackv1.KeyRepository
		mishap func(*cluster)
		// same: the keys are back; made: others are there; neither: none are.
		same, made bool
		condition  string
		event      string
	}{
		"CredentialBackedUp": {
			"The backup brings them back.", withBackup(credential()), func(*cluster) {}, true, false, "True KeysReady", "Warning KeysRestored",
		},
		"FernetBackedUp": {"The same.", withBackup(fernet()), func(*cluster) {}, true, false, "True KeysReady", "Warning KeysRestored"},
		"StoreDown": {
			"Nothing is made while the store may have them.", withBackup(fernet()), func(c *cluster) { c.storeDown = true },
			false, false, "False StoreUnknown", "Warning StoreUnknown",
		},
		"BackupGone": {
			"What is stored needs these keys and no others.", withBackup(credential()), func(c *cluster) { delete(c.store, "prod/keys") },
			false, false, "False SecretMissing", "Warning SecretMissing",
		},
		"CredentialNoBackup": {"The same.", credential(), func(*cluster) {}, false, false, "False SecretMissing", "Warning SecretMissing"},
		"StatusLost": {
			"The pods still name the keys that were there.", credential(), func(c *cluster) {
				repo := c.repo()
				repo.Status = openstackv1.KeyRepositoryStatus{}
				c.must(c.api.Status().Update(context.Background(), repo))
			}, false, false, "False SecretMissing", "Warning SecretMissing",
		},
		"FernetNoBackup": {
			"Tokens are void anyway, and no pod can start.", fernet(), func(*cluster) {}, false, true, "True KeysReady", "Warning KeysRegenerated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := start(t, tc.repo)
			before := c.set()
			c.told()
			c.deleteSecret()
			c.sealed = nil // What was encrypted is lost in one case, and not read in the others until the keys are back.
			tc.mishap(c)
			c.passes(r)
			after := c.set()
			if same, made := after != nil && after.Hash() == before.Hash(), after != nil && after.Hash() != before.Hash(); same != tc.same || made != tc.made {
				t.Errorf("same %v, made %v. %s", same, made, tc.reason)
			}
			c.expect("Ready", tc.condition)
			if told := c.told(); strings.Count(told, tc.event) != 1 {
				t.Errorf("not exactly once %q:\n%s", tc.event, told)
			}
		})
	}
}

func TestRegenerateOnce(t *testing.T) {
	c, r := start(t, credential())
	lost := c.set().Hash()
	c.deleteSecret()
	c.sealed = nil
	c.passes(r)
	c.expect("Ready", "False SecretMissing", regenerateAnnotation+`: "`+lost+`"`)
	c.annotate(regenerateAnnotation, "repo-uid")
	c.passes(r)
	if c.secret() != nil {
		t.Fatal("took a consent that was not for these keys")
	}
	c.annotate(regenerateAnnotation, lost)
	c.passes(r)
	if set := c.set(); set == nil || set.Hash() == lost {
		t.Fatal("made no new keys")
	}
	c.deleteSecret()
	c.passes(r)
	if c.secret() != nil {
		t.Error("took the consent twice")
	}
}

func TestEdited(t *testing.T) {
	edits := map[string]func(*corev1.Secret){
		"KeyReplaced": func(s *corev1.Secret) {
			other, _ := keys.Setup(newCluster(t, fernet()).random)
			s.Data["1"] = []byte(other[1][:40] + other[0][40:])
		},
		"KeyRemoved": func(s *corev1.Secret) { delete(s.Data, "0") },
		"KeyEmptied": func(s *corev1.Secret) { s.Data["1"] = nil },
		"EntryAdded": func(s *corev1.Secret) { s.Data["README"] = []byte("do not touch") },
		"AllRemoved": func(s *corev1.Secret) { s.Data = nil },
		"BothReplaced": func(s *corev1.Secret) {
			s.Annotations = nil
			s.Data["1"], s.Data["0"] = s.Data["0"], s.Data["1"]
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			t.Run("NoBackup", func(t *testing.T) {
				c, r := start(t, fernet())
				before := c.secret()
				c.told()
				c.edit(edit)
				edited := c.secret()
				c.mounted, c.sealed, c.noRollout = map[string]keys.Set{}, nil, true
				c.passes(r)
				c.clock.SetTime(c.clock.Now().Add(60 * 24 * time.Hour))
				c.passes(r)
				if diff := cmp.Diff(edited, c.secret()); diff != "" {
					t.Error("touched what somebody had edited: ", diff)
				}
				c.expect("Ready", "False SecretEdited", "Undo")
				if told := c.told(); strings.Count(told, "Warning SecretEdited") != 1 {
					t.Error(told)
				}
				c.edit(func(s *corev1.Secret) { s.Data, s.Annotations = before.Data, before.Annotations })
				c.passes(r)
				c.expect("Ready", "True KeysReady")
			})
			t.Run("Backup", func(t *testing.T) {
				c, r := start(t, withBackup(credential()))
				before := c.set()
				c.edit(edit)
				c.passes(r)
				if c.set().Hash() != before.Hash() {
					t.Error("not restored")
				}
				c.expect("Ready", "True KeysReady")
				c.expect("Distributed", "True EveryPod")
			})
		})
	}
}

// TestRecordLost takes the annotation away, as a tool may that writes the Secret anew.
func TestRecordLost(t *testing.T) {
	for _, text := range []string{"", "{"} {
		c, r := start(t, fernet())
		before := c.set()
		c.edit(func(s *corev1.Secret) {
			delete(s.Annotations, recordAnnotation)
			if text != "" {
				s.Annotations[recordAnnotation] = text
			}
		})
		c.passes(r)
		if c.set().Hash() != before.Hash() {
			t.Error("changed keys that were as they should be")
		}
		c.expect("Ready", "True KeysReady")
		c.untilRotation(r)
		c.clean()
	}
}

func TestAccept(t *testing.T) {
	c, r := start(t, fernet())
	c.edit(func(s *corev1.Secret) { s.Data["1"], s.Data["0"] = s.Data["0"], s.Data["1"] })
	edited := c.set()
	c.passes(r)
	c.expect("Ready", "False SecretEdited", acceptAnnotation+`: "`+edited.Hash()+`"`)
	c.annotate(acceptAnnotation, edited.Hash())
	c.passes(r)
	c.expect("Ready", "True KeysReady")
	if c.repo().Status.ContentHash != edited.Hash() {
		t.Error("not taken over")
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(*openstackv1.KeyRepository)
		want []string
	}{
		"TooFew": {func(r *openstackv1.KeyRepository) {
			r.Spec.RotationSchedule, r.Spec.MaxActiveKeys = "0 0 * * *", ptr.To[int32](4)
		}, []string{"spec.maxActiveKeys 4 is too small", "ceil(49h0m0s / 24h0m0s) = 3", "makes 5 keys"}},
		"TooOften": {func(r *openstackv1.KeyRepository) { r.Spec.RotationSchedule = "*/10 * * * *" }, []string{"more than 200 keys", "makes 296 keys"}},
		"Schedule": {func(r *openstackv1.KeyRepository) { r.Spec.RotationSchedule = "0 0 30 2 *" }, []string{"never comes"}},
		"NoToken":  {func(r *openstackv1.KeyRepository) { r.Spec.Token = nil }, []string{"spec.token"}},
	} {
		t.Run(name, func(t *testing.T) {
			repo := fernet()
			tc.do(repo)
			c := newCluster(t, repo)
			c.passes(c.reconciler(c.api, c.api))
			if c.secret() != nil {
				t.Error("made keys")
			}
			c.expect("Ready", "False Refused", tc.want...)

			c, r := start(t, fernet())
			before := c.set().Hash()
			c.change(tc.do)
			c.clock.SetTime(c.clock.Now().Add(30 * 24 * time.Hour))
			c.passes(r)
			c.expect("Ready", "False Refused", tc.want...)
			if c.set().Hash() != before || c.repo().Status.NextRotation != nil {
				t.Error("rotated")
			}
		})
	}
}

func TestRotationWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		stop, goOn    func(*cluster)
		condition, is string
	}{
		"Pods": {
			"The proof is missing.", func(c *cluster) { c.noRollout = true }, func(c *cluster) { c.noRollout = false },
			"Distributed", "False Waiting",
		},
		"Migration": {
			"What is stored needs an older key.", func(c *cluster) { c.jobFails = true }, func(c *cluster) { c.jobFails = false },
			"Migrated", "False Waiting",
		},
		"Backup": {
			"A key would encrypt of which there is one copy.", func(c *cluster) { c.storeDown = true }, func(c *cluster) { c.storeDown = false },
			"BackedUp", "False Waiting",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := start(t, withBackup(credential()))
			tc.stop(c)
			c.clock.SetTime(c.repo().Status.NextRotation.Time)
			c.passes(r)
			for range 6 {
				c.clock.SetTime(c.clock.Now().Add(20 * 24 * time.Hour))
				c.passes(r)
			}
			if c.primary != 2 {
				t.Errorf("at %d after one rotation. %s", c.primary, tc.reason)
			}
			c.expect(tc.condition, tc.is)
			c.expect("Ready", "True RotationWaits", "was due")
			tc.goOn(c)
			c.clock.SetTime(c.clock.Now().Add(time.Hour))
			c.passes(r)
			c.clock.SetTime(c.clock.Now().Add(time.Hour))
			c.passes(r)
			c.passes(r)
			if c.primary != 3 {
				t.Errorf("does not go on: %s", conditionsOf(c.repo()))
			}
			c.clean()
		})
	}
}

func TestSuspend(t *testing.T) {
	c, r := start(t, fernet())
	c.change(func(r *openstackv1.KeyRepository) { r.Spec.Suspend = true })
	c.clock.SetTime(c.clock.Now().Add(30 * 24 * time.Hour))
	c.passes(r)
	c.expect("Ready", "True KeysReady")
	if c.primary != 1 || c.repo().Status.NextRotation != nil {
		t.Error("rotated")
	}
	c.change(func(r *openstackv1.KeyRepository) { r.Spec.Suspend = false })
	c.passes(r)
	if c.primary != 2 {
		t.Error("rotations that were missed are made up for, once")
	}
	c.clean()
}

// TestFewerKeys changes from many keys to few, which would purge keys that tokens still need.
func TestFewerKeys(t *testing.T) {
	repo := fernet()
	repo.Spec.RotationSchedule = "0 * * * *"
	repo.Spec.Token = &openstackv1.TokenLifetime{ExpirationSeconds: 5 * 3600}
	c := newCluster(t, repo, deployment())
	c.lifetime = 5 * time.Hour
	r := c.reconciler(c.api, c.api)
	c.run(r)
	for range 8 {
		c.untilRotation(r)
	}
	if n := len(c.set()); n != 7 {
		t.Fatalf("%d keys", n)
	}
	next := c.clock.Now().Add(30 * time.Minute)
	c.change(func(r *openstackv1.KeyRepository) { r.Spec.RotationSchedule = "0 0 * * *" })
	c.clock.SetTime(time.Date(2026, time.March, 2, 23, 59, 0, 0, time.UTC))
	for c.clock.Now().Before(next.Add(8 * time.Hour)) {
		c.clock.SetTime(c.clock.Now().Add(20 * time.Minute))
		c.tick()
		c.passes(r)
	}
	if n := len(c.set()); n != 3 {
		t.Errorf("%d keys", n)
	}
	c.clean()
}

func TestMigrationJob(t *testing.T) {
	c, r := start(t, credential())
	c.untilRotation(r)
	jobs := &batchv1.JobList{}
	c.must(c.api.List(context.Background(), jobs))
	if len(jobs.Items) != 1 {
		t.Fatalf("%d Jobs", len(jobs.Items))
	}
	job := jobs.Items[0]
	if len(job.OwnerReferences) != 1 || job.OwnerReferences[0].UID != "repo-uid" {
		t.Error(job.OwnerReferences)
	}
	pod := job.Spec.Template
	if _, ok := pod.Labels["app"]; ok {
		t.Error("the pod is behind the workload's Service")
	}
	want := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "keystone", Image: "keystone:1", Command: []string{"keystone-manage", "credential_migrate"},
			Env: []corev1.EnvVar{{Name: "DATABASE_PASSWORD", Value: "x"}},
		}},
	}
	if diff := cmp.Diff(want, pod.Spec); diff != "" {
		t.Error(diff)
	}
	c.clean()
}

func TestNoExternalSecrets(t *testing.T) {
	c := newCluster(t, withBackup(fernet()))
	absent := interceptor.NewClient(c.api, interceptor.Funcs{
		List: func(ctx context.Context, api client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*unstructured.UnstructuredList); ok {
				return &meta.NoKindMatchError{GroupKind: pushSecretKind.GroupKind()}
			}
			return api.List(ctx, l, opts...)
		},
	})
	c.passes(c.reconciler(absent, absent))
	c.expect("Ready", "False StoreUnknown", "External Secrets is not installed")
	if c.secret() != nil {
		t.Error("made keys without knowing of a backup")
	}
}

func TestGone(t *testing.T) {
	c, r := start(t, withBackup(fernet()))
	request := c.request()
	before := c.set()
	c.must(c.api.Delete(context.Background(), c.repo()))
	if _, err := r.Reconcile(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if c.set().Hash() != before.Hash() {
		t.Error("the keys went with the KeyRepository")
	}
	// The same claim, made again, finds its keys.
	repo := withBackup(fernet())
	repo.UID = "another"
	c.must(c.api.Create(context.Background(), repo))
	c.passes(r)
	if c.set().Hash() != before.Hash() {
		t.Error("not the same keys")
	}
	c.expect("Ready", "True KeysReady")
}

// FuzzHandEdited puts anything into the Secret. Without a backup, what is not known to be right is never written to.
func FuzzHandEdited(f *testing.F) {
	f.Add("0", []byte("x"), "1", []byte(nil), `{"hash":""}`, true)
	f.Add("-1", []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), "x", []byte("\x00"), `[]`, false)
	f.Add("0", []byte("\n"), "00", []byte("x"), `{"hash":"?","neededUntil":{"-7":"2026-01-01T00:00:00Z"}}`, true)
	f.Fuzz(func(t *testing.T, n0 string, k0 []byte, n1 string, k1 []byte, rec string, keep bool) {
		c := newCluster(t, credential())
		r := c.reconciler(c.api, c.api)
		c.passes(r)
		c.edit(func(s *corev1.Secret) {
			if !keep {
				s.Data = map[string][]byte{}
				s.Annotations[recordAnnotation] = rec
			}
			s.Data[n0], s.Data[n1] = k0, k1
		})
		edited := c.secret()
		_, invalid := keys.Parse(edited.Data)
		for range 3 {
			if _, err := r.Reconcile(context.Background(), c.request()); err != nil {
				t.Fatal(err)
			}
		}
		if invalid != nil {
			if diff := cmp.Diff(edited, c.secret()); diff != "" {
				t.Error(diff)
			}
			c.expect("Ready", "False SecretEdited")
		}
	})
}
