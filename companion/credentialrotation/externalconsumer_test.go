package credentialrotation

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// pool returns an external consumer of a Secret.
func pool(namespace, secret string) *c5c3v1.RemoteConsumer {
	return &c5c3v1.RemoteConsumer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "west"},
		Spec:       c5c3v1.RemoteConsumerSpec{Credentials: []c5c3v1.ConsumedCredential{{SecretName: common.ObjectName(secret)}}},
	}
}

// reports sets the credential that the pool reports for its pods.
func (c *cluster) reports(p *c5c3v1.RemoteConsumer, id string) {
	c.t.Helper()
	p.Spec.Credentials[0].ObservedID = id
	c.must(c.api.Update(context.Background(), p))
}

// replaced advances the clock until another credential is in use, and the consumers in the cluster have it.
func (c *cluster) replaced(r *Reconciler) {
	c.t.Helper()
	old, _ := c.nextCredential()
	c.clock.SetTime(c.clock.Now().Add(83 * day))
	for range 20 {
		c.pass(r)
	}
	if got, _ := c.nextCredential(); got == old {
		c.t.Fatalf("not replaced: %s", c.conditions())
	}
}

// TestWaitsForExternalConsumers: the rotation waits for an external consumer until the next credential is due.
func TestWaitsForExternalConsumers(t *testing.T) {
	const shortly, rotationTime = 3 * day, 83 * day
	noop := func(*cluster, *c5c3v1.RemoteConsumer) {}
	for name, tc := range map[string]struct {
		reason string
		// namespace and secret of the consumer, if they differ from those of the rotation.
		namespace, secret string
		// then is executed when the consumers in the cluster have the new credential.
		then func(*cluster, *c5c3v1.RemoteConsumer)
		// acceptedAfterRevoke is when to check whether the old credential is accepted.
		acceptedAfterRevoke time.Duration
		accepted            bool
		// distributed is the reason of the condition, and wantMessage a part of its message.
		distributed, wantMessage string
	}{
		"Waits": {
			reason: "Its pods have the old credential.", then: noop, acceptedAfterRevoke: shortly, accepted: true,
			distributed: "Waiting", wantMessage: "RemoteConsumer west is not known to have the credential with all of its pods",
		},
		"Almost": {
			reason: "Until the next credential is due.", then: noop, acceptedAfterRevoke: rotationTime - day, accepted: true,
			distributed: "Waiting",
		},
		"Unknown": {
			reason: "Without a reported ID, its pods may have the old one.",
			then:   func(c *cluster, p *c5c3v1.RemoteConsumer) { c.reports(p, "") }, acceptedAfterRevoke: shortly, accepted: true,
			distributed: "Waiting",
		},
		"Has": {
			reason: "All of its pods have the new credential.",
			then:   func(c *cluster, p *c5c3v1.RemoteConsumer) { c.reports(p, c.rotation().Status.CurrentID) }, acceptedAfterRevoke: shortly,
			distributed: "DistributedToConsumers",
		},
		"Gone": {
			reason: "A deleted pool is not waited for.",
			then:   func(c *cluster, p *c5c3v1.RemoteConsumer) { c.must(c.api.Delete(context.Background(), p)) }, acceptedAfterRevoke: shortly,
			distributed: "DistributedToConsumers",
		},
		"Never": {
			reason: "A consumer that never reports again does not prevent the next rotation.", then: noop,
			acceptedAfterRevoke: rotationTime + shortly, distributed: "Waiting",
		},
		"Ordered": {
			reason: "A user requests the next rotation without waiting.",
			then: func(c *cluster, _ *c5c3v1.RemoteConsumer) {
				c.edit(func(r *c5c3v1.CredentialRotation) {
					r.Annotations = map[string]string{rotateAnnotation: r.Status.CurrentID}
				})
			},
			acceptedAfterRevoke: shortly, distributed: "Waiting",
		},
		"Other": {
			reason: "A consumer of another Secret is ignored.", secret: "nova-credential", then: noop, acceptedAfterRevoke: shortly,
			distributed: "DistributedToConsumers",
		},
		"OtherNamespace": {
			reason: "So is a consumer of another control plane.", namespace: "team-b-other-1", then: noop, acceptedAfterRevoke: shortly,
			distributed: "DistributedToConsumers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := start(t, rotationOf(applicationCredential))
			p := pool(cmp.Or(tc.namespace, c.rotation().Namespace), cmp.Or(tc.secret, secretName))
			c.must(c.api.Create(t.Context(), p))
			old, _ := c.nextCredential()
			c.reports(p, old.id)
			c.replaced(r)
			tc.then(c, p)
			step := day / time.Duration(effort.Of(1, 2))
			for passed := time.Duration(0); passed < tc.acceptedAfterRevoke; passed += step {
				c.clock.SetTime(c.clock.Now().Add(step))
				for range effort.Of(4, 12) {
					c.pass(r)
				}
			}
			if got := c.accepts(old); got != tc.accepted {
				t.Errorf("%s\nthe old one is accepted: %t: %s", tc.reason, got, c.conditions())
			}
			if got := c.condition(conditionDistributed); got.Reason != tc.distributed || !strings.Contains(got.Message, tc.wantMessage) {
				t.Errorf("%s\n%+v", tc.reason, got)
			}
			for _, v := range c.violations {
				t.Error(v)
			}
		})
	}
}

// TestStaleCredentials: an event reports that an external consumer is not waited for, and the condition stays False.
func TestStaleCredentials(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	p := pool(c.rotation().Namespace, secretName)
	c.must(c.api.Create(t.Context(), p))
	c.reports(p, "another")
	c.replaced(r)
	c.output()
	c.clock.SetTime(c.clock.Now().Add(83 * day))
	for range 4 { // Within the grace period.
		c.pass(r)
	}
	if got := c.condition(conditionDistributed); got.Status != metav1.ConditionFalse || got.Reason != "ConsumersOutOfDate" {
		t.Errorf("%+v", got)
	}
	const wantEvent = "Warning CredentialDistributed RemoteConsumer west is not known to have the credential with all of its pods; the " +
		"rotation " +
		"no longer waits for it, because the next credential is due"
	if requested := c.output(); !strings.Contains(requested, wantEvent) {
		t.Errorf("no event: %s", requested)
	}
}
