package tenantsecret

import (
	"strings"
	"testing"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// TestHypervisorStore: entries of pools are below a path that no control plane's entries are below, whatever the prefix.
func TestHypervisorStore(t *testing.T) {
	if HypervisorStore(nil) != nil {
		t.Error("there is no store")
	}
	for prefix, want := range map[string]string{"": "hypervisors/", "clouds/a": "clouds/a/hypervisors/"} {
		own := common.SecretStoreReference{Name: "openbao", Prefix: prefix}
		pools := HypervisorStore(&own)
		if got := secret.RemoteKey(*pools, "pool", "key"); got != want+"pool/key" || pools.Kind != "ClusterSecretStore" || own.Kind != "" {
			t.Errorf("prefix %q: %s, want %spool/key; %+v of %+v", prefix, got, want, pools, own)
		}
		if got := secret.RemoteKey(own, names.Instance("hypervisors", "x"), "key"); strings.HasPrefix(got, want) {
			t.Errorf("prefix %q: %s is a control plane's", prefix, got)
		}
	}
}
