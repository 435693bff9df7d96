package secretaggregate

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// sizeLimit of a Secret's data in bytes.
	sizeLimit = corev1.MaxSecretSize

	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "cobaltcore-companion"
	// nameAnnotation of a Secret is the name of its SecretAggregate, by which a Secret without owner is recognized.
	nameAnnotation = "c5c3.io/secret-aggregate"
	// saltAnnotation of a Secret is the key of its content hash, which is public: without the key, a password could be
	// guessed from the hash. Only users who can read the Secret can read it.
	saltAnnotation = "c5c3.io/content-salt"
	// saltLength in bytes.
	saltLength = 16
)

// observation is the state that was read in one pass, from which all decisions are made. It contains secrets: do not print
// it.
type observation struct {
	aggregate *c5c3v1.SecretAggregate
	now       time.Time
	// salt for a Secret that has none yet.
	salt string
	// values of the existing sources by name.
	values map[string]string
	// missing is a message for each missing source.
	missing []string
	// target is nil if it does not exist.
	target *corev1.Secret
	// protectedSecrets are the Secrets that the companion may not read; "" if none exist.
	protectedSecrets string
}

// observe reads the state live. Each Secret is read once, so that its keys are consistent.
func observe(ctx context.Context, env *controller.Env, aggregate *c5c3v1.SecretAggregate) (*observation, error) {
	w := &observation{aggregate: aggregate, now: env.Clock.Now(), values: map[string]string{}}
	secrets, denied := map[string]*corev1.Secret{}, []string{}
	get := func(name string) (*corev1.Secret, error) {
		if s, ok := secrets[name]; ok {
			return s, nil
		}
		s, err := apireader.Get(ctx, env.Reader, "Secret", client.ObjectKey{Namespace: aggregate.Namespace, Name: name}, &corev1.Secret{})
		switch {
		case apierrors.IsForbidden(err):
			denied = append(denied, name)
		case err != nil:
			return nil, err
		}
		secrets[name] = s
		return s, nil
	}
	for _, source := range aggregate.Spec.Sources {
		ref := source.SecretKeyRef
		s, err := get(string(ref.Name))
		if err != nil {
			return nil, err
		}
		if s == nil {
			w.missing = append(w.missing, fmt.Sprintf("source %s: Secret %s does not exist", source.Name, ref.Name))
			continue
		}
		value, ok := s.Data[string(ref.Key)]
		if !ok {
			w.missing = append(w.missing, fmt.Sprintf("source %s: Secret %s has no key %s", source.Name, ref.Name, ref.Key))
			continue
		}
		w.values[source.Name] = string(value)
	}
	var err error
	if w.target, err = get(string(aggregate.Spec.TargetSecretName)); err != nil {
		return nil, err
	}
	slices.Sort(denied)
	w.protectedSecrets = strings.Join(denied, ", ")
	w.salt, err = env.RandomText(saltLength, hex.EncodeToString)
	return w, err
}

// foreign describes the owner of an existing Secret; "" if it belongs to this SecretAggregate or does not exist.
func (obs *observation) foreign() string {
	if obs.target == nil {
		return ""
	}
	owner := metav1.GetControllerOf(obs.target)
	switch {
	case owner == nil && obs.target.Labels[managedByLabel] == managedBy && obs.target.Annotations[nameAnnotation] == obs.aggregate.Name:
		return "" // A restored copy has no owner.
	case owner == nil:
		return "it was not created by this SecretAggregate. Rename or delete it"
	case owner.UID == obs.aggregate.UID:
		return ""
	case owner.Kind == aggregateKind && owner.Name == obs.aggregate.Name:
		return "it belongs to an earlier SecretAggregate of the same name and is about to be deleted"
	}
	return fmt.Sprintf("it belongs to %s %s", owner.Kind, owner.Name)
}

// desiredSecret returns the Secret with the given data. Metadata of others, such as finalizers, is retained.
func (obs *observation) desiredSecret(data map[string][]byte) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: string(obs.aggregate.Spec.TargetSecretName), Namespace: obs.aggregate.Namespace},
		Type:       corev1.SecretTypeOpaque,
	}
	salt := obs.salt
	if obs.target != nil {
		s = obs.target.DeepCopy()
		salt = cmp.Or(s.Annotations[saltAnnotation], salt)
	}
	s.Data = data
	s.Labels = labels.Merge(s.Labels, map[string]string{"app.kubernetes.io/part-of": "openstack", managedByLabel: managedBy})
	s.Annotations = labels.Merge(s.Annotations, map[string]string{nameAnnotation: obs.aggregate.Name, saltAnnotation: salt})
	if metav1.GetControllerOf(s) == nil {
		isController := true
		s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{
			APIVersion: c5c3v1.GroupVersion.String(), Kind: aggregateKind, Name: obs.aggregate.Name, UID: obs.aggregate.UID,
			Controller: &isController,
		})
	}
	return s
}

// contentHash returns the salted hash of a Secret's data.
func contentHash(s *corev1.Secret) string {
	h := hmac.New(sha256.New, []byte(s.Annotations[saltAnnotation]))
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		fmt.Fprintf(h, "%d:%s%d:", len(key), key, len(s.Data[key]))
		h.Write(s.Data[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}
