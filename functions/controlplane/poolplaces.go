package controlplane

import (
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// A StorageCluster may be in another cluster than the services that keep something in it: then its keys come through the platform's store,
// and its daemons have to have addresses that lead there.

// storageIn is the provider config of the cluster that a StorageCluster is in.
func (m *model) storageIn(c *common.StorageClient) (string, error) {
	return platform.ClusterOf(m.platform, "the StorageCluster", c.Cluster)
}

// checkPoolReachable refuses a pool whose key does not come to the services, or whose daemons they do not reach.
func (m *model) checkPoolReachable(field string, c *common.StorageClient) error {
	if c == nil {
		return nil // Nobody knows yet where it is.
	}
	at, err := m.storageIn(c)
	switch {
	case err != nil || at == m.providerConfig:
		return err
	case m.secretStore == nil:
		return invalid.Field(field, "the StorageCluster is in another cluster than the workloads, to which its key comes through a secret "+
			"store, and there is none; name one in spec.global.secretStore, or ask the platform team for one")
	case at != platform.Management(m.platform) && m.secretStore.Kind == "SecretStore":
		return invalid.Field(field, "the StorageCluster's key is in another namespace of another cluster, where a SecretStore of this one is "+
			"not seen; name a ClusterSecretStore in spec.global.secretStore")
	case c.PodNetwork:
		return invalid.Field(field+".clusterRef", "its daemons are pods with addresses of their own, which workloads in another cluster do "+
			"not reach; name a StorageCluster with network.host, or one in the workloads' cluster")
	}
	return nil
}

// keySet is the set of keys of a StorageCluster.
func (m *model) keySet(c *common.StorageClient) tenantsecret.Set {
	at, _ := m.storageIn(c) // Who asks for it has been refused otherwise.
	return m.keySetOf(clusterName(c.Instance), c.Instance).ForClusters(at, m.providerConfig, platform.Management(m.platform), m.secretStore)
}

// unreferencedPoolKeys is the set of a StorageCluster that no service names any more, which a composed resource belongs to.
func (m *model) unreferencedPoolKeys(of, resource string) tenantsecret.Set {
	observedState, _ := m.seen.Get(resource)
	return m.keySetOf(of, "").Unreferenced(resource, observedState, platform.Management(m.platform))
}

func (m *model) keySetOf(of, instance string) tenantsecret.Set {
	return m.secretSet(of+"-keys", of+"-", instance, corev1.SecretTypeOpaque)
}
