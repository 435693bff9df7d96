// Package storagepool turns what a claim says of a pool of a StorageCluster into what a client of Ceph needs to know. The user's key stays
// in a Secret of the cluster's namespace, from where it is brought (internal/tenant/tenantsecret).
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

// Kind of the claims that have pools.
const Kind = "StorageCluster"

// A User is who keeps something in a pool.
type User struct {
	// Namespace of the claim that names the pool, which the cluster has to allow.
	Namespace string
	// ControlPlane has pools and users where the cluster has consumers. It is the claim itself, or the one that the claim belongs to and
	// that has consented to it.
	ControlPlane common.ClaimReference
	// Service of that control plane.
	Service storagev1.Service
}

// Ref is what a field names, as a StorageClient has it: tenant-a/storage/images.
func Ref(pool common.StoragePool) string {
	return fmt.Sprintf("%s/%s/%s", pool.ClusterRef.Namespace, pool.ClusterRef.Name, pool.Pool)
}

// to is the reference to a cluster, from a claim of a namespace.
func to(namespace string, ref common.ClaimReference) reference.ClaimReference {
	name := string(ref.Namespace) + "." + string(ref.Name)
	return reference.ClaimReference{
		Kind: Kind, Ref: ref, Namespace: namespace, Claim: "storage-claim." + name, Composite: "storage." + name,
	}
}

// Requires adds what has to be asked for to find a pool, for a claim of a namespace.
func Requires(required reference.Required, namespace string, pool common.StoragePool, into map[string]wire.Selector) {
	to(namespace, pool.ClusterRef).Requires(required, into)
}

// Find says how a user reaches a pool that a field of the claim's spec names. While the cluster does not say so yet there is a sentence
// that says what is waited for, and no client; what was known before holds meanwhile, for whoever keeps it. An error is a reference that
// leads nowhere, or that its owner has not consented to.
func Find(
	required reference.Required, user User, field string, pool common.StoragePool,
) (client *common.StorageClient, waiting string, err error) {
	ref := pool.ClusterRef
	xr, ok := to(user.Namespace, ref).Find(required)
	if !ok {
		return nil, "", invalid.Field(field+".clusterRef", "there is no StorageCluster %s in namespace %s that claims of namespace %q may use; "+
			"correct the reference, or have its owner name this namespace in spec.allowedNamespaces there", ref.Name, ref.Namespace,
			user.Namespace)
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
		return nil, "", invalid.Field(field+".clusterRef", "the %s has consumers, of which control plane %s of namespace %s is none; have its "+
			"owner add it to spec.consumers there", owner, plane.Name, plane.Namespace)
	}
	if known := c.Status.Access; known != nil && c.Status.Instance != "" {
		for _, consumer := range known.Consumers {
			if consumer.ControlPlaneRef == nil || *consumer.ControlPlaneRef == user.ControlPlane {
				return in(&c, consumer, owner, field, pool, user.Service)
			}
		}
	}
	return nil, fmt.Sprintf("waits for %s, which says nothing of its pools yet", owner), nil
}

// consumes reports whether a control plane has pools: where there are consumers, it has to be one of them.
func consumes(consumers []storagev1.Consumer, plane common.ClaimReference) bool {
	return len(consumers) == 0 ||
		slices.ContainsFunc(consumers, func(c storagev1.Consumer) bool { return c.ControlPlaneRef == plane })
}

// in finds a pool and a user among those of a consumer.
func in(
	c *storagev1.StorageCluster, consumer storagev1.ConsumerAccess, owner, field string, pool common.StoragePool,
	service storagev1.Service,
) (client *common.StorageClient, waiting string, err error) {
	p := slices.IndexFunc(consumer.Pools, func(p storagev1.PoolAccess) bool { return p.Name == pool.Pool })
	u := slices.IndexFunc(consumer.Clients, func(c storagev1.ClientAccess) bool { return c.Service == service })
	if p < 0 {
		return nil, fmt.Sprintf("waits for pool %s of %s, which is not there; is it in spec.pools there?", pool.Pool, owner), nil
	}
	if !slices.Contains(writes[service], consumer.Pools[p].Purpose) {
		return nil, "", invalid.Field(field+".pool", "pool %s of the %s is not for what %s keeps; name one whose purpose is %s",
			pool.Pool, owner, service, words(writes[service]))
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

// writes are the purposes of pools that a service keeps its own in.
var writes = map[storagev1.Service][]storagev1.Purpose{
	storagev1.ServiceGlance:       {storagev1.PurposeImages},
	storagev1.ServiceCinder:       {storagev1.PurposeVolumes},
	storagev1.ServiceCinderBackup: {storagev1.PurposeBackups},
	storagev1.ServiceNova:         {storagev1.PurposeVMs},
}

func words(purposes []storagev1.Purpose) string {
	var out []string
	for _, p := range purposes {
		out = append(out, string(p))
	}
	return strings.Join(out, " or ")
}
