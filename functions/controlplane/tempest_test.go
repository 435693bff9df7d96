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

// TestTempest: it is told of the services that the claim enables and of what Keystone asks of passwords, and comes after all of them.
func TestTempest(t *testing.T) {
	objects := desired(t, ready(t, "{services: {placement: {enabled: true}, horizon: {enabled: true}, "+
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

// TestTempestAlone: the administrator's role is there also where Keystone is the only service.
func TestTempestAlone(t *testing.T) {
	for spec, want := range map[string]any{"{" + allowed + "}}": true, "{}": nil} {
		if got := at(desired(t, ready(t, spec, bare))["catalog"].Map(), "spec", "services"); got != want {
			t.Errorf("%s: services of the catalog are %v, want %v", spec, got, want)
		}
	}
}

// TestTempestValidation: tests need a word of the tenant, a time that comes, and something to test.
func TestTempestValidation(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, field, words string }{
		"NotAllowed": {"Nobody becomes an administrator unasked.", "{tempest: {enabled: true}}", "spec.tempest.allowAdministration", "say allowAdministration: true"},
		"Schedule":   {"No night has a minute 61.", "{" + allowed + ", schedule: 61 0 * * *}}", "spec.tempest.schedule", "cannot read schedule"},
		"Image":      {"It is no tag.", "{" + allowed + ", image: {tag: latest}}}", "spec.tempest.image", "not valid"},
		"Service":    {"There is none.", "{" + allowed + ", tests: {services: [identity, volume]}}}", "spec.tempest.tests.services[1]", "no service volume"},
	} {
		_, err := derive(input(t, tc.spec, bare, nil))
		requireFieldError(t, name+": "+tc.reason, err, tc.field, tc.words)
	}
	if m, err := derive(input(t, "{tempest: {enabled: false, schedule: 61 0 * * *}}", bare, nil)); err != nil || m.tested() {
		t.Errorf("what is off is tested: %v", err)
	}
}

// TestTempestReported: the claim repeats how tests ended.
func TestTempestReported(t *testing.T) {
	observedState := structOf(t, fields(t, "{status: {tests: {lastRun: '2026-05-01T03:00:00Z', lastDurationSeconds: 9, passed: 2, failed: 1}, "+
		"conditions: [{type: TestsPassed, status: 'False', reason: TestsFailed, message: 1 of 3 tests failed}]}}"))
	at := metav1.Time{Time: time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)}
	for name, tc := range map[string]struct {
		reason, spec string
		seen         *structpb.Struct
		verdict      rules.Result
		tests        *common.TestStatus
	}{
		"Off":  {"There is nothing to say.", "{tempest: {allowAdministration: true}}", observedState, rules.Result{}, nil},
		"None": {"No run has ended.", "{" + allowed + "}}", nil, rules.Result{Reason: "NotRun", Message: "no run has ended yet"}, nil},
		"Failed": {
			"What failed is no failure of the claim's.", "{" + allowed + "}}", observedState,
			rules.Result{Reason: "TestsFailed", Message: "1 of 3 tests failed"},
			&common.TestStatus{LastRun: &at, LastDurationSeconds: 9, Passed: 2, Failed: 1},
		},
	} {
		observed := map[string]*structpb.Struct{}
		if tc.seen != nil {
			observed[tempestv1.ServiceName] = tc.seen
		}
		m, err := derive(input(t, tc.spec, bare, observed))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.verdict, m.testsPassed()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		if diff := cmp.Diff(tc.tests, m.testStatus(), cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
