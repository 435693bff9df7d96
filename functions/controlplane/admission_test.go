package controlplane

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

// TestRequiresAdmissionPolicies checks that nothing is composed without the admission policies, and that existing objects are kept. It is
// not an error of the tenant.
func TestRequiresAdmissionPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(required map[string][]*structpb.Struct)
		want   string
	}{
		"missing":  {"The chart was never installed.", func(r map[string][]*structpb.Struct) { r[admission.PolicyRequirement] = nil }, "is missing"},
		"unbound":  {"A binding was removed.", func(r map[string][]*structpb.Struct) { r[admission.BindingRequirement] = nil }, "is missing"},
		"not read": {"The Composition is older than the function.", func(r map[string][]*structpb.Struct) { delete(r, admission.PolicyRequirement) }, "upgrade the Configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, "{}", bare)
			tc.change(w.Required)
			if _, _, err := w.Kinds[kind].Explain(w.Request()); err == nil || invalid.Is(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nerror %v, want one with %q that is not the tenant's", tc.reason, err, tc.want)
			}
			rsp := w.Kinds[kind].Run(w.Request())
			if rsp.Composite != nil || len(rsp.Composed) > 0 {
				t.Errorf("%s\nsomething is desired", tc.reason)
			}
			requested := false
			for _, c := range rsp.Conditions {
				requested = requested || c.GetType() == respond.Composed && strings.Contains(c.GetMessage(), tc.want)
			}
			if !requested {
				t.Errorf("%s\nthe condition of the claim does not report it: %v", tc.reason, rsp.Conditions)
			}
		})
	}
}
