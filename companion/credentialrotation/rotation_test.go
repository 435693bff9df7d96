package credentialrotation

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// TestFirst: a new rotation makes a credential, and every pod has it.
func TestFirst(t *testing.T) {
	c, _ := start(t, rotationOf(applicationCredential))
	s, r := c.secret(), c.rotation()
	if len(s.Data) != 2 || !c.keystone.Accepts(text(s, idKey), text(s, secretKey)) || len(s.OwnerReferences) > 0 {
		t.Errorf("Secret %v", s.ObjectMeta)
	}
	made := c.keystone.Credentials()[text(s, idKey)]
	if made.Description != "Made by CredentialRotation team-a-prod-12345/glance" || !strings.HasPrefix(made.Name, "glance-") || len(made.Secret) != 43 {
		t.Errorf("%s: %s", made.Name, made.Description)
	}
	if r.Status.CurrentID != made.ID || r.Status.Phase != "Idle" || r.Status.PreviousID != "" || r.Status.ObservedGeneration != 1 {
		t.Errorf("status %+v", r.Status)
	}
	if got := r.Status.NextRotation.Sub(r.Status.LastRotation.Time); got != 83*day {
		t.Errorf("replaced after %s", got)
	}
	c.checkSaid()
	before := s.ResourceVersion + r.ResourceVersion
	c.days(c.sound(), 1)
	if after := c.secret().ResourceVersion + c.rotation().ResourceVersion; after != before {
		t.Error("it writes though there is nothing to do")
	}
}

// TestOverlap: until the grace is over, both credentials are valid; then one is.
func TestOverlap(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	old, _ := c.offered()
	c.days(r, 83)
	fresh, _ := c.offered()
	if fresh == old || !c.accepts(old) || !c.accepts(fresh) {
		t.Fatalf("old %v, new %v", c.accepts(old), c.accepts(fresh))
	}
	if s := c.rotation().Status; s.Phase != "Grace" || s.PreviousID != old.id || s.CurrentID != fresh.id {
		t.Errorf("status %+v", s)
	}
	if condition := c.condition(conditionRevoked); condition.Reason != "Grace" || !strings.Contains(condition.Message, old.id+" is kept until") {
		t.Errorf("%v", condition)
	}
	c.days(r, 1)
	if c.accepts(old) || !c.accepts(fresh) || c.rotation().Status.Phase != "Idle" || c.rotation().Status.PreviousID != "" {
		t.Errorf("old %v, new %v, %+v", c.accepts(old), c.accepts(fresh), c.rotation().Status)
	}
}

// TestHeldBack: the old credential stays valid, and no third is made, for as long as one consumer is not proven to have the new one.
func TestHeldBack(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		rotation func(*c5c3v1.CredentialRotation)
		hold     func(*cluster)
		free     func(*cluster)
		says     string
	}{
		"Rollout": {
			reason: "A roll-out that hangs.",
			hold:   func(c *cluster) { c.noRollout = true },
			free:   func(c *cluster) { c.noRollout = false },
			says:   "2 of 2 pods of Deployment glance were started with an earlier credential",
		},
		"Missing": {
			reason: "A consumer that is not there may come with what it had.",
			hold: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) {
					r.Spec.Consumers = append(r.Spec.Consumers, c5c3v1.Consumer{Kind: "DaemonSet", Name: "agent"})
				})
			},
			free: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Consumers = r.Spec.Consumers[:1] })
			},
			says: "DaemonSet agent does not exist",
		},
		"Remote": {
			reason:   "Another cluster.",
			rotation: func(*c5c3v1.CredentialRotation) {},
			hold: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) {
					r.Spec.RemoteConsumers = []c5c3v1.RemoteConsumer{{Name: "west", ObservedID: r.Status.CurrentID}}
				})
			},
			free: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.RemoteConsumers[0].ObservedID = r.Status.CurrentID })
			},
			says: "west in another cluster is not yet known to have the credential (spec.remoteConsumers[0].observedID)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := start(t, rotationOf(applicationCredential))
			old, _ := c.offered()
			tc.hold(c)
			c.clock.SetTime(c.clock.Now().Add(83 * day))
			for range 30 {
				c.pass(r)
			}
			if name == "Missing" { // What has nobody to have it is not replaced.
				if got, _ := c.offered(); got != old {
					t.Errorf("%s: replaced", tc.reason)
				}
			} else if got, _ := c.offered(); got == old {
				t.Fatalf("%s: not replaced: %s", tc.reason, c.conditions())
			}
			c.clock.SetTime(c.clock.Now().Add(200 * day))
			for range 30 {
				c.pass(r)
			}
			if !c.accepts(old) || len(c.inUse) > 2 {
				t.Errorf("%s: the old one is accepted: %v, and there were %d", tc.reason, c.accepts(old), len(c.inUse))
			}
			if got := c.condition(conditionDistributed); !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: %v", tc.reason, got)
			}
			if got := c.condition(conditionReady); got.Status != metav1.ConditionTrue || got.Reason != "RotationWaits" {
				t.Errorf("%s: %v", tc.reason, got)
			}
			tc.free(c)
			for range 4 { // What is overdue is replaced again, and the other cluster has that, too.
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

// TestMends: whatever becomes of the Secret or of Keystone's side, there is a working credential again, no pod loses the one that it has,
// and nothing is left behind.
func TestMends(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		damage func(*cluster)
		// lost is set if pods have lost their credential by the damage itself.
		lost  bool
		event string
	}{
		"SecretDeleted": {
			reason: "Its memory is gone, too.",
			damage: func(c *cluster) { c.must(c.api.Delete(context.Background(), c.secret())) },
		},
		"SecretEdited": {
			reason: "Nobody can log in by what it holds.",
			damage: func(c *cluster) { c.editSecret(func(s *corev1.Secret) { s.Data[secretKey] = []byte("x") }) },
			lost:   true, event: "Secret glance-credential was edited",
		},
		"IDEdited": {
			reason: "The secret is of another one.",
			damage: func(c *cluster) { c.editSecret(func(s *corev1.Secret) { s.Data[idKey] = []byte("x") }) },
			lost:   true, event: "Secret glance-credential was edited",
		},
		"RecordGone": {
			reason: "What it holds is of an unknown history.",
			damage: func(c *cluster) { c.editSecret(func(s *corev1.Secret) { delete(s.Annotations, recordAnnotation) }) },
			event:  "Secret glance-credential was edited",
		},
		"RecordEdited": {
			reason: "The same.",
			damage: func(c *cluster) { c.editSecret(func(s *corev1.Secret) { s.Annotations[recordAnnotation] = "{" }) },
			event:  "Secret glance-credential was edited",
		},
		"RoleTaken": {
			reason: "Keystone revokes all application credentials of a user that loses a role.",
			damage: func(c *cluster) { c.keystone.Remove(userName) },
			lost:   true, event: "Keystone has no application credential",
		},
		"Suspended": {
			reason: "Suspended or not.",
			damage: func(c *cluster) {
				c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Suspend = true })
				c.keystone.Remove(userName)
			},
			lost: true, event: "Keystone has no application credential",
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
			if tc.lost {
				c.violations = nil
			}
			for _, v := range c.violations {
				t.Errorf("%s: %s", tc.reason, v)
			}
			offered, _ := c.offered()
			for pod, l := range c.loaded {
				if l != offered || !c.accepts(l) {
					t.Errorf("%s: pod %s has an old credential", tc.reason, pod)
				}
			}
			if got := c.keystone.Credentials(); len(got) != 2 {
				t.Errorf("%s: %d application credentials", tc.reason, len(got))
			}
			if said := c.said(); !strings.Contains(said, tc.event) {
				t.Errorf("%s: nobody hears of it: %s", tc.reason, said)
			}
		})
	}
}

// TestRotateNow: an annotation replaces this credential, and no other.
func TestRotateNow(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	old, _ := c.offered()
	c.edit(func(r *c5c3v1.CredentialRotation) { r.Annotations = map[string]string{rotateAnnotation: old.id} })
	c.run(r)
	c.days(r, 1.1)
	fresh, _ := c.offered()
	if fresh == old || c.accepts(old) {
		t.Errorf("not replaced: %s", c.conditions())
	}
	c.days(r, 5)
	if again, _ := c.offered(); again != fresh {
		t.Error("an old annotation replaces again")
	}
}

func TestSuspend(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	old, _ := c.offered()
	c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Suspend = true })
	c.days(r, 400)
	if got, _ := c.offered(); got != old || !c.accepts(old) || c.rotation().Status.NextRotation != nil {
		t.Errorf("%+v", c.rotation().Status)
	}
}

// TestKeystoneDown: what is in use stays, and it goes on when Keystone does.
func TestKeystoneDown(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	old, _ := c.offered()
	c.keystone.SetDown(true)
	c.pass(r)
	if got := c.condition(conditionReady); got.Status != metav1.ConditionTrue || got.Reason != "KeystoneAwaited" {
		t.Errorf("%v", got)
	}
	c.clock.SetTime(c.clock.Now().Add(83 * day))
	for range 5 {
		c.pass(r)
	}
	got := c.condition(conditionReady)
	if got.Status != metav1.ConditionTrue || !strings.Contains(got.Message, "waits: cannot log in as user glance: Keystone answers 503") {
		t.Errorf("%v", got)
	}
	c.keystone.SetDown(false)
	c.run(r)
	if fresh, _ := c.offered(); fresh == old {
		t.Error("does not go on")
	}
}

// TestRefusedByKeystone: people hear why.
func TestRefusedByKeystone(t *testing.T) {
	c := newCluster(t, rotationOf(applicationCredential))
	c.keystone.Refuse("POST", "the limit is 5")
	for range 5 {
		c.pass(c.sound())
	}
	if said := c.said(); !strings.Contains(said, "Warning KeystoneRefuses cannot make an application credential: Keystone answers 403: the limit is 5") {
		t.Error(said)
	}
	c.keystone.Refuse("POST", "")
	c.place(c.sound())
}

// TestPassword: the Secret that somebody made is taken over, its other keys stay, and the password is another one in time.
func TestPassword(t *testing.T) {
	c, r := start(t, rotationOf(password))
	if s := c.secret(); text(s, passwordKey) != first || s.Labels["theirs"] != "x" {
		t.Error("changed what works")
	}
	c.days(r, 83)
	s := c.secret()
	if text(s, passwordKey) == first || text(s, "username") != userName || len(s.Data) != 2 || s.Labels["theirs"] != "x" {
		t.Errorf("keys %v", len(s.Data))
	}
	if !c.keystone.AcceptsPassword(userName, text(s, passwordKey)) {
		t.Error("Keystone knows another one")
	}
	for pod, l := range c.loaded {
		if l.value != text(s, passwordKey) {
			t.Errorf("pod %s has the old one", pod)
		}
	}
	for _, condition := range c.rotation().Status.Conditions {
		if condition.Status != metav1.ConditionTrue {
			t.Errorf("%v", condition)
		}
	}
	c.checkSaid()
}

// TestPasswordChangedByHand: an administrator sets another one, and puts it into the Secret.
func TestPasswordChangedByHand(t *testing.T) {
	c, r := start(t, rotationOf(password))
	c.keystone.SetPassword(userName, "by hand")
	c.editSecret(func(s *corev1.Secret) { s.Data[passwordKey] = []byte("by hand") })
	c.violations = nil
	c.run(r)
	for pod, l := range c.loaded {
		if l.value != "by hand" {
			t.Errorf("pod %s has the old one", pod)
		}
	}
	c.untilRotation(r)
	if len(c.violations) > 0 {
		t.Error(c.violations)
	}
}

// TestLockedOut: if nobody knows the password, it says so and does not try all the time.
func TestLockedOut(t *testing.T) {
	c, r := start(t, rotationOf(password))
	c.keystone.SetPassword(userName, "unknown")
	c.clock.SetTime(c.clock.Now().Add(83 * day))
	rest := time.Duration(0)
	for range 10 {
		rest = max(rest, c.pass(r))
	}
	if got := c.condition(conditionReady); rest != longest || !strings.Contains(got.Message, "Keystone accepts neither the password in Secret glance-credential") {
		t.Errorf("rests %s: %v", rest, got)
	}
	c.editSecret(func(s *corev1.Secret) { s.Data[passwordKey] = []byte("unknown") })
	c.violations = nil
	c.run(r)
	if offered, _ := c.offered(); offered.value == "unknown" || !c.accepts(offered) || len(c.violations) > 0 {
		t.Errorf("does not go on: %s %v", c.conditions(), c.violations)
	}
}

// TestRefused: what cannot be is told, and nothing is touched.
func TestRefused(t *testing.T) {
	secretOf := func(labels, annotations, data map[string]string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace, Labels: labels, Annotations: annotations}, Data: map[string][]byte{}}
		for k, v := range data {
			s.Data[k] = []byte(v)
		}
		return s
	}
	ours := map[string]string{managedByLabel: managedBy}
	for name, tc := range map[string]struct {
		target string
		secret *corev1.Secret // in the place of what a rotation expects; without data: none
		change func(*c5c3v1.CredentialRotation)
		clouds func(*corev1.Secret)
		says   string
	}{
		"Foreign":         {target: applicationCredential, secret: secretOf(nil, nil, map[string]string{"a": "b"}), says: "it was not made by this CredentialRotation"},
		"Sibling":         {target: applicationCredential, secret: secretOf(ours, map[string]string{recordAnnotation: `{"rotation":"nova"}`}, map[string]string{"a": "b"}), says: "it is that of CredentialRotation nova"},
		"NoPassword":      {target: password, secret: secretOf(nil, nil, nil), says: "has to hold the user's present password in its key password"},
		"NoPasswordKey":   {target: password, secret: secretOf(nil, nil, map[string]string{"a": "b"}), says: "has to hold the user's present password"},
		"NoClouds":        {target: applicationCredential, change: func(r *c5c3v1.CredentialRotation) { r.Spec.CloudCredentialsRef.SecretName = "gone" }, says: "spec.cloudCredentialsRef: Secret gone does not exist"},
		"NoCloud":         {target: applicationCredential, change: func(r *c5c3v1.CredentialRotation) { r.Spec.CloudCredentialsRef.CloudName = "gone" }, says: `has no cloud "gone": it has glance`},
		"AnotherUser":     {target: applicationCredential, change: func(r *c5c3v1.CredentialRotation) { r.Spec.UserName = "nova" }, says: "only user nova itself can make its application credentials"},
		"NoProject":       {target: applicationCredential, clouds: replace("project_name: service", ""), says: "needs a project"},
		"WrongPassword":   {target: applicationCredential, clouds: replace(first, "wrong"), says: "cannot log in as user glance: the password is not accepted by Keystone"},
		"NoSuchAuthority": {target: applicationCredential, clouds: replace("https://", "http://"), says: "https://"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rotationOf(tc.target)
			if tc.change != nil {
				tc.change(r)
			}
			c := newCluster(t, r)
			if tc.secret != nil {
				if s := c.secret(); s != nil {
					c.must(c.api.Delete(context.Background(), s))
				}
				if len(tc.secret.Data) > 0 {
					c.must(c.api.Create(context.Background(), tc.secret))
				}
			}
			if tc.clouds != nil {
				s := &corev1.Secret{}
				c.must(c.api.Get(context.Background(), key(cloudsName), s))
				tc.clouds(s)
				c.must(c.api.Update(context.Background(), s))
			}
			before := c.secret()
			reconciler := c.sound()
			result, err := reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: key("glance")})
			if err != nil || result.RequeueAfter != poll {
				t.Errorf("%v, %v", result, err)
			}
			if got := c.condition(conditionReady); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%v", got)
			}
			if after := c.secret(); (before == nil) != (after == nil) || before != nil && before.ResourceVersion != after.ResourceVersion {
				t.Error("touched the Secret")
			}
			if len(c.keystone.Credentials()) > 0 {
				t.Error("made something in Keystone")
			}
		})
	}
}

func replace(from, to string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		s.Data["clouds.yaml"] = []byte(strings.ReplaceAll(string(s.Data["clouds.yaml"]), from, to))
	}
}

// TestGone: one that is deleted leaves everything as it is; one that is made again goes on with it.
func TestGone(t *testing.T) {
	c, r := start(t, rotationOf(applicationCredential))
	before, _ := c.offered()
	c.must(c.api.Delete(context.Background(), c.rotation()))
	if result, err := r.Reconcile(context.Background(), ctrl.Request{NamespacedName: key("glance")}); err != nil || result.RequeueAfter != 0 {
		t.Errorf("%v, %v", result, err)
	}
	again := rotationOf(applicationCredential)
	again.UID = "another"
	c.must(c.api.Create(context.Background(), again))
	c.run(r)
	if after, _ := c.offered(); after != before || !c.accepts(after) {
		t.Error("does not go on with what was there")
	}
}

func TestUses(t *testing.T) {
	r := rotationOf(applicationCredential)
	for name, tc := range map[string]struct {
		kind, name string
		want       bool
	}{
		"ItsSecret":       {"Secret", secretName, true},
		"ItsCloud":        {"Secret", cloudsName, true},
		"AnotherSecret":   {"Secret", "glance", false},
		"ItsConsumer":     {"Deployment", "glance", true},
		"AnotherKind":     {"DaemonSet", "glance", false},
		"AnotherWorkload": {"Deployment", "nova", false},
	} {
		if got := uses(r, tc.kind, tc.name); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAdd wires the controller to a manager that talks to nobody.
func TestAdd(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(mgr); err != nil {
		t.Fatal(err)
	}
}
