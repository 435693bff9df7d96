package claimed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

func TestRead(t *testing.T) {
	platform, err := structpb.NewStruct(map[string]any{"spec": map[string]any{"domain": "example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	installed := func(change func(map[string][]*structpb.Struct)) map[string][]*structpb.Struct {
		required := admission.Requirements()
		required["platform"] = []*structpb.Struct{platform}
		if change != nil {
			change(required)
		}
		return required
	}
	config := platformv1.PlatformConfig{Spec: platformv1.PlatformConfigSpec{Domain: "example.com"}}
	function.SetDefaults(&config)
	spec := &config.Spec
	for name, tc := range map[string]struct {
		reason   string
		required map[string][]*structpb.Struct
		claim    function.Claim
		want     Base
		wantErr  string
	}{
		"claim": {
			reason: "The claim determines the instance.", required: installed(nil), claim: function.Claim{Namespace: "tenant-a", Name: "cloud"},
			want: Base{
				Claim: function.Claim{Namespace: "tenant-a", Name: "cloud"}, Instance: names.Instance("tenant-a", "cloud"), Platform: spec,
			},
		},
		"composite resource": {
			reason: "Without a claim, the name of the composite resource determines it.", required: installed(nil),
			want: Base{Claim: function.Claim{Name: "cloud-x"}, Instance: names.Instance("", "cloud-x"), Platform: spec},
		},
		"no platform": {
			reason:   "Limits are unknown.",
			required: installed(func(r map[string][]*structpb.Struct) { delete(r, "platform") }), wantErr: "no PlatformConfig",
		},
		"no policies": {
			reason:   "Restrictions of tenants are not enforced.",
			required: installed(func(r map[string][]*structpb.Struct) { r[admission.PolicyRequirement] = nil }),
			wantErr:  "cobaltcore-claims is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(tc.required, tc.claim, "cloud-x")
			if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("%s\nRead(...): error %v, want %q", tc.reason, err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nRead(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
