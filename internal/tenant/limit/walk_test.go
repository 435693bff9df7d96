package limit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// TestWalk checks that paths have the format of a claim, and that zero values are skipped.
func TestWalk(t *testing.T) {
	spec := controlplanev1.ControlPlaneClusterSpec{Size: "small", AllowedNamespaces: []common.NamespacePattern{"a", "b"}}
	spec.Services.Keystone.Placement = common.Placement{
		NodeSelector: map[string]common.LabelValue{"zone": "b", "arch": "c"}, Tolerations: []common.Toleration{{Key: "k"}},
	}
	spec.Services.Keystone.Image = &common.Image{Tag: "1.2.3"}
	got := map[string]string{}
	limit.Walk("spec", spec, func(path string, v any) {
		switch v := v.(type) {
		case string:
			got[path] = v
		case common.LabelValue:
			got[path] = string(v)
		case common.NamespacePattern:
			got[path] = string(v)
		case common.Image:
			got[path] = "an image"
		}
	})
	want := map[string]string{
		"spec.size": "small", "spec.allowedNamespaces[0]": "a", "spec.allowedNamespaces[1]": "b",
		"spec.services.keystone.nodeSelector[arch]": "c", "spec.services.keystone.nodeSelector[zone]": "b",
		"spec.services.keystone.tolerations[0].key": "k",
		"spec.services.keystone.image":              "an image", "spec.services.keystone.image.tag": "1.2.3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
