package controlplane

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

const allowed = "tempest: {enabled: true, allowAdministration: true"

// TestTempest checks that Tempest gets the enabled services and the password rules of Keystone, and is created after all services.
func TestTempest(t *testing.T) {
	objects := desired(t, readyCluster(t, "{services: {placement: {enabled: true}, horizon: {enabled: true}, "+
		"keystone: {config: {security_compliance: {lockout_failure_attempts: 3, unique_last_password_count: 4}}}}, "+
		allowed+", tests: {concurrency: 3, includeRegex: x}}}", bare))
	spec, _ := at(objects["tempest"].Map(), "spec").(map[string]any)
	for field, want := range map[string]any{
		"services": []any{
			map[string]any{"type": "identity", "internalURL": "https://keystone." + instance + ".svc:5000/v3"},
			map[string]any{"type": "placement", "internalURL": "https://placement." + instance + ".svc:8778"},
		},
		"tests":     map[string]any{"concurrency": 3.0, "includeRegex": "x"},
		"passwords": map[string]any{"lockoutAttempts": 3.0, "remembered": 4.0},
		"resources": map[string]any{"requests": map[string]any{"cpu": "400m", "memory": "1536Mi"}, "limits": map[string]any{"memory": "1536Mi"}},
	} {
		if diff := cmp.Diff(want, spec[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	if _, ok := objects["tempest-uses-keystone"]; !ok {
		t.Error("nothing keeps Keystone until its user is gone")
	}
}

// TestTempestGetsRoleWithoutServices checks that the administrator's role exists even if Keystone is the only service.
func TestTempestGetsRoleWithoutServices(t *testing.T) {
	for spec, want := range map[string]any{"{" + allowed + "}}": true, "{}": nil} {
		if got := at(desired(t, readyCluster(t, spec, bare))["catalog"].Map(), "spec", "services"); got != want {
			t.Errorf("%s: services of the catalog are %v, want %v", spec, got, want)
		}
	}
}

// TestRejectsInvalidTempestSettings checks the errors for missing permission, invalid schedules and disabled services.
func TestRejectsInvalidTempestSettings(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, field, message string }{
		"NotAllowed": {"The claim has to permit an administrator.", "{tempest: {enabled: true}}", "spec.tempest.allowAdministration", "set allowAdministration: true"},
		"Schedule":   {"The schedule has an invalid minute.", "{" + allowed + ", schedule: 61 0 * * *}}", "spec.tempest.schedule", "cannot read schedule"},
		"Image":      {"The tag is invalid.", "{" + allowed + ", image: {tag: latest}}}", "spec.tempest.image", "not valid"},
		"Service":    {"The service is disabled.", "{" + allowed + ", tests: {services: [identity, volume]}}}", "spec.tempest.tests.services[1]", "service volume is not enabled"},
	} {
		_, err := derive(input(t, tc.spec, bare, nil))
		requireFieldError(t, name+": "+tc.reason, err, tc.field, tc.message)
	}
	if m, err := derive(input(t, "{tempest: {enabled: false, image: {tag: latest}}}", bare, nil)); err != nil || m.tested() {
		t.Errorf("disabled Tempest is validated: %v", err)
	}
}

// TestConditionContainsTempestResults checks that the claim's condition contains the results of tests.
func TestConditionContainsTempestResults(t *testing.T) {
	observedState := structOf(t, fields(t, "{status: {tests: {lastRun: '2026-05-01T03:00:00Z', lastDurationSeconds: 9, passed: 2, failed: 1}, "+
		"conditions: [{type: TestsPassed, status: 'False', reason: TestsFailed, message: 1 of 3 tests failed}]}}"))
	at := metav1.Time{Time: time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)}
	for name, tc := range map[string]struct {
		reason, spec string
		observed     *structpb.Struct
		want         rules.Result
		tests        *common.TestStatus
	}{
		"Off":  {"Tempest is disabled.", "{tempest: {allowAdministration: true}}", observedState, rules.Result{}, nil},
		"None": {"No run has completed.", "{" + allowed + "}}", nil, rules.Result{Reason: "NotRun", Message: "waiting for the first test run to complete"}, nil},
		"Failed": {
			"Failed tests do not affect the readiness of the claim.", "{" + allowed + "}}", observedState,
			rules.Result{Reason: "TestsFailed", Message: "1 of 3 tests failed"},
			&common.TestStatus{LastRun: &at, LastDurationSeconds: 9, Passed: 2, Failed: 1},
		},
	} {
		observed := map[string]*structpb.Struct{}
		if tc.observed != nil {
			observed[tempestv1.ServiceName] = tc.observed
		}
		m, err := derive(input(t, tc.spec, bare, observed))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, m.testsPassed()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		if diff := cmp.Diff(tc.tests, m.testStatus(), cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
