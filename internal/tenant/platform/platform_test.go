package platform_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

func TestRead(t *testing.T) {
	config := func(spec map[string]any) []*structpb.Struct {
		s, err := structpb.NewStruct(map[string]any{"spec": spec})
		if err != nil {
			t.Fatal(err)
		}
		return []*structpb.Struct{s}
	}
	for _, tc := range []struct {
		reason   string
		required map[string][]*structpb.Struct
		want     *platformv1.PlatformConfigSpec
		err      string
	}{
		{"It is required by its name.", map[string][]*structpb.Struct{"platform": config(map[string]any{"domain": "example.com"})},
			&platformv1.PlatformConfigSpec{
				Domain: "example.com", ClusterDomain: "cluster.local", IPFamily: "IPv4", ProviderConfig: "in-cluster",
				SecretsNamespace: "crossplane-system",
			}, ""},
		{"Crossplane returns an empty list if it does not exist.", map[string][]*structpb.Struct{"platform": nil}, nil, "no PlatformConfig named default"},
		{"It was not required.", nil, nil, "no PlatformConfig named default"},
		{"One of another version is not guessed at.", map[string][]*structpb.Struct{"platform": config(map[string]any{"limits": "none"})},
			nil, "cannot read the PlatformConfig"},
	} {
		got, err := platform.Read(tc.required)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
		}
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s got error %v, want %q", tc.reason, err, tc.err)
		}
	}
}

// TestRook checks that Rook's operator has the defaults of the schema without settings, and that settings are kept.
func TestRook(t *testing.T) {
	for name, tc := range map[string]struct {
		rook *platformv1.Rook
		want platformv1.Rook
	}{
		"no settings":    {nil, platformv1.Rook{Namespace: "rook-ceph", ServiceAccount: "rook-ceph-system"}},
		"some settings":  {&platformv1.Rook{Namespace: "rook"}, platformv1.Rook{Namespace: "rook", ServiceAccount: "rook-ceph-system"}},
		"other settings": {&platformv1.Rook{CSI: &platformv1.RookCSI{}}, platformv1.Rook{Namespace: "rook-ceph", ServiceAccount: "rook-ceph-system", CSI: &platformv1.RookCSI{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, platform.Rook(&platformv1.PlatformConfigSpec{Rook: tc.rook})); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestClusterOf checks that existing objects find their cluster by its name, and that a removed cluster is an error of the
// platform.
func TestClusterOf(t *testing.T) {
	p := &platformv1.PlatformConfigSpec{ProviderConfig: "in-cluster", Clusters: []platformv1.Cluster{{Name: "east", ProviderConfig: "east-config"}}}
	for name, tc := range map[string]struct{ cluster, want, err string }{
		"here":  {"", "in-cluster", ""},
		"there": {"east", "east-config", ""},
		"gone":  {"west", "", `the StorageCluster is in cluster "west", which is neither a WorkloadCluster nor in clusters of the PlatformConfig; the platform team has to register it again`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := platform.ClusterOf(p, "the StorageCluster", common.ObjectName(tc.cluster))
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && (err.Error() != tc.err || invalid.Is(err)) {
				t.Errorf("got %q, %v, want %q, %s", got, err, tc.want, tc.err)
			}
		})
	}
}
