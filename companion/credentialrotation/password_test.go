package credentialrotation

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// TestPassword: an existing Secret is adopted, its other keys are retained, and the password is rotated in time.
func TestPassword(t *testing.T) {
	c, r := start(t, rotationOf(password))
	if s := c.secret(); text(s, passwordKey) != first || s.Labels["theirs"] != "x" {
		t.Error("changed a valid password")
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
	c.checkOutput()
}

// TestPasswordChangedByHand: an administrator sets another password, and writes it into the Secret.
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

// TestLockedOut: if no stored password is valid, the condition reports it, and logins are not repeated continuously.
func TestLockedOut(t *testing.T) {
	c, r := start(t, rotationOf(password))
	c.keystone.SetPassword(userName, "unknown")
	c.clock.SetTime(c.clock.Now().Add(83 * day))
	rest := time.Duration(0)
	for range 10 {
		rest = max(rest, c.pass(r))
	}
	if got := c.condition(conditionReady); rest != controller.ResyncInterval || !strings.Contains(got.Message,
		"Keystone accepts neither the password in Secret glance-credential") {
		t.Errorf("rests %s: %v", rest, got)
	}
	c.editSecret(func(s *corev1.Secret) { s.Data[passwordKey] = []byte("wrong") })
	c.pass(r)
	if got := c.condition(conditionReady); got.Status != metav1.ConditionFalse || got.Reason != "LockedOut" {
		t.Errorf("with a wrong one: %v", got)
	}
	c.editSecret(func(s *corev1.Secret) { s.Data[passwordKey] = []byte("unknown") })
	c.violations = nil
	c.run(r)
	if candidate, _ := c.nextCredential(); candidate.value == "unknown" || !c.accepts(candidate) || len(c.violations) > 0 {
		t.Errorf("does not continue: %s %v", c.conditions(), c.violations)
	}
}
