package credentialrotation

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// remoteKind is the kind of a consumer whose pods run in another namespace or cluster.
const remoteKind = "RemoteConsumer"

// externalConsumer is a consumer in another namespace or cluster, which the companion cannot observe, and the ID of the
// credential that it reports for all of its pods. The ID is "" if it is unknown.
type externalConsumer struct{ name, id string }

// observeExternalConsumers returns all external consumers of a Secret.
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
	return fmt.Sprintf("%s; the rotation no longer waits for it, because the next credential is due", e.copyPendingReason())
}

// outdatedConsumers returns the external consumers that are not known to have the current credential.
func (obs *observation) outdatedConsumers() []externalConsumer {
	var out []externalConsumer
	for _, e := range obs.externalConsumers {
		if e.id != obs.record.ID {
			out = append(out, e)
		}
	}
	return out
}

// failureThreshold returns the time until which the rotation waits for external consumers: the time at which the next
// credential is due. External consumers may never report; otherwise the old credential would stay valid forever, and the
// consumers in this cluster would wait for the next one.
func (obs *observation) failureThreshold() time.Time { return obs.expiryTime() }
