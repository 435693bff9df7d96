package keyrepository

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

func TestRestoresOrReportsDeletedKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		repo   *openstackv1.KeyRepository
		mishap func(*cluster)
		// same: the keys are restored; made: others were created; neither: there are none.
		same, regenerated bool
		condition         string
		event             string
	}{
		"CredentialBackedUp": {
			"They are restored from the backup.", withBackup(credential()), func(*cluster) {}, true, false, "True KeysReady", "Warning KeysRestored",
		},
		"FernetBackedUp": {"The same.", withBackup(fernet()), func(*cluster) {}, true, false, "True KeysReady", "Warning KeysRestored"},
		"StoreDown": {
			"No keys are created while the store may have them.", withBackup(fernet()), func(c *cluster) { c.storeDown = true },
			false, false, "False SecretStoreUnavailable", "Warning SecretStoreUnavailable",
		},
		"BackupGone": {
			"Stored data requires exactly these keys.", withBackup(credential()), func(c *cluster) { delete(c.store, "prod/keys") },
			false, false, "False SecretMissing", "Warning SecretMissing",
		},
		"CredentialNoBackup": {"The same.", credential(), func(*cluster) {}, false, false, "False SecretMissing", "Warning SecretMissing"},
		"StatusLost": {
			"The pods still have the annotation of the previous keys.", credential(), func(c *cluster) {
				repo := c.repo()
				repo.Status = openstackv1.KeyRepositoryStatus{}
				c.Must(c.API.Status().Update(context.Background(), repo))
			}, false, false, "False SecretMissing", "Warning SecretMissing",
		},
		"FernetNoBackup": {
			"Tokens are invalid anyway, and no pod can start.", fernet(), func(*cluster) {}, false, true, "True KeysReady",
			"Warning KeysRegenerated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := start(t, tc.repo)
			before := c.set()
			c.recordedText()
			c.deleteSecret()
			c.sealed = nil // Encrypted data is lost in one case, and not read in the others until the keys are restored.
			tc.mishap(c)
			c.reconcileN(r)
			after := c.set()
			if same, regenerated := after != nil && after.Hash() == before.Hash(), after != nil && after.Hash() != before.Hash(); same != tc.same ||
				regenerated != tc.regenerated {
				t.Errorf("same %v, made %v. %s", same, regenerated, tc.reason)
			}
			c.expect("Ready", tc.condition)
			if reported := c.recordedText(); strings.Count(reported, tc.event) != 1 {
				t.Errorf("not exactly once %q:\n%s", tc.event, reported)
			}
		})
	}
}

func TestRegeneratesKeysOncePerConsent(t *testing.T) {
	c, r := start(t, credential())
	previousHash := c.set().Hash()
	c.deleteSecret()
	c.sealed = nil
	c.reconcileN(r)
	c.expect("Ready", "False SecretMissing", regenerateAnnotation+`: "`+previousHash+`"`)
	c.annotate(regenerateAnnotation, "repo-uid")
	c.reconcileN(r)
	if c.secret() != nil {
		t.Fatal("took a consent that was not for these keys")
	}
	c.annotate(regenerateAnnotation, previousHash)
	c.reconcileN(r)
	if set := c.set(); set == nil || set.Hash() == previousHash {
		t.Fatal("made no new keys")
	}
	c.deleteSecret()
	c.reconcileN(r)
	if c.secret() != nil {
		t.Error("took the consent twice")
	}
}

func TestRestoresOrReportsEditedKeys(t *testing.T) {
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
				c.recordedText()
				c.edit(edit)
				edited := c.secret()
				c.mounted, c.sealed, c.noRollout = map[string]keys.Set{}, nil, true
				c.reconcileN(r)
				c.Clock.SetTime(c.Clock.Now().Add(60 * 24 * time.Hour))
				c.reconcileN(r)
				if diff := cmp.Diff(edited, c.secret()); diff != "" {
					t.Error("changed a modified Secret: ", diff)
				}
				c.expect("Ready", "False SecretEdited", "Revert")
				if reported := c.recordedText(); strings.Count(reported, "Warning SecretEdited") != 1 {
					t.Error(reported)
				}
				c.edit(func(s *corev1.Secret) { s.Data, s.Annotations = before.Data, before.Annotations })
				c.reconcileN(r)
				c.expect("Ready", "True KeysReady")
			})
			t.Run("Backup", func(t *testing.T) {
				c, r := start(t, withBackup(credential()))
				before := c.set()
				c.edit(edit)
				c.reconcileN(r)
				if c.set().Hash() != before.Hash() {
					t.Error("not restored")
				}
				c.expect("Ready", "True KeysReady")
				c.expect("Distributed", "True AllPodsRestarted")
			})
		})
	}
}

// TestRemovedRecordPreservesKeys removes the annotation, as a tool may that replaces the Secret.
func TestRemovedRecordPreservesKeys(t *testing.T) {
	for _, text := range []string{"", "{"} {
		c, r := start(t, fernet())
		before := c.set()
		c.edit(func(s *corev1.Secret) {
			delete(s.Annotations, recordAnnotation)
			if text != "" {
				s.Annotations[recordAnnotation] = text
			}
		})
		c.reconcileN(r)
		if c.set().Hash() != before.Hash() {
			t.Error("changed keys that were as they should be")
		}
		c.expect("Ready", "True KeysReady")
		c.untilRotation(r)
		c.Verify()
	}
}

func TestAcceptsEditedKeysByAnnotation(t *testing.T) {
	c, r := start(t, fernet())
	c.edit(func(s *corev1.Secret) { s.Data["1"], s.Data["0"] = s.Data["0"], s.Data["1"] })
	edited := c.set()
	c.reconcileN(r)
	c.expect("Ready", "False SecretEdited", acceptAnnotation+`: "`+edited.Hash()+`"`)
	c.annotate(acceptAnnotation, edited.Hash())
	c.reconcileN(r)
	c.expect("Ready", "True KeysReady")
	if c.repo().Status.ContentHash != edited.Hash() {
		t.Error("not taken over")
	}
}

// FuzzHandEdited writes arbitrary data into the Secret. Without a backup, a Secret that is not known to be valid is never
// changed.
func FuzzHandEdited(f *testing.F) {
	f.Add("0", []byte("x"), "1", []byte(nil), `{"hash":""}`, true)
	f.Add("-1", []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), "x", []byte("\x00"), `[]`, false)
	f.Add("0", []byte("\n"), "00", []byte("x"), `{"hash":"?","neededUntil":{"-7":"2026-01-01T00:00:00Z"}}`, true)
	f.Fuzz(func(t *testing.T, n0 string, k0 []byte, n1 string, k1 []byte, rec string, keep bool) {
		c := newCluster(t, credential())
		r := c.reconciler(c.API, c.API)
		reconcile := func() {
			if _, err := r.Reconcile(context.Background(), c.request()); err != nil {
				t.Fatal(err)
			}
		}
		reconcile() // generates the keys
		reconcile() // updates the status
		c.edit(func(s *corev1.Secret) {
			if !keep {
				s.Data = map[string][]byte{}
				s.Annotations[recordAnnotation] = rec
			}
			s.Data[n0], s.Data[n1] = k0, k1
		})
		edited := c.secret()
		_, invalid := keys.Parse(edited.Data)
		reconcile()
		reconcile()
		if invalid != nil {
			if diff := cmp.Diff(edited, c.secret()); diff != "" {
				t.Error(diff)
			}
			c.expect("Ready", "False SecretEdited")
		}
	})
}
