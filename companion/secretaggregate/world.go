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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
)

const (
	// sizeLimit of a Secret's data, in bytes.
	sizeLimit = corev1.MaxSecretSize

	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "cobaltcore-companion"
	// nameAnnotation of a Secret names the SecretAggregate that it is of: one that lost its owner is known by it.
	nameAnnotation = "c5c3.io/secret-aggregate"
	// saltAnnotation of a Secret is the key of its content's hash, which is public: without it, a password could be guessed from the
	// hash. Whoever reads it reads the Secret itself.
	saltAnnotation = "c5c3.io/content-salt"
	// saltLength is in bytes.
	saltLength = 16
)

// observation is everything that a decision depends on, as it was read in one pass. It holds secret values: it is never printed.
type observation struct {
	aggregate *c5c3v1.SecretAggregate
	now       time.Time
	// salt is for a Secret that has none yet.
	salt string
	// values of the sources that are there, by their names.
	values map[string]string
	// missing says of each other source what is missing.
	missing []string
	// target is nil if there is none.
	target *corev1.Secret
	// protectedSecrets names the Secrets that the companion may not read: no words if there are none.
	protectedSecrets string
}

// observe reads the world live. Keys of one Secret are read at once, so they belong together.
func observe(ctx context.Context, env *controller.Env, aggregate *c5c3v1.SecretAggregate) (*observation, error) {
	w := &observation{aggregate: aggregate, now: env.Clock.Now(), values: map[string]string{}}
	secrets, denied := map[string]*corev1.Secret{}, []string{}
	get := func(name string) (*corev1.Secret, error) {
		if s, ok := secrets[name]; ok {
			return s, nil
		}
		s, err := live.Get(ctx, env.Reader, "Secret", client.ObjectKey{Namespace: aggregate.Namespace, Name: name}, &corev1.Secret{})
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

// foreign says whose the Secret is that is there: no words if it is ours or there is none.
func (obs *observation) foreign() string {
	if obs.target == nil {
		return ""
	}
	owner := metav1.GetControllerOf(obs.target)
	switch {
	case owner == nil && obs.target.Labels[managedByLabel] == managedBy && obs.target.Annotations[nameAnnotation] == obs.aggregate.Name:
		return "" // A copy that was put back has no owner.
	case owner == nil:
		return "it was not made by this SecretAggregate. Rename or delete it"
	case owner.UID == obs.aggregate.UID:
		return ""
	case owner.Kind == aggregateKind && owner.Name == obs.aggregate.Name:
		return "it is that of an earlier SecretAggregate of the same name, and is about to be deleted"
	}
	return fmt.Sprintf("it belongs to %s %s", owner.Kind, owner.Name)
}

// desiredSecret is the Secret as it has to be with given data. What others have added to its metadata, such as finalizers, stays.
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
			APIVersion: c5c3v1.GroupVersion.String(), Kind: aggregateKind, Name: obs.aggregate.Name, UID: obs.aggregate.UID, Controller: &isController,
		})
	}
	return s
}

// contentHash of a Secret.
func contentHash(s *corev1.Secret) string {
	h := hmac.New(sha256.New, []byte(s.Annotations[saltAnnotation]))
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		fmt.Fprintf(h, "%d:%s%d:", len(key), key, len(s.Data[key]))
		h.Write(s.Data[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}
