package credentialrotation

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// aggregateKind is the kind of a consumer that copies the credential.
const aggregateKind = "SecretAggregate"

// secretCopy is the Secret of a SecretAggregate that takes the application credential in. Who logs in by it reads it anew each time,
// so that nobody has what it no longer holds for longer than a login takes.
type secretCopy struct {
	name string
	// exists is set if there is such a SecretAggregate. secret is nil if it has made none.
	exists bool
	secret *corev1.Secret
}

func observeCopy(ctx context.Context, reader client.Reader, key client.ObjectKey) (secretCopy, error) {
	c, a := secretCopy{name: key.Name}, &c5c3v1.SecretAggregate{}
	switch err := reader.Get(ctx, key, a); {
	case apierrors.IsNotFound(err):
		return c, nil
	case err != nil:
		return c, fmt.Errorf("cannot read SecretAggregate %s: %w", key.Name, err)
	}
	c.exists = true
	secret := &corev1.Secret{}
	key.Name = string(a.Spec.TargetSecretName)
	switch err := reader.Get(ctx, key, secret); {
	case apierrors.IsNotFound(err):
		return c, nil
	case err != nil:
		return c, fmt.Errorf("cannot read Secret %s: %w", key.Name, err)
	}
	c.secret = secret
	return c, nil
}

// waitsFor says why it is not proven that the copy is of that application credential: no words if it is. An ID is no secret, and no two
// credentials have the same.
func (c secretCopy) waitsFor(id string) string {
	if !c.exists {
		return fmt.Sprintf("SecretAggregate %s does not exist", c.name)
	}
	if c.secret != nil {
		for _, value := range c.secret.Data {
			if bytes.Contains(value, []byte(id)) {
				return ""
			}
		}
	}
	return fmt.Sprintf("the Secret of SecretAggregate %s does not hold the credential yet", c.name)
}
