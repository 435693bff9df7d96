package neutron

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestInSync verifies that the companion's result is used only if it belongs to the current request; otherwise the request is pending.
func TestInSync(t *testing.T) {
	const answered = `
status:
  answer: {request: first, mode: Log, differences: 2}
  conditions:
  - {type: Ready, status: "True", reason: Completed, message: request "first" is answered}
  - {type: InSync, status: "False", reason: Drifted, message: two ports are gone}`
	for name, tc := range map[string]struct {
		reason   string
		request  *common.OVNSyncRequest
		observed string
		want     ready.Result
	}{
		"NoRequest": {reason: "The condition is unset."},
		"NotObserved": {
			reason: "It does not exist yet.", request: &common.OVNSyncRequest{Request: "first"},
			want: ready.Result{Reason: "RequestPending", Message: `waiting for the OVN comparison of request "first"`},
		},
		"Waits": {
			reason: "The companion reports the reason.", request: &common.OVNSyncRequest{Request: "first"},
			observed: `{status: {conditions: [{type: Ready, status: "False", reason: Waiting, message: Secret a does not exist}]}}`,
			want:     ready.Result{Reason: "RequestPending", Message: "Secret a does not exist"},
		},
		"Answered": {
			reason: "It has the companion's result. The mode Log only compares.", request: &common.OVNSyncRequest{Request: "first", Mode: common.OVNSyncLog}, observed: answered,
			want: ready.Result{Reason: "Drifted", Message: "two ports are gone"},
		},
		"OtherRequest": {
			reason: "The answer belongs to another request.", request: &common.OVNSyncRequest{Request: "second", Mode: common.OVNSyncLog}, observed: answered,
			want: ready.Result{Reason: "RequestPending", Message: `waiting for the OVN comparison of request "second"`},
		},
		"OtherMode": {
			reason: "The mode differs.", request: &common.OVNSyncRequest{Request: "first", Mode: common.OVNSyncRepair},
			observed: answered, want: ready.Result{Reason: "RequestPending", Message: `waiting for the OVN comparison of request "first"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{spec: &neutronv1.NeutronSpec{OVN: &neutronv1.OVN{Sync: tc.request}}, lastSync: observed(t, tc.observed)}
			if diff := cmp.Diff(tc.want, m.inSync()); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// observed returns an observed object. Empty: it does not exist.
func observed(t *testing.T, text string) *observe.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	body, err := encode.Struct(fields)
	if err != nil {
		t.Fatal(err)
	}
	state, err := observe.New(map[string]encoded.Struct{syncResource: body})
	if err != nil {
		t.Fatal(err)
	}
	o, _ := state.Get(syncResource)
	return o
}
