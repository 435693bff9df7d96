package credentialrotation

import (
	"context"
	"encoding/base64"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
)

// Random lengths in bytes. The encoded secret has 43 characters; bcrypt, with which Keystone stores it, reads at most 72.
const (
	secretLength = 32
	nameLength   = 8
)

// stage writes a new secret and a new name into the Secret before the credential is created from them.
func stage(w *observation) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		value, err := env.RandomText(secretLength, base64.RawURLEncoding.EncodeToString)
		if err != nil {
			return err
		}
		name, err := env.RandomText(nameLength, hex.EncodeToString)
		if err != nil {
			return err
		}
		rec := w.record
		rec.Staged, rec.StagedRoles = w.target.staged(w, name), w.roles()
		return write(w, rec, map[string]string{w.stagedKey(): value})(ctx, env)
	}
}

// callKeystone runs an action in Keystone and reports its error as an event.
func callKeystone(w *observation, do controller.Action) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		err := do(ctx, env)
		if err != nil {
			env.Event(w.rotation, corev1.EventTypeWarning, "RejectedByKeystone", err.Error())
		}
		return err
	}
}

// promote puts the staged credential into use.
func promote(w *observation, id string) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		idKey, valueKey := w.target.keys()
		data := map[string]string{valueKey: w.staged(), w.stagedKey(): ""}
		if idKey != "" {
			data[idKey] = id
		}
		if err := write(w, w.record.replaced(id, w.staged(), w.now), data)(ctx, env); err != nil {
			return err
		}
		rotations.WithLabelValues(w.rotation.Namespace, w.rotation.Name).Inc()
		return nil
	}
}

// adoptPassword assigns an ID to the password in the Secret.
func adoptPassword(w *observation) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		id, err := env.RandomText(nameLength, hex.EncodeToString)
		if err != nil {
			return err
		}
		rec := w.record.replaced(id, w.value(), w.now)
		rec.Staged = w.record.Staged
		return write(w, rec, nil)(ctx, env)
	}
}

func writeRecord(w *observation, rec record) controller.Action { return write(w, rec, nil) }

// write writes the record and the given keys: into a new Secret if none exists, otherwise over exactly the version that was
// read. An empty value removes a key; other keys are retained. The Secret has no owner: it outlives the CredentialRotation.
func write(w *observation, rec record, data map[string]string) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: string(w.rotation.Spec.SecretName), Namespace: w.rotation.Namespace,
				Labels: map[string]string{"app.kubernetes.io/part-of": "openstack", managedByLabel: managedBy},
			},
			Type: corev1.SecretTypeOpaque,
		}
		if w.secret != nil {
			secret = w.secret.DeepCopy()
		}
		jsonannotation.Write(&secret.ObjectMeta, recordAnnotation, rec)
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		for key, value := range data {
			if value == "" {
				delete(secret.Data, key)
				continue
			}
			secret.Data[key] = []byte(value)
		}
		return env.Write(ctx, secret)
	}
}
