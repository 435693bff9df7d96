package infrastructure

import (
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// reachableKeys returns the keys of the StorageCluster of a pool, and an error if they cannot be transferred to the services, or if the
// services cannot reach its daemons.
func reachableKeys(c *claim.Claim, field string, client *common.StorageClient) (tenantsecret.Set, error) {
	at, err := platform.ClusterOf(c.Platform, "the StorageCluster", client.Cluster)
	if err != nil {
		return tenantsecret.Set{}, err
	}
	name := clusterName(client.Instance)
	set := keySet(c, name, client.Instance).ForClusters(at, c.ProviderConfig, platform.Management(c.Platform), c.SecretStore)
	switch {
	case at == c.ProviderConfig:
		return set, nil
	case c.SecretStore == nil:
		err = invalid.Field(field, "the StorageCluster is in another cluster than the workloads, which requires a secret store to "+
			"transfer its key, and none is configured; set spec.global.secretStore, or ask the platform team for one")
	case at != platform.Management(c.Platform) && c.SecretStore.Kind == "SecretStore":
		err = invalid.Field(field, "the key of the StorageCluster is in another namespace of another cluster, which cannot use a "+
			"SecretStore of this namespace; set spec.global.secretStore to a ClusterSecretStore")
	case client.PodNetwork:
		err = invalid.Field(field+".clusterRef", "its daemons use pod IPs, which workloads in another cluster cannot "+
			"reach; set a StorageCluster with network.host, or one in the cluster of the workloads")
	}
	return set, err
}

// unreferencedPoolKeys returns the keys of a StorageCluster that no service references any more and that own the composed resource.
func unreferencedPoolKeys(c *claim.Claim, of, resource string) tenantsecret.Set {
	observedState, _ := c.Observed.Get(resource)
	return keySet(c, of, "").Unreferenced(resource, observedState, platform.Management(c.Platform))
}

// keySet returns an empty set of keys of a StorageCluster, whose resources have names that begin with of.
func keySet(c *claim.Claim, of, instance string) tenantsecret.Set {
	return c.SecretSet(of+"-keys", of+"-", instance, corev1.SecretTypeOpaque)
}
