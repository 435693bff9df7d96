package controlplane

import (
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// A StorageCluster may be in another cluster than the services that use it. Its keys are then transferred through the platform's secret
// store, and its daemons must have addresses that are reachable from there.

// storageIn returns the provider config of the cluster of a StorageCluster.
func (m *model) storageIn(c *common.StorageClient) (string, error) {
	return platform.ClusterOf(m.platform, "the StorageCluster", c.Cluster)
}

// checkPoolReachable returns an error for a pool whose key cannot be transferred to the services, or whose daemons they cannot reach.
func (m *model) checkPoolReachable(field string, c *common.StorageClient) error {
	if c == nil {
		return nil // The cluster of the pool is not known yet.
	}
	at, err := m.storageIn(c)
	switch {
	case err != nil || at == m.providerConfig:
		return err
	case m.secretStore == nil:
		return invalid.Field(field, "the StorageCluster is in another cluster than the workloads, which requires a secret store to "+
			"transfer its key, and none is configured; set spec.global.secretStore, or ask the platform team for one")
	case at != platform.Management(m.platform) && m.secretStore.Kind == "SecretStore":
		return invalid.Field(field, "the key of the StorageCluster is in another namespace of another cluster, which cannot use a "+
			"SecretStore of this namespace; set spec.global.secretStore to a ClusterSecretStore")
	case c.PodNetwork:
		return invalid.Field(field+".clusterRef", "its daemons use pod IPs, which workloads in another cluster cannot "+
			"reach; set a StorageCluster with network.host, or one in the cluster of the workloads")
	}
	return nil
}

// keySet returns the keys of a StorageCluster.
func (m *model) keySet(c *common.StorageClient) tenantsecret.Set {
	at, _ := m.storageIn(c) // The error was reported by checkPoolReachable.
	return m.keySetOf(clusterName(c.Instance), c.Instance).ForClusters(at, m.providerConfig, platform.Management(m.platform), m.secretStore)
}

// unreferencedPoolKeys returns the keys of a StorageCluster that no service references any more and that own the composed resource.
func (m *model) unreferencedPoolKeys(of, resource string) tenantsecret.Set {
	observedState, _ := m.observed.Get(resource)
	return m.keySetOf(of, "").Unreferenced(resource, observedState, platform.Management(m.platform))
}

func (m *model) keySetOf(of, instance string) tenantsecret.Set {
	return m.secretSet(of+"-keys", of+"-", instance, corev1.SecretTypeOpaque)
}
