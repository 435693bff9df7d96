package credentialrotation

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// TestCreatesFirstCredential: a new rotation creates a credential, and all pods have it.
func TestCreatesFirstCredential(t *testing.T) {
	c, _ := start(t, rotationOf(applicationCredential))
	s, r := c.secret(), c.rotation()
	if len(s.Data) != 2 || !c.keystone.AcceptsCredential(text(s, idKey), text(s, secretKey)) || len(s.OwnerReferences) > 0 {
		t.Errorf("Secret %v", s.ObjectMeta)
	}
	labels := map[string]string{"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "cobaltcore-companion"}
	if diff := cmp.Diff(labels, s.Labels); diff != "" || s.Type != corev1.SecretTypeOpaque {
		t.Errorf("type %s, labels (-want +got):\n%s", s.Type, diff)
	}
	created := c.keystone.Credentials()[text(s, idKey)]
	if created.Description != "Made by CredentialRotation team-a-prod-12345/glance" || !strings.HasPrefix(created.Name, "glance-") ||
		len(created.Secret) != 43 {
		t.Errorf("%s: %s", created.Name, created.Description)
	}
	if r.Status.CurrentID != created.ID || r.Status.Phase != "Idle" || r.Status.PreviousID != "" || r.Status.ObservedGeneration != 1 {
		t.Errorf("status %+v", r.Status)
	}
	if got := r.Status.NextRotation.Sub(r.Status.LastRotation.Time); got != 83*day {
		t.Errorf("replaced after %s", got)
	}
	c.checkOutput()
	c.days(c.sound(), 1)
	if after := c.secret().ResourceVersion; after != s.ResourceVersion {
		t.Error("the Secret is written without changes")
	}
	after := c.rotation()
	r.ResourceVersion, r.Status.LastObservationTime = after.ResourceVersion, after.Status.LastObservationTime
	if diff := cmp.Diff(r, after); diff != "" {
		t.Errorf("without changes (-want +got):\n%s", diff)
	}
}

// TestBothCredentialsValidDuringGracePeriod: until the end of the grace period, both credentials are valid; then one.
func TestBothCredentialsValidDuringGracePeriod(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	old, _ := c.nextCredential()
	c.days(r, 83)
	fresh, _ := c.nextCredential()
	if fresh == old || !c.accepts(old) || !c.accepts(fresh) {
		t.Fatalf("old %v, new %v", c.accepts(old), c.accepts(fresh))
	}
	if s := c.rotation().Status; s.Phase != "GracePeriod" || s.PreviousID != old.id || s.CurrentID != fresh.id {
		t.Errorf("status %+v", s)
	}
	if condition := c.condition(conditionRevoked); condition.Reason != "GracePeriod" || !strings.Contains(condition.Message,
		old.id+" is kept until 2026-05-25T12:") {
		t.Errorf("%v", condition)
	}
	c.days(r, 1)
	if c.accepts(old) || !c.accepts(fresh) || c.rotation().Status.Phase != "Idle" || c.rotation().Status.PreviousID != "" {
		t.Errorf("old %v, new %v, %+v", c.accepts(old), c.accepts(fresh), c.rotation().Status)
	}
}

// TestNewConsumerRestartsOnlyAfterRotation: all pods of a consumer that is created after the credential have it and are not restarted; for
// the next credential they are.
func TestNewConsumerRestartsOnlyAfterRotation(t *testing.T) {
	for _, target := range []string{applicationCredential, password, queueUser} {
		t.Run(target, func(t *testing.T) {
			c := newCluster(t, rotationOf(target))
			r := c.sound()
			for range 8 {
				c.pass(r)
			}
			c.place(r)
			consumer := func() *appsv1.Deployment {
				d := &appsv1.Deployment{}
				c.must(c.api.Get(context.Background(), key("glance"), d))
				return d
			}
			annotation, first := podAnnotationPrefix+secretName, c.rotation().Status.CurrentID
			d := consumer()
			if got := d.Spec.Template.Annotations[annotation]; c.podCount != 2 || got != "" || d.Annotations[annotation] != first {
				t.Errorf("%d pods were started, by a template with %q of a workload with %v; want 2, none and %s", c.podCount, got, d.Annotations,
					first)
			}
			if !meta.IsStatusConditionTrue(c.rotation().Status.Conditions, conditionDistributed) {
				t.Errorf("not distributed: %s", c.conditions())
			}
			c.untilRotation(r)
			if got, want := consumer().Spec.Template.Annotations[annotation], c.rotation().Status.CurrentID; got != want || want == first ||
				c.podCount != 4 {
				t.Errorf("then %d pods were started, by a template with %q; want 4 and %q, which is not %q", c.podCount, got, want, first)
			}
		})
	}
}

// TestOldCredentialIsValidUntilDistribution: the old credential stays valid, and no third is created, until all consumers are proven to
// have the new one.
func TestOldCredentialIsValidUntilDistribution(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		rotation    func(*c5c3v1.CredentialRotation)
		hold        func(*cluster)
		free        func(*cluster)
		wantMessage string
	}{
		"Rollout": {
			reason:      "The rollout does not progress.",
			hold:        func(c *cluster) { c.noRollout = true },
			free:        func(c *cluster) { c.noRollout = false },
			wantMessage: "2 of 2 pods of Deployment glance were started with an earlier credential",
		},
		"Missing": {
			reason: "A missing consumer may return with its old credential.",
			hold: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) {
					r.Spec.Consumers = append(r.Spec.Consumers, c5c3v1.Consumer{Kind: "DaemonSet", Name: "agent"})
				})
			},
			free: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Consumers = r.Spec.Consumers[:1] })
			},
			wantMessage: "DaemonSet agent does not exist",
		},
		"Copy": {
			reason:      "The SecretAggregate is delayed: clients of its Secret have the old credential.",
			rotation:    func(r *c5c3v1.CredentialRotation) { copied(r) },
			hold:        func(c *cluster) { c.noCopy = true },
			free:        func(c *cluster) { c.noCopy = false },
			wantMessage: "the Secret of SecretAggregate glance-copy does not hold the credential yet",
		},
		"NoAggregate": {
			reason: "It may return with its old credential.",
			hold: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) { copied(r).Spec.Consumers[1].Name = "other" })
			},
			free: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Consumers = r.Spec.Consumers[:1] })
			},
			wantMessage: "SecretAggregate other does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rotation := rotationOf(applicationCredential)
			if tc.rotation != nil {
				tc.rotation(rotation)
			}
			c, r := start(t, rotation, aggregate())
			old, _ := c.nextCredential()
			tc.hold(c)
			c.clock.SetTime(c.clock.Now().Add(83 * day))
			for range 30 {
				c.pass(r)
			}
			if name == "Missing" || name == "NoAggregate" { // Without consumers, the credential is not replaced.
				if got, _ := c.nextCredential(); got != old {
					t.Errorf("%s: replaced", tc.reason)
				}
			} else if got, _ := c.nextCredential(); got == old {
				t.Fatalf("%s: not replaced: %s", tc.reason, c.conditions())
			}
			c.clock.SetTime(c.clock.Now().Add(200 * day))
			for range 30 {
				c.pass(r)
			}
			if !c.accepts(old) || len(c.inUse) > 2 {
				t.Errorf("%s: the old one is accepted: %v, and there were %d", tc.reason, c.accepts(old), len(c.inUse))
			}
			if got := c.condition(conditionDistributed); !strings.Contains(got.Message, tc.wantMessage) {
				t.Errorf("%s: %v", tc.reason, got)
			}
			if got := c.condition(conditionReady); got.Status != metav1.ConditionTrue || got.Reason != "RotationBlocked" {
				t.Errorf("%s: %v", tc.reason, got)
			}
			tc.free(c)
			for range 4 { // An overdue credential is replaced again.
				for range 40 {
					c.pass(r)
				}
				tc.free(c)
				c.clock.SetTime(c.clock.Now().Add(day))
			}
			c.run(r)
			if c.accepts(old) {
				t.Errorf("%s: the old one is still accepted: %s", tc.reason, c.conditions())
			}
			for _, v := range c.violations {
				t.Error(v)
			}
		})
	}
}

// TestRecoversFromDamagedCredentials: after damage to the Secret or in Keystone, there is a valid credential again, no pod loses its
// credential, and nothing is left behind.
func TestRecoversFromDamagedCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		damage func(*cluster)
		// invalidated is set if the damage itself invalidates the credential of pods.
		invalidated bool
		event       string
	}{
		"SecretDeleted": {
			reason: "The record is lost, too.",
			damage: func(c *cluster) { c.must(c.api.Delete(context.Background(), c.secret())) },
		},
		"SecretEdited": {
			reason:      "The credential in the Secret is invalid.",
			damage:      func(c *cluster) { c.editSecret(func(s *corev1.Secret) { s.Data[secretKey] = []byte("x") }) },
			invalidated: true, event: "Secret glance-credential was modified",
		},
		"IDEdited": {
			reason:      "The secret belongs to another credential.",
			damage:      func(c *cluster) { c.editSecret(func(s *corev1.Secret) { s.Data[idKey] = []byte("x") }) },
			invalidated: true, event: "Secret glance-credential was modified",
		},
		"RecordGone": {
			reason: "The origin of the content is unknown.",
			damage: func(c *cluster) { c.editSecret(func(s *corev1.Secret) { delete(s.Annotations, recordAnnotation) }) },
			event:  "Secret glance-credential was modified",
		},
		"RecordEdited": {
			reason: "The same.",
			damage: func(c *cluster) { c.editSecret(func(s *corev1.Secret) { s.Annotations[recordAnnotation] = "{" }) },
			event:  "Secret glance-credential was modified",
		},
		"RoleTaken": {
			reason:      "Keystone revokes the application credentials of all users who had a deleted role.",
			damage:      func(c *cluster) { c.keystone.Remove(userName) },
			invalidated: true, event: "no longer exists in Keystone",
		},
		"Suspended": {
			reason: "Also if suspended.",
			damage: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Suspend = true })
				c.keystone.Remove(userName)
			},
			invalidated: true, event: "no longer exists in Keystone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := start(t, rotationOf(applicationCredential))
			c.keystone.Add("nova", "theirs")
			c.violations = nil
			tc.damage(c)
			for range 60 {
				c.pass(r)
			}
			c.days(r, 1.1)
			if tc.invalidated {
				c.violations = nil
			}
			for _, v := range c.violations {
				t.Errorf("%s: %s", tc.reason, v)
			}
			candidate, _ := c.nextCredential()
			for pod, l := range c.loaded {
				if l != candidate || !c.accepts(l) {
					t.Errorf("%s: pod %s has an old credential", tc.reason, pod)
				}
			}
			if got := c.keystone.Credentials(); len(got) != 2 {
				t.Errorf("%s: %d application credentials", tc.reason, len(got))
			}
			if requested := c.output(); !strings.Contains(requested, tc.event) {
				t.Errorf("%s: it is not reported: %s", tc.reason, requested)
			}
		})
	}
}

// TestAnnotationRotatesOnlyNamedCredential: the annotation rotates the credential that it names, and no other.
func TestAnnotationRotatesOnlyNamedCredential(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	old, _ := c.nextCredential()
	c.edit(func(r *c5c3v1.CredentialRotation) { r.Annotations = map[string]string{rotateAnnotation: old.id} })
	c.run(r)
	c.days(r, 1.1)
	fresh, _ := c.nextCredential()
	if fresh == old || c.accepts(old) {
		t.Errorf("not replaced: %s", c.conditions())
	}
	c.days(r, 5)
	if repeated, _ := c.nextCredential(); repeated != fresh {
		t.Error("an old annotation replaces again")
	}
}

func TestSuspendStopsRotation(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	old, _ := c.nextCredential()
	c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Suspend = true })
	c.days(r, 400)
	if got, _ := c.nextCredential(); got != old || !c.accepts(old) || c.rotation().Status.NextRotation != nil {
		t.Errorf("%+v", c.rotation().Status)
	}
}

// TestKeystoneOutageRetainsCurrentCredential: the credential in use is kept, and rotation continues when Keystone is available.
func TestKeystoneOutageRetainsCurrentCredential(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	old, _ := c.nextCredential()
	c.keystone.SetDown(true)
	c.pass(r)
	if got := c.condition(conditionReady); got.Status != metav1.ConditionTrue || got.Reason != "WaitingForKeystone" {
		t.Errorf("%v", got)
	}
	c.clock.SetTime(c.clock.Now().Add(83 * day))
	for range 5 {
		c.pass(r)
	}
	got := c.condition(conditionReady)
	if got.Status != metav1.ConditionTrue || !strings.Contains(got.Message,
		"is waiting: cannot log in as user glance: Keystone returned HTTP 503") {
		t.Errorf("%v", got)
	}
	c.keystone.SetDown(false)
	c.run(r)
	if fresh, _ := c.nextCredential(); fresh == old {
		t.Error("does not continue")
	}
}

// TestRejectedByKeystone: an event contains the reason.
func TestRejectedByKeystone(t *testing.T) {
	c := newCluster(t, rotationOf(applicationCredential))
	c.keystone.Refuse("POST", "the limit is 5")
	for range 5 {
		c.pass(c.sound())
	}
	if requested := c.output(); !strings.Contains(requested, "Warning RejectedByKeystone cannot create an application credential: Keystone "+
		"returned HTTP 403: the limit is 5") {
		t.Error(requested)
	}
	c.keystone.Refuse("POST", "")
	c.place(c.sound())
}
