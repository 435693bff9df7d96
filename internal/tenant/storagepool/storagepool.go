// Package storagepool resolves a claim's reference to a pool of a StorageCluster to the settings of a Ceph client. The key
// of the Ceph user stays in a Secret in the cluster's namespace, from which it is copied (internal/tenant/tenantsecret).
package storagepool

import (
	"fmt"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// Kind of the claims with pools.
var Kind = storagev1.GroupVersionKind.Kind

// User identifies the service that stores data in a pool.
type User struct {
	// Namespace of the claim that references the pool. The cluster must allow it.
	Namespace string
	// ControlPlane is the consumer with its own pools and users, if the cluster has consumers. It is the claim itself, or
	// the control plane to which the claim belongs and that has allowed it.
	ControlPlane common.ClaimReference
	// Service of that control plane.
	Service storagev1.Service
}

// Ref returns a reference to a pool in the format of a StorageClient: tenant-a/storage/images.
func Ref(pool common.StoragePool) string {
	return fmt.Sprintf("%s/%s/%s", pool.ClusterRef.Namespace, pool.ClusterRef.Name, pool.Pool)
}

// to returns the reference to a cluster from a claim of a namespace.
func to(namespace string, ref common.ClaimReference) reference.ClaimReference {
	name := string(ref.Namespace) + "." + string(ref.Name)
	return reference.ClaimReference{
		Kind: Kind, Ref: ref, Namespace: namespace, Claim: "storage-claim." + name, Composite: "storage." + name,
	}
}

// Requires adds the requirements for a pool that a claim of a namespace references.
func Requires(required reference.Required, namespace string, pool common.StoragePool, into map[string]wire.Selector) {
	to(namespace, pool.ClusterRef).Requires(required, into)
}

// Cluster returns the name of the cluster of a StorageCluster whose pool a claim of a namespace references. Empty: the management cluster,
// or it is not known yet.
func Cluster(required reference.Required, namespace string, pool common.StoragePool) common.ObjectName {
	xr, ok := to(namespace, pool.ClusterRef).Find(required)
	if !ok {
		return ""
	}
	at := xr.GetFields()["spec"].GetStructValue().GetFields()["cluster"].GetStructValue().GetFields()
	return common.ObjectName(at["ref"].GetStructValue().GetFields()["name"].GetStringValue())
}

// Find returns the client with which a user accesses the pool in a field of the claim's spec. If the cluster does not
// publish the pool yet, it returns no client, and waiting describes the missing condition; the caller keeps using the
// previous client. It returns an error for a reference to a cluster that does not exist or does not allow it.
func Find(
	required reference.Required, user User, field string, pool common.StoragePool,
) (client *common.StorageClient, waiting string, err error) {
	ref := pool.ClusterRef
	cluster := to(user.Namespace, ref)
	xr, ok := cluster.Find(required)
	if !ok {
		return nil, "", cluster.NotFound(field + ".clusterRef")
	}
	owner := fmt.Sprintf("storage cluster %s of namespace %s", ref.Name, ref.Namespace)
	if xr == nil {
		return nil, fmt.Sprintf("waits for %s, of which nothing is composed yet", owner), nil
	}
	c := storagev1.StorageCluster{}
	if err := function.Decode(xr, &c); err != nil {
		return nil, "", fmt.Errorf("cannot read the %s: %w", owner, err)
	}
	if plane := user.ControlPlane; !consumes(c.Spec.Consumers, plane) {
		return nil, "", invalid.Field(field+".clusterRef",
			"the %s has consumers, and control plane %s of namespace %s is not among them; have its "+
				"owner add it to spec.consumers there", owner, plane.Name, plane.Namespace)
	}
	if known := c.Status.Access; known != nil && c.Status.Instance != "" {
		for _, consumer := range known.Consumers {
			if consumer.ControlPlaneRef == nil || *consumer.ControlPlaneRef == user.ControlPlane {
				return in(&c, consumer, owner, field, pool, user.Service)
			}
		}
	}
	return nil, fmt.Sprintf("waits for %s to publish its pools", owner), nil
}

// consumes reports whether a control plane may use the cluster: if there are consumers, it must be one of them.
func consumes(consumers []storagev1.Consumer, plane common.ClaimReference) bool {
	return len(consumers) == 0 ||
		slices.ContainsFunc(consumers, func(c storagev1.Consumer) bool { return c.ControlPlaneRef == plane })
}

// in returns the client for a pool and a user of a consumer.
func in(
	c *storagev1.StorageCluster, consumer storagev1.ConsumerAccess, owner, field string, pool common.StoragePool,
	service storagev1.Service,
) (client *common.StorageClient, waiting string, err error) {
	p := slices.IndexFunc(consumer.Pools, func(p storagev1.PoolAccess) bool { return p.Name == pool.Pool })
	u := slices.IndexFunc(consumer.Clients, func(c storagev1.ClientAccess) bool { return c.Service == service })
	if p < 0 {
		return nil, fmt.Sprintf("waits for pool %s of %s, which does not exist; check spec.pools there", pool.Pool, owner), nil
	}
	if !slices.Contains(writes[service], consumer.Pools[p].Purpose) {
		return nil, "", invalid.Field(field+".pool", "pool %s of the %s is not intended for %s; set a pool with purpose %s",
			pool.Pool, owner, service, joinPurposes(writes[service]))
	}
	if u < 0 {
		return nil, fmt.Sprintf("waits for %s, where %s has no user yet", owner, service), nil
	}
	known, user := c.Status.Access, consumer.Clients[u]
	out := &common.StorageClient{
		Ref: Ref(pool), FSID: known.FSID, PodNetwork: known.PodNetwork, Pool: consumer.Pools[p].Pool, User: user.User,
		Instance: c.Status.Instance, SecretName: user.SecretName, SecretUUID: user.SecretUUID,
	}
	if at := c.Spec.Cluster; at != nil && at.Ref != nil {
		out.Cluster = at.Ref.Name
	}
	for _, a := range known.Monitors {
		out.Monitors = append(out.Monitors, string(a))
	}
	for _, n := range known.Networks {
		out.Networks = append(out.Networks, string(n))
	}
	return out, "", nil
}

// writes maps each service to the purposes of the pools in which it stores its data.
var writes = map[storagev1.Service][]storagev1.Purpose{
	storagev1.ServiceGlance:       {storagev1.PurposeImages},
	storagev1.ServiceCinder:       {storagev1.PurposeVolumes},
	storagev1.ServiceCinderBackup: {storagev1.PurposeBackups},
	storagev1.ServiceNova:         {storagev1.PurposeVMs},
}

func joinPurposes(purposes []storagev1.Purpose) string {
	var out []string
	for _, p := range purposes {
		out = append(out, string(p))
	}
	return strings.Join(out, " or ")
}
