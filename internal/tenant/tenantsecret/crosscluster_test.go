package tenantsecret

import (
	"strings"
	"testing"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// TestHypervisorStore checks that the folder of pools never contains entries of control planes, for any prefix.
func TestHypervisorStore(t *testing.T) {
	if HypervisorStore(nil) != nil {
		t.Error("there is no store")
	}
	for prefix, want := range map[string]string{"": "hypervisors/", "clouds/a": "clouds/a/hypervisors/"} {
		own := common.SecretStoreReference{Name: "openbao", Kind: "SecretStore", Prefix: prefix}
		pools := HypervisorStore(&own)
		if got := secret.RemoteKey(*pools, "pool", "key"); got != want+"pool/key" || pools.Kind != own.Kind || own.Prefix != prefix {
			t.Errorf("prefix %q: %s, want %spool/key; %+v of %+v", prefix, got, want, pools, own)
		}
		if got := secret.RemoteKey(own, names.Instance("hypervisors", "x"), "key"); strings.HasPrefix(got, want) {
			t.Errorf("prefix %q: %s is a control plane's", prefix, got)
		}
	}
}

// TestStorageStore checks that Secrets for Ceph clusters are in a separate folder.
func TestStorageStore(t *testing.T) {
	if StorageStore(nil) != nil {
		t.Error("there is no store")
	}
	own := common.SecretStoreReference{Name: "openbao", Prefix: "clouds/a"}
	if got := secret.RemoteKey(*StorageStore(&own), "ceph", "key"); got != "clouds/a/storage/ceph/key" {
		t.Errorf("it lies at %s", got)
	}
}

// TestSecretsCrossClustersThroughStore checks that Secrets in the management cluster are read there, Secrets in another cluster are read in
// that cluster, and workloads in a third cluster get them through the store.
func TestSecretsCrossClustersThroughStore(t *testing.T) {
	store := &common.SecretStoreReference{Name: "openbao"}
	for name, tc := range map[string]struct{ secrets, readers, cluster, via string }{
		"here":       {"here", "here", "", ""},
		"from here":  {"here", "east", "", "openbao"},
		"there":      {"east", "east", "east", ""},
		"from there": {"east", "here", "east", "openbao"},
		"elsewhere":  {"east", "west", "east", "openbao"},
	} {
		t.Run(name, func(t *testing.T) {
			before := set()
			before.Cluster, before.Via = "north", &common.SecretStoreReference{Name: "other"}
			got := before.ForClusters(tc.secrets, tc.readers, "here", store)
			via := ""
			if got.Via != nil {
				via = string(got.Via.Name)
			}
			if got.Cluster != tc.cluster || via != tc.via {
				t.Errorf("in cluster %q, via %q, want %q, %q", got.Cluster, via, tc.cluster, tc.via)
			}
		})
	}
}
