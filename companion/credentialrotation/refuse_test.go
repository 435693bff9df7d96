package credentialrotation

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// TestReportsErrorsWithoutChanges: errors are reported, and nothing is changed.
func TestReportsErrorsWithoutChanges(t *testing.T) {
	secretOf := func(labels, annotations, data map[string]string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace, Labels: labels, Annotations: annotations},
			Data: map[string][]byte{}}
		for k, v := range data {
			s.Data[k] = []byte(v)
		}
		return s
	}
	managed := map[string]string{managedByLabel: managedBy}
	for name, tc := range map[string]struct {
		target      string
		secret      *corev1.Secret // replaces the Secret of a rotation; without data: none
		change      func(*c5c3v1.CredentialRotation)
		clouds      func(*corev1.Secret)
		wantMessage string
	}{
		"Foreign": {target: applicationCredential, secret: secretOf(nil, nil, map[string]string{"a": "b"}),
			wantMessage: "it was not created by this CredentialRotation"},
		"Sibling": {target: applicationCredential, secret: secretOf(managed, map[string]string{recordAnnotation: `{"rotation":"nova"}`},
			map[string]string{"a": "b"}), wantMessage: "it belongs to CredentialRotation nova"},
		"NoPassword": {target: password, secret: secretOf(nil, nil, nil),
			wantMessage: "must contain the current password of the user in key password"},
		"NoPasswordKey": {target: password, secret: secretOf(nil, nil, map[string]string{"a": "b"}),
			wantMessage: "must contain the current password of the user"},
		"NoClouds": {target: applicationCredential, change: func(r *c5c3v1.CredentialRotation) { r.Spec.CloudCredentialsRef.SecretName = "gone" }, wantMessage: "spec.cloudCredentialsRef: Secret gone does not exist"},
		"NoCloud":  {target: applicationCredential, change: func(r *c5c3v1.CredentialRotation) { r.Spec.CloudCredentialsRef.CloudName = "gone" }, wantMessage: `has no cloud "gone": it has glance`},
		"AnotherUser": {target: applicationCredential, change: func(r *c5c3v1.CredentialRotation) { r.Spec.UserName = "nova" },
			wantMessage: "only user nova itself can create its application credentials"},
		"NoProject": {target: applicationCredential, clouds: replace("project_name: service", ""), wantMessage: "must set a project"},
		"WrongPassword": {target: applicationCredential, clouds: replace(first, "wrong"),
			wantMessage: "cannot log in as user glance: the password is not accepted by Keystone, or the user is locked out"},
		"NoSuchAuthority": {target: applicationCredential, clouds: replace("https://", "http://"), wantMessage: "https://"},
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
			if got := c.condition(conditionReady); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, tc.wantMessage) {
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
