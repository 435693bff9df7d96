package credentialrotation

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
)

// aggregateKind is the kind of a consumer that copies the credential.
const aggregateKind = "SecretAggregate"

// secretCopy is the Secret of a SecretAggregate that includes the application credential. Clients read it again for each
// login, so no client uses replaced content for longer than one login takes.
type secretCopy struct {
	name string
	// exists is set if the SecretAggregate exists. secret is nil if it has not created its Secret.
	exists bool
	secret *corev1.Secret
}

func observeCopy(ctx context.Context, reader client.Reader, key client.ObjectKey) (secretCopy, error) {
	a, err := apireader.Get(ctx, reader, aggregateKind, key, &c5c3v1.SecretAggregate{})
	if err != nil || a == nil {
		return secretCopy{name: key.Name}, err
	}
	target := client.ObjectKey{Namespace: key.Namespace, Name: string(a.Spec.TargetSecretName)}
	secret, err := apireader.Get(ctx, reader, "Secret", target, &corev1.Secret{})
	return secretCopy{name: key.Name, exists: true, secret: secret}, err
}

// copyPendingReason returns why the copy is not proven to contain the application credential; "" if it is. IDs are not
// secret, and they are unique.
func (c secretCopy) copyPendingReason(id string) string {
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
