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

// TestInSync: what the companion says is about what is asked now, or else it is not answered.
func TestInSync(t *testing.T) {
	const answered = `
status:
  answer: {request: first, mode: Log, differences: 2}
  conditions:
  - {type: Ready, status: "True", reason: Answered, message: request "first" is answered}
  - {type: InSync, status: "False", reason: Drifted, message: two ports are gone}`
	for name, tc := range map[string]struct {
		reason   string
		asks     *common.OVNSyncRequest
		observed string
		want     ready.Result
	}{
		"NotAsked": {reason: "There is nothing to say."},
		"NotSeen": {
			reason: "It is not there yet.", asks: &common.OVNSyncRequest{Request: "first"},
			want: ready.Result{Reason: "NotAnswered", Message: `request "first" is not answered yet`},
		},
		"Waits": {
			reason: "The companion says for what.", asks: &common.OVNSyncRequest{Request: "first"},
			observed: `{status: {conditions: [{type: Ready, status: "False", reason: Waiting, message: Secret a does not exist}]}}`,
			want:     ready.Result{Reason: "NotAnswered", Message: "Secret a does not exist"},
		},
		"Answered": {
			reason: "By its own verdict. Where no mode is said, it only looks.", asks: &common.OVNSyncRequest{Request: "first"}, observed: answered,
			want: ready.Result{Reason: "Drifted", Message: "two ports are gone"},
		},
		"OtherRequest": {
			reason: "The answer is that to another one.", asks: &common.OVNSyncRequest{Request: "second", Mode: common.OVNSyncLog}, observed: answered,
			want: ready.Result{Reason: "NotAnswered", Message: `request "second" is not answered yet`},
		},
		"OtherMode": {
			reason: "So it is if only the mode is another one.", asks: &common.OVNSyncRequest{Request: "first", Mode: common.OVNSyncRepair},
			observed: answered, want: ready.Result{Reason: "NotAnswered", Message: `request "first" is not answered yet`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{spec: &neutronv1.NeutronSpec{OVN: &neutronv1.OVN{Sync: tc.asks}}, lastSync: observed(t, tc.observed)}
			if diff := cmp.Diff(tc.want, m.inSync()); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// observed is an object as it is seen. Nothing: there is none.
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
	seen, err := observe.New(map[string]encoded.Struct{syncResource: body})
	if err != nil {
		t.Fatal(err)
	}
	o, _ := seen.Get(syncResource)
	return o
}
