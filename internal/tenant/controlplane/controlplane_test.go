package controlplane

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
)

const (
	claim = `
metadata: {namespace: tenant-a, name: cloud}
spec: {allowedNamespaces: ["friends-*"], resourceRef: {name: cloud-x}}
`
	composite = `
spec: {claimRef: {namespace: tenant-a, name: cloud}, openStackRelease: "2025.2"}
`
)

var ref = common.ClaimReference{Namespace: "tenant-a", Name: "cloud"}

func parsed(t *testing.T, text string) []*structpb.Struct {
	t.Helper()
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return []*structpb.Struct{s}
}

func TestReference_Read(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, namespace, claim, composite string
		consents                            func(*structpb.Struct) bool
		wantRelease                         string
		wantOK                              bool
		wantErr                             string
	}{
		"own namespace": {
			reason: "It always may.", namespace: "tenant-a", claim: claim, composite: composite, wantRelease: "2025.2", wantOK: true,
		},
		"allowed namespace": {
			reason: "It is in the list.", namespace: "friends-x", claim: claim, composite: composite, wantRelease: "2025.2", wantOK: true,
		},
		"other namespace": {reason: "It is not in the list.", namespace: "tenant-b", claim: claim, composite: composite},
		"no claim":        {reason: "A missing claim looks like one that does not consent.", namespace: "tenant-a", composite: composite},
		"own consent": {
			reason: "The function replaces the list of namespaces.", namespace: "tenant-b", claim: claim, composite: composite,
			consents: func(*structpb.Struct) bool { return true }, wantRelease: "2025.2", wantOK: true,
		},
		"no consent": {
			reason: "It also replaces the right of its own namespace.", namespace: "tenant-a", claim: claim, composite: composite,
			consents: func(*structpb.Struct) bool { return false },
		},
		"not bound": {
			reason: "The claim has no composite resource yet.", namespace: "tenant-a",
			claim: strings.Replace(claim, ", resourceRef: {name: cloud-x}", "", 1), composite: composite, wantOK: true,
		},
		"not composed": {reason: "The composite resource does not exist yet.", namespace: "tenant-a", claim: claim, wantOK: true},
		"composite resource of another claim": {
			reason: "Only Crossplane writes its claimRef.", namespace: "tenant-a", claim: claim,
			composite: strings.Replace(composite, "namespace: tenant-a", "namespace: tenant-b", 1),
		},
		"unreadable": {
			reason: "A field has another type.", namespace: "tenant-a", claim: claim,
			composite: strings.Replace(composite, `"2025.2"`, "2025", 1), wantOK: true,
			wantErr: "cannot read the control plane cloud of namespace tenant-a: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			required := reference.Required{}
			if tc.claim != "" {
				required["control-plane-claim"] = parsed(t, tc.claim)
			}
			if tc.composite != "" {
				required["control-plane"] = parsed(t, tc.composite)
			}
			c, ok, err := To(tc.namespace, ref, tc.consents).Read(required)
			if (err == nil) != (tc.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), tc.wantErr) {
				t.Errorf("%s\nRead(...): error %v, want %q", tc.reason, err, tc.wantErr)
			}
			release := ""
			if c != nil {
				release = c.Spec.OpenStackRelease
			}
			if ok != tc.wantOK || release != tc.wantRelease {
				t.Errorf("%s\nRead(...): release %q and %t, want %q and %t", tc.reason, release, ok, tc.wantRelease, tc.wantOK)
			}
		})
	}
}

func TestCluster(t *testing.T) {
	for want, cluster := range map[common.ObjectName]*common.Cluster{"east": {Ref: &common.ClusterReference{Name: "east"}}, "": nil} {
		c := &controlplanev1.ControlPlaneCluster{Spec: controlplanev1.ControlPlaneClusterSpec{Cluster: cluster}}
		if got := Cluster(c); got != want {
			t.Errorf("Cluster(%v) = %q, want %q", cluster, got, want)
		}
	}
	incomplete := controlplanev1.ControlPlaneClusterSpec{Cluster: &common.Cluster{}}
	if got := Cluster(&controlplanev1.ControlPlaneCluster{Spec: incomplete}); got != "" {
		t.Errorf("a cluster without a reference is %q, want the management cluster", got)
	}
}

// TestLastKnown checks that the recorded state stays, with the reason for waiting.
func TestLastKnown(t *testing.T) {
	type info struct {
		State
		region string
	}
	got := LastKnown(info{State{Instance: "cloud"}, "east"}, "waiting for the catalog")
	if want := (info{State{Instance: "cloud", Waits: "waiting for the catalog"}, "east"}); got != want {
		t.Errorf("LastKnown(...) = %+v, want %+v", got, want)
	}
}

// TestRecord checks that the ConfigMap delays other components while there is a reason for waiting, although it exists.
func TestRecord(t *testing.T) {
	existing := &observe.Object{}
	for _, waits := range []string{"", "waits for the cell"} {
		stages := Record(object.Meta{Name: "control-plane", Namespace: "pool"}, map[string]string{"cell": "cell1"}, waits)
		if got := stages[0][0].Ready(existing); got.Ready != (waits == "") || got.Message != waits {
			t.Errorf("waits %q: ready %t, message %q", waits, got.Ready, got.Message)
		}
	}
}
