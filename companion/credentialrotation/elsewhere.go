package credentialrotation

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// remoteKind is the kind of a consumer whose pods are elsewhere.
const remoteKind = "RemoteConsumer"

// externalConsumer is somebody who uses the credential in another namespace or cluster, where nobody here sees anything, and which one it says
// that all of its pods have. Nothing: it does not know.
type externalConsumer struct{ name, id string }

// observeExternalConsumers finds all who use what is in a Secret.
func observeExternalConsumers(ctx context.Context, reader client.Reader, secret client.ObjectKey) ([]externalConsumer, error) {
	list := &c5c3v1.RemoteConsumerList{}
	if err := reader.List(ctx, list, client.InNamespace(secret.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the RemoteConsumers: %w", err)
	}
	var out []externalConsumer
	for i := range list.Items {
		for _, c := range list.Items[i].Spec.Credentials {
			if string(c.SecretName) == secret.Name {
				out = append(out, externalConsumer{list.Items[i].Name, c.ObservedID})
			}
		}
	}
	return out, nil
}

func (e externalConsumer) copyPendingReason() string {
	return fmt.Sprintf("%s %s is not known to have the credential with all of its pods", remoteKind, e.name)
}

func (e externalConsumer) staleCredentials() string {
	return fmt.Sprintf("%s, and is not waited for any longer: the next credential is due", e.copyPendingReason())
}

// outdatedConsumers are those elsewhere that are not known to have the credential.
func (obs *observation) outdatedConsumers() []externalConsumer {
	var out []externalConsumer
	for _, e := range obs.externalConsumers {
		if e.id != obs.record.ID {
			out = append(out, e)
		}
	}
	return out
}

// failureThreshold is until when they are waited for: until the next credential is due, whatever they do. They may belong to others, and may never
// come back: with them, a credential would be valid for ever, and those who are here would wait for the next one.
func (obs *observation) failureThreshold() time.Time { return obs.expiryTime() }
