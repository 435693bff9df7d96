package keyrepository

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Kinds of External Secrets (https://external-secrets.io/latest/api/pushsecret/ and …/externalsecret/).
var (
	pushSecretKind     = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1alpha1", Kind: "PushSecret"}
	externalSecretKind = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"}
)

const (
	// backupLabel of a PushSecret is derived from the name of the Secret; backupAnnotation identifies the pushed keys and
	// their target.
	backupLabel      = "openstack.c5c3.io/backup-of"
	backupAnnotation = "openstack.c5c3.io/backup"
	// storeKind is the default of the schema.
	storeKind = "ClusterSecretStore"
)

// backup is the state of the copies in the store, as reported by External Secrets.
type backup struct {
	// pushes are the PushSecrets of this repository. One whose annotation is observation.backupID was created after the
	// Secret contained these keys; if it is Ready, the keys are in the store.
	pushes []unstructured.Unstructured
	// restore is the ExternalSecret that requests the keys from the store; nil if it does not exist.
	restore *unstructured.Unstructured
	// restored is the entry that the store returned.
	restored map[string][]byte
	// missing is set if External Secrets is not installed.
	missing error
}

// storeResult is the result of a restore request.
type storeResult string

const (
	// unknown: the store has not responded, or is unreachable.
	unknown storeResult = ""
	// storeEntryFound: restored contains the entry.
	storeEntryFound storeResult = "Found"
	// storeEntryMissing: the store responded that the entry does not exist. External Secrets reports that as success with a
	// reason of its own (reason SecretDeleted of an ExternalSecret with deletionPolicy Delete), and every other failure as
	// Ready=False.
	storeEntryMissing storeResult = "NoEntry"
)

func (b backup) answer() storeResult {
	if b.restore == nil {
		return unknown
	}
	switch status, reason, _ := readyCondition(b.restore); {
	case status == "True" && reason == "SecretDeleted":
		return storeEntryMissing
	case status == "True" && reason == "SecretSynced" && len(b.restored) > 0:
		return storeEntryFound
	}
	return unknown
}

// filterKeys removes metadata of the store, such as custom_metadata in Vault's first key-value engine.
func filterKeys(data map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for name, value := range data {
		if _, err := strconv.Atoi(name); err == nil {
			out[name] = value
		}
	}
	return out
}

// observeBackup reads the PushSecrets and the ExternalSecret of the repository.
func observeBackup(ctx context.Context, reader client.Reader, w *observation) (backup, error) {
	b := backup{}
	pushes := &unstructured.UnstructuredList{}
	pushes.SetGroupVersionKind(pushSecretKind)
	err := reader.List(ctx, pushes, client.InNamespace(w.repo.Namespace), client.MatchingLabels{backupLabel: w.backupOf()})
	if meta.IsNoMatchError(err) {
		b.missing = fmt.Errorf("cannot reach the secret store: External Secrets is not installed: %w", err)
		return b, nil
	}
	if err != nil {
		return b, fmt.Errorf("cannot list PushSecrets: %w", err)
	}
	b.pushes = pushes.Items
	restore := &unstructured.Unstructured{}
	restore.SetGroupVersionKind(externalSecretKind)
	if err := reader.Get(ctx, w.key(w.restoreName()), restore); err != nil {
		return b, client.IgnoreNotFound(err)
	}
	b.restore = restore
	copied := &corev1.Secret{}
	if err := reader.Get(ctx, w.key(w.restoreName()), copied); err != nil {
		return b, client.IgnoreNotFound(err)
	}
	b.restored = copied.Data
	return b, nil
}

// backedUp returns the time at which these keys were pushed to the store; if they were not, ok is false and problem is the
// message of External Secrets.
func (b backup) backedUp(id string) (at time.Time, ok bool, problem string) {
	for i := range b.pushes {
		if b.pushes[i].GetAnnotations()[backupAnnotation] != id {
			continue
		}
		status, _, message := readyCondition(&b.pushes[i])
		if status != "True" {
			problem = message
			continue
		}
		text, _, _ := unstructured.NestedString(b.pushes[i].Object, "status", "refreshTime")
		refreshed, err := time.Parse(time.RFC3339, text)
		if err == nil && refreshed.After(at) {
			at = refreshed
		}
		ok = true
	}
	return at, ok, problem
}

// stale returns the pushes that are no longer needed: all except today's, once that is Ready.
func (b backup) stale(today string) []*unstructured.Unstructured {
	done := slices.ContainsFunc(b.pushes, func(p unstructured.Unstructured) bool {
		status, _, _ := readyCondition(&p)
		return p.GetName() == today && status == "True"
	})
	if !done {
		return nil
	}
	var old []*unstructured.Unstructured
	for i := range b.pushes {
		if b.pushes[i].GetName() != today {
			old = append(old, &b.pushes[i])
		}
	}
	return old
}

func (b backup) has(name string) bool {
	return slices.ContainsFunc(b.pushes, func(p unstructured.Unstructured) bool { return p.GetName() == name })
}

// backupID returns a hash of these keys and their location in the store.
func (obs *observation) backupID() string {
	const digits = 32
	b := obs.repo.Spec.Backup
	return names.Hash(digits, obs.record.Hash, b.SecretStoreRef.Kind, string(b.SecretStoreRef.Name), b.RemoteKey)
}

// pushName returns a name that changes with the keys and daily, so that an entry removed from the store is restored within a
// day.
func (obs *observation) pushName() string {
	return rights.DerivedName(string(obs.repo.Spec.SecretName),
		"push-"+names.Hash(rights.SuffixDigits, obs.backupID(), obs.now.UTC().Format(time.DateOnly)))
}

func (obs *observation) restoreName() string {
	return rights.RestoreName(string(obs.repo.Spec.SecretName))
}

// store returns the name of the store for messages; "" without a backup.
func (obs *observation) store() string {
	if obs.repo.Spec.Backup == nil {
		return ""
	}
	return "store " + string(obs.repo.Spec.Backup.SecretStoreRef.Name)
}

// backupOf returns the Secret's name as a label value, which has at most 63 characters.
func (obs *observation) backupOf() string {
	return rights.DerivedName(string(obs.repo.Spec.SecretName), "keys")
}

// pushSecret copies all keys to the store once. It has no refresh interval, so that a modified Secret is not copied. The copy
// is retained when the PushSecret is deleted.
func (obs *observation) pushSecret() *unstructured.Unstructured {
	b := obs.repo.Spec.Backup
	o := object.New(pushSecretKind.GroupVersion().String(), pushSecretKind.Kind, object.Meta{
		Name: obs.pushName(), Namespace: obs.repo.Namespace,
		Labels:      map[string]string{backupLabel: obs.backupOf(), "app.kubernetes.io/managed-by": managedBy},
		Annotations: map[string]string{backupAnnotation: obs.backupID()},
	}, object.Map{
		"updatePolicy":    "Replace",
		"deletionPolicy":  "None",
		"refreshInterval": "0s",
		"secretStoreRefs": object.List{object.Map{"name": string(b.SecretStoreRef.Name), "kind": cmp.Or(b.SecretStoreRef.Kind, storeKind)}},
		"selector":        object.Map{"secret": object.Map{"name": string(obs.repo.Spec.SecretName)}},
		"data":            object.List{object.Map{"match": object.Map{"remoteRef": object.Map{"remoteKey": b.RemoteKey}}}},
	})
	o.SetOwnerReferences(obs.owners())
	return o
}

// externalSecret requests the keys from the store. They are written to a separate Secret, which is deleted with it.
func (obs *observation) externalSecret() *unstructured.Unstructured {
	b := obs.repo.Spec.Backup
	o := object.New(externalSecretKind.GroupVersion().String(), externalSecretKind.Kind, object.Meta{
		Name: obs.restoreName(), Namespace: obs.repo.Namespace,
		Labels: map[string]string{"app.kubernetes.io/managed-by": managedBy},
	}, object.Map{
		"refreshInterval": "1m",
		"secretStoreRef":  object.Map{"name": string(b.SecretStoreRef.Name), "kind": cmp.Or(b.SecretStoreRef.Kind, storeKind)},
		"target":          object.Map{"name": obs.restoreName(), "creationPolicy": "Owner", "deletionPolicy": "Delete"},
		"dataFrom":        object.List{object.Map{"extract": object.Map{"key": b.RemoteKey}}},
	})
	o.SetOwnerReferences(obs.owners())
	return o
}

// readyCondition returns the condition Ready of an object of External Secrets.
func readyCondition(o *unstructured.Unstructured) (status, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" {
			status, _ = m["status"].(string)
			reason, _ = m["reason"].(string)
			message, _ = m["message"].(string)
		}
	}
	return status, reason, message
}
