package identitycheck

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

// TestNext: the time of the next login, and the reported state, for each result of a login.
func TestNext(t *testing.T) {
	now := time.Unix(1e9, 0)
	reachable := []metav1.Condition{{Type: conditionReachable, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	unreachable := []metav1.Condition{{Type: conditionReachable, Status: metav1.ConditionFalse, ObservedGeneration: 1}}
	public := []metav1.Condition{{Type: conditionPublic, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	type decision struct {
		After      time.Duration
		Name, Note string
		// Conditions by type: status and reason.
		Conditions               map[string]string
		Failures, PublicFailures int32
		Token                    bool
	}
	for name, tc := range map[string]struct {
		reason string
		spec   openstackv1.IdentityCheckSpec
		status openstackv1.IdentityCheckStatus
		state  observation
		want   decision
	}{
		"First": {
			reason: "Success emits no event.", state: observation{version: "v3.14"},
			want: decision{After: time.Minute, Conditions: map[string]string{conditionReachable: "True TokenIssued"}, Token: true},
		},
		"Again": {
			reason: "It works again.", status: openstackv1.IdentityCheckStatus{Conditions: unreachable, Failures: 3},
			state: observation{version: "v3.14"},
			want: decision{
				After: time.Minute, Name: "TokenIssued", Note: "Keystone issues tokens", Token: true,
				Conditions: map[string]string{conditionReachable: "True TokenIssued"},
			},
		},
		"Limited": {reason: "For all triggers.", state: observation{limited: 3 * time.Second}, want: decision{After: 3 * time.Second}},
		"NoCredentials": {
			reason: "They may not have been created yet.", state: observation{errorMessage: "no Secret"},
			want: decision{After: 10 * time.Second, Conditions: map[string]string{conditionReachable: "False NoCredentials"}},
		},
		"Failed": {
			reason: "One failure is no outage.", status: openstackv1.IdentityCheckStatus{Conditions: reachable},
			state: observation{err: errors.New("down")},
			want:  decision{After: 10 * time.Second, Failures: 1, Conditions: map[string]string{conditionReachable: "True TokenIssued"}},
		},
		"Third": {
			reason: "Three are.", status: openstackv1.IdentityCheckStatus{Conditions: reachable, Failures: 2},
			state: observation{err: errors.New("down")},
			want:  decision{After: 10 * time.Second, Failures: 3, Conditions: map[string]string{conditionReachable: "False KeystoneUnavailable"}},
		},
		"Fourth": {
			reason: "The counter is limited.", status: openstackv1.IdentityCheckStatus{Conditions: unreachable, Failures: 3},
			state: observation{err: errors.New("down")},
			want:  decision{After: 10 * time.Second, Failures: 3, Conditions: map[string]string{conditionReachable: "False KeystoneUnavailable"}},
		},
		"Exempt": {
			reason: "It is reported separately.", spec: openstackv1.IdentityCheckSpec{Exempt: true},
			state: observation{version: "v3.14", exempt: condition.False("RejectedByKeystone", "no")},
			want: decision{After: time.Minute, Token: true, Conditions: map[string]string{
				conditionReachable: "True TokenIssued", conditionLockoutExempt: "False RejectedByKeystone",
			}},
		},
		"Public": {
			reason: "It is checked, too.", spec: openstackv1.IdentityCheckSpec{PublicURL: "https://k"}, state: observation{version: "v3.14"},
			want: decision{After: time.Minute, Token: true, Conditions: map[string]string{
				conditionReachable: "True TokenIssued", conditionPublic: "True EndpointReachable",
			}},
		},
		"PublicFailedOnce": {
			reason: "It may be temporary.", spec: openstackv1.IdentityCheckSpec{PublicURL: "https://k"},
			status: openstackv1.IdentityCheckStatus{Conditions: append(public, reachable...), PublicFailures: 1},
			state:  observation{version: "v3.14", public: &identity.ConnectError{Reason: "NameResolutionFailed", Message: "no name"}},
			want: decision{After: time.Minute, Token: true, PublicFailures: 2, Conditions: map[string]string{
				conditionReachable: "True TokenIssued", conditionPublic: "True ",
			}},
		},
		"PublicGone": {
			reason: "It is the third time.", spec: openstackv1.IdentityCheckSpec{PublicURL: "https://k"},
			status: openstackv1.IdentityCheckStatus{Conditions: append(public, reachable...), PublicFailures: 2},
			state:  observation{version: "v3.14", public: &identity.ConnectError{Reason: "NameResolutionFailed", Message: "no name"}},
			want: decision{After: time.Minute, Token: true, PublicFailures: 3, Conditions: map[string]string{
				conditionReachable: "True TokenIssued", conditionPublic: "False NameResolutionFailed",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := tc.state
			w.check, w.now = &openstackv1.IdentityCheck{Spec: tc.spec, Status: *tc.status.DeepCopy()}, now
			w.check.Generation = 1
			s := next(&w)
			got := decision{After: s.RequeueAfter, Name: s.Name, Note: s.Note}
			if s.Status != nil {
				s.Status()
				got.Conditions = map[string]string{}
				for _, c := range w.check.Status.Conditions {
					got.Conditions[c.Type] = string(c.Status) + " " + c.Reason
				}
				got.Failures, got.PublicFailures, got.Token = w.check.Status.Failures, w.check.Status.PublicFailures, w.check.Status.LastToken != nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if c := meta.FindStatusCondition(w.check.Status.Conditions, conditionReachable); c != nil && c.Reason != "" &&
				tc.status.Conditions == nil && !c.LastTransitionTime.Time.Equal(now) {
				t.Errorf("it changed at %s", c.LastTransitionTime)
			}
		})
	}
}
