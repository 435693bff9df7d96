package controlplane

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// answer returns the composed resources and the status of the next reconciliation. The spec may be invalid.
func answer(t *testing.T, w *simulate.Cluster) (desired map[string]encoded.Struct, status map[string]any) {
	t.Helper()
	rsp := w.Kinds[kind].Run(w.Request())
	if rsp.Composite == nil {
		t.Fatalf("the answer is fatal: %v", rsp.Results)
	}
	desired = map[string]encoded.Struct{}
	for name, r := range rsp.Composed {
		desired[name] = r.Object
	}
	status, _ = rsp.Composite.Object.Map()["status"].(map[string]any)
	return desired, status
}

// edited returns a control plane with another spec and the previous status.
func edited(t *testing.T, w *simulate.Cluster, spec string) *simulate.Cluster {
	t.Helper()
	status := w.XR.GetFields()["status"]
	w.XR = xr(t, spec)
	w.XR.Fields["status"] = status
	return w
}

// applied returns a control plane after all desired objects were applied.
func applied(t *testing.T, w *simulate.Cluster) *simulate.Cluster {
	t.Helper()
	desired, status := answer(t, w)
	for name, o := range desired {
		o, err := simulate.Finish(simulate.Exist(o))
		if err != nil {
			t.Fatal(err)
		}
		w.Observed[name] = o
	}
	s, err := structpb.NewStruct(status)
	if err != nil {
		t.Fatal(err)
	}
	w.XR.Fields["status"] = structpb.NewStructValue(s)
	return w
}

// TestRetainPolicyAppliesDespiteInvalidSpec checks that a change of the deletion policy is composed in the same reconciliation. If the spec
// is invalid otherwise, only a change to Retain is. The status follows once the change is observed.
func TestRetainPolicyAppliesDespiteInvalidSpec(t *testing.T) {
	const mistake = "services: {keystone: {config: {DEFAULT: {nonsense: true}}}}"
	cases := map[string]struct {
		reason        string
		before, after string
		// composed is the policy after the edit; now and then are the effective ones after the edit and after the next reconciliation.
		composed, now, then string
	}{
		"Retain":           {"It is effective once all objects have it.", "deletionPolicy: Delete", "deletionPolicy: Retain", "Retain", "Delete", "Retain"},
		"RetainAndMistake": {"An error in another field does not prevent it.", "deletionPolicy: Delete", "deletionPolicy: Retain, " + mistake, "Retain", "Delete", "Retain"},
		"DefaultAndMistake": {
			"Nor does it prevent the default.", "deletionPolicy: Delete", mistake, "Retain", "Delete", "Retain",
		},
		"Delete":           {"It is effective before it is observed: Objects are applied before the status.", "deletionPolicy: Retain", "deletionPolicy: Delete", "Delete", "Delete", "Delete"},
		"DeleteAndMistake": {"Nothing is deleted with an invalid spec.", "deletionPolicy: Retain", "deletionPolicy: Delete, " + mistake, "Retain", "Retain", "Retain"},
		"Same":             {"The policy is unchanged.", "deletionPolicy: Delete", "deletionPolicy: Delete, " + mistake, "Delete", "Delete", "Delete"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, "{"+tc.before+"}", bare)
			if got := at(w.XR.AsMap(), "status", "deletionPolicy"); got != at(w.XR.AsMap(), "spec", "deletionPolicy") {
				t.Errorf("before the edit, status.deletionPolicy is %v", got)
			}
			w = edited(t, w, "{"+tc.after+"}")
			desired, status := answer(t, w)
			want := "*"
			if tc.composed == "Retain" {
				want = "Observe"
			}
			for _, data := range []string{"namespace", "database", "database-root-secret", "messaging", "locks", "authority"} {
				policies, _ := at(desired[data].Map(), "spec", "managementPolicies").([]any)
				if !slices.Contains(policies, any(want)) {
					t.Errorf("%s\n%s is composed with %v", tc.reason, data, policies)
				}
			}
			if got := desired["keystone"].At("spec", "deletionPolicy").Text(); got != tc.composed {
				t.Errorf("%s\nthe policy of Keystone is %s", tc.reason, got)
			}
			_, next := answer(t, applied(t, w))
			if status["deletionPolicy"] != tc.now || next["deletionPolicy"] != tc.then {
				t.Errorf("%s\nstatus.deletionPolicy is %v and then %v, want %s and %s", tc.reason, status["deletionPolicy"], next["deletionPolicy"], tc.now, tc.then)
			}
		})
	}
}

// TestDeletionPolicyEffectiveAfterServiceReport checks that a policy is not effective before the service reports it.
func TestDeletionPolicyEffectiveAfterServiceReport(t *testing.T) {
	w := applied(t, edited(t, readyCluster(t, "{deletionPolicy: Delete}", bare), "{deletionPolicy: Retain}"))
	keystone := w.Observed["keystone"]
	for requested, want := range map[string]any{"Retain": "Retain", "Delete": "Delete", "": nil} {
		w.Observed["keystone"] = keystone.With(encoded.Text(requested), "status", "deletionPolicy")
		if _, status := answer(t, w); status["deletionPolicy"] != want {
			t.Errorf("Keystone reports %q, and the claim %v, want %v", requested, status["deletionPolicy"], want)
		}
	}
}

// TestClaimReportsMessageOfService checks that the claim contains the message of the service that it waits for.
func TestClaimReportsMessageOfService(t *testing.T) {
	w := readyCluster(t, "{}", bare)
	m := w.Observed["keystone"].Map()
	m["status"] = map[string]any{
		"observedGeneration": 1.0, "phase": "Updating",
		"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "Creating"}},
		"components": []any{
			map[string]any{"name": "credentials", "phase": "Ready"},
			map[string]any{"name": "database", "phase": "Updating", "reason": "ConnectionFailed", "message": "User keystone: cannot connect"},
		},
	}
	w.Observed["keystone"] = encoded.Of(structOf(t, m))
	rsp := w.Kinds[kind].Run(w.Request())
	for _, c := range rsp.Conditions {
		want := map[string]string{"KeystoneReady": "database: User keystone: cannot connect", "Current": "keystone: database: User keystone: cannot connect"}
		if w, ok := want[c.GetType()]; ok && (c.GetMessage() != w || c.GetReason() != "ConnectionFailed") {
			t.Errorf("%s has reason %s: %q, want %q", c.GetType(), c.GetReason(), c.GetMessage(), w)
		}
	}
	_, status := answer(t, w)
	for _, c := range status["components"].([]any) {
		if at(c, "name") == "keystone" && at(c, "message") != "database: User keystone: cannot connect" {
			t.Errorf("the condition is %v", c)
		}
	}
}

// TestRootPasswordBackupNeverReplaced checks that a copy of root's password that opens existing backups is never replaced.
func TestRootPasswordBackupNeverReplaced(t *testing.T) {
	push := desired(t, readyCluster(t, "{global: {secretStore: {name: openbao, kind: ClusterSecretStore}}}", bare))["database-root-backup"].Map()
	if got := at(push, "spec", "updatePolicy"); push["kind"] != "PushSecret" || got != "IfNotExists" {
		t.Errorf("%v with updatePolicy %v", push["kind"], got)
	}
}
