package keyrepository

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

// create creates an object. An existing object is a conflict.
func create(o client.Object) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		if err := env.Client.Create(ctx, o); err != nil {
			return fmt.Errorf("cannot create %s: %w", o.GetName(), err)
		}
		return nil
	}
}

// generateKeys generates random keys.
func generateKeys(w *observation) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		set, err := keys.Setup(env.Random)
		if err != nil {
			return err
		}
		return writeKeys(w, set, created(w.now, w.neededKeys.Lifetime))(ctx, env)
	}
}

func rotate(w *observation) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		set, err := w.set.Rotate(env.Random, w.limit)
		if err != nil {
			return err
		}
		if err := writeKeys(w, set, w.record.rotated(set, w.now, w.neededKeys.Lifetime))(ctx, env); err != nil {
			return err
		}
		rotations.WithLabelValues(w.repo.Namespace, w.repo.Name).Inc()
		return nil
	}
}

// writeKeys writes keys with their record: into a new Secret if none exists, otherwise over exactly the version that was
// read. The Secret has no owner: it outlives the KeyRepository.
func writeKeys(w *observation, set keys.Set, rec record) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: string(w.repo.Spec.SecretName), Namespace: w.repo.Namespace,
				Labels: map[string]string{
					"app.kubernetes.io/part-of":    "openstack",
					"app.kubernetes.io/managed-by": managedBy,
					"openstack.c5c3.io/keys":       strings.ToLower(w.repo.Spec.Type),
				},
			},
			Type: corev1.SecretTypeOpaque,
		}
		if w.secret != nil {
			secret = w.secret.DeepCopy()
		}
		rec.writeTo(secret, set)
		return env.Write(ctx, secret)
	}
}

// sentence joins the lines of an error message.
func sentence(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
