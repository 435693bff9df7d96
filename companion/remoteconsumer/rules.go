package remoteconsumer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// observation is the state from which the status is computed.
type observation struct {
	consumer *c5c3v1.RemoteConsumer
	now      time.Time
	// current are the IDs of the credentials in use by the name of their Secret.
	current map[common.ObjectName]string
}

func observe(ctx context.Context, env *controller.Env, c *c5c3v1.RemoteConsumer) (*observation, error) {
	w := &observation{consumer: c, now: env.Clock.Now(), current: map[common.ObjectName]string{}}
	rotations := &c5c3v1.CredentialRotationList{}
	if err := env.Reader.List(ctx, rotations, client.InNamespace(c.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the CredentialRotations: %w", err)
	}
	for _, r := range rotations.Items {
		if id := r.Status.CurrentID; id != "" {
			w.current[r.Spec.SecretName] = id
		}
	}
	return w, nil
}

// next updates the status, and polls while a credential is missing. Changes trigger a pass.
func next(w *observation) controller.Decision {
	s := controller.Decision{Status: w.report, RequeueAfter: controller.ResyncInterval}
	if len(w.unknown()) > 0 {
		s.RequeueAfter = controller.Poll
	}
	return s
}

// unknown returns the Secrets without a credential of a rotation.
func (obs *observation) unknown() (out []string) {
	for _, c := range obs.consumer.Spec.Credentials {
		if obs.current[c.SecretName] == "" {
			out = append(out, string(c.SecretName))
		}
	}
	return out
}

// late returns the Secrets whose credential in use the consumer is not known to have.
func (obs *observation) late() (out []string) {
	for _, c := range obs.consumer.Spec.Credentials {
		if c.ObservedID != obs.current[c.SecretName] {
			out = append(out, string(c.SecretName))
		}
	}
	return out
}

func (obs *observation) report() {
	s := &obs.consumer.Status
	s.ObservedGeneration, s.Credentials = obs.consumer.Generation, nil
	for _, c := range obs.consumer.Spec.Credentials {
		if id := obs.current[c.SecretName]; id != "" {
			s.Credentials = append(s.Credentials, c5c3v1.CurrentCredential{SecretName: c.SecretName, CurrentID: id})
		}
	}
	set := func(name string, state condition.State) {
		condition.Set(&s.Conditions, name, obs.consumer.Generation, obs.now, state)
	}
	ready, current := condition.True("Tracked", "all credentials are tracked; rotations wait for this consumer"),
		condition.True("PodsUpToDate", "all of its pods have the credentials in use")
	if unknown := obs.unknown(); len(unknown) > 0 {
		ready = condition.False("NoCredential", "no CredentialRotation of this namespace has a credential in Secret "+strings.Join(unknown, ", "))
	}
	if late := obs.late(); len(late) > 0 {
		current = condition.False("Waiting", "some pods are not known to use the current credential of Secret "+strings.Join(late, ", "))
	}
	set(conditionReady, ready)
	set(conditionCurrent, current)
}
