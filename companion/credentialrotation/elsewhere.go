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

// elsewhere is somebody who uses the credential in another namespace or cluster, where nobody here sees anything, and which one it says
// that all of its pods have. Nothing: it does not know.
type elsewhere struct{ name, id string }

// observeElsewhere finds all who use what is in a Secret.
func observeElsewhere(ctx context.Context, reader client.Reader, secret client.ObjectKey) ([]elsewhere, error) {
	list := &c5c3v1.RemoteConsumerList{}
	if err := reader.List(ctx, list, client.InNamespace(secret.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the RemoteConsumers: %w", err)
	}
	var out []elsewhere
	for i := range list.Items {
		for _, c := range list.Items[i].Spec.Credentials {
			if string(c.SecretName) == secret.Name {
				out = append(out, elsewhere{list.Items[i].Name, c.ObservedID})
			}
		}
	}
	return out, nil
}

func (e elsewhere) waitsFor() string {
	return fmt.Sprintf("%s %s is not known to have the credential with all of its pods", remoteKind, e.name)
}

func (e elsewhere) leftBehind() string {
	return fmt.Sprintf("%s, and is not waited for any longer: the next credential is due", e.waitsFor())
}

// late are those elsewhere that are not known to have the credential.
func (w *world) late() []elsewhere {
	var out []elsewhere
	for _, e := range w.elsewhere {
		if e.id != w.record.ID {
			out = append(out, e)
		}
	}
	return out
}

// patience is until when they are waited for: until the next credential is due, whatever they do. They may belong to others, and may never
// come back: with them, a credential would be valid for ever, and those who are here would wait for the next one.
func (w *world) patience() time.Time { return w.ends() }
