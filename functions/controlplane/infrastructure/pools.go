package infrastructure

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/storagepool"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
)

// PoolReference is a field of a spec that references a pool of a StorageCluster.
type PoolReference struct {
	// Place is the name of the use in the service, field the path in the claim.
	Place, Field string
	Pool         common.StoragePool
	// User selects the Ceph user of the service.
	User storagev1.Service
}

// PoolUser is an enabled service with the pools that it references.
type PoolUser struct {
	Service string
	// Exists is true if the composite resource of the service exists.
	Exists bool
	Pools  []PoolReference
}

// poolUse is the derived state of a pool that a service uses.
type poolUse struct {
	PoolReference
	service string
	// client contains the connection settings. Nil: they are not known yet, and the service does not exist.
	client *common.StorageClient
	// keys are the keys of the StorageCluster. They are not set without client.
	keys tenantsecret.Set
	// waits is the message of the pending condition. Empty: the pool is available.
	waits string
}

// secretName returns the name of the copy of the key.
func (p poolUse) secretName() string { return p.keys.Target(p.client.SecretName) }

// derivePools derives the connection settings of each pool. Previous settings remain in effect while the StorageCluster does not report
// any, or not to this claim: existing services keep running and are reconciled, but the claim is not ready. A pool without settings delays
// the creation of its service; an existing service keeps its last valid spec.
func derivePools(c *claim.Claim, users []PoolUser, required reference.Required) ([]poolUse, error) {
	var out []poolUse
	var errs []error
	for _, user := range users {
		for _, p := range user.Pools {
			client, waits, err := storagepool.Find(required, poolUserOf(c, p.User), p.Field, p.Pool)
			previous := previousPool(c, user.Service, p)
			switch {
			case client != nil:
			case previous != nil && (err == nil || invalid.Is(err)):
				if client = previous; err != nil {
					waits = err.Error()
				}
			case err != nil:
				errs = append(errs, err)
				continue
			case user.Exists:
				errs = append(errs, invalid.Field(p.Field, "%s; the previous configuration stays in effect until then", waits))
				continue
			}
			use := poolUse{PoolReference: p, service: user.Service, client: client, waits: waits}
			if client != nil { // Otherwise the cluster of the pool is not known yet.
				use.keys, err = reachableKeys(c, p.Field, client)
				errs = append(errs, err)
			}
			out = append(out, use)
		}
	}
	return out, errors.Join(errs...)
}

// poolUserOf returns the identity of a service of this control plane towards a StorageCluster.
func poolUserOf(c *claim.Claim, s storagev1.Service) storagepool.User {
	own := common.ClaimReference{Namespace: common.NamespaceName(c.Ref.Namespace), Name: common.ObjectName(c.Ref.Name)}
	return storagepool.User{Namespace: c.Ref.Namespace, ControlPlane: own, Service: s}
}

// previousPool returns the settings of a pool in the previous status.
func previousPool(c *claim.Claim, service string, p PoolReference) *common.StorageClient {
	i := slices.IndexFunc(c.Previous.Storage, func(s common.StorageClient) bool {
		return s.Name == service+"."+p.Place && s.Ref == storagepool.Ref(p.Pool)
	})
	if i < 0 {
		return nil
	}
	return &c.Previous.Storage[i]
}

// keysOf selects the keys that are copied to the instance: only keys of the users of its services. The keys of each StorageCluster are
// read with separate permissions. Copies of keys that no service references any more are kept until the control plane is ready.
func keysOf(c *claim.Claim, pools []poolUse) []tenantsecret.Set {
	var out []tenantsecret.Set
	for _, p := range pools {
		if p.client == nil {
			continue
		}
		i := slices.IndexFunc(out, func(s tenantsecret.Set) bool { return s.Name == p.keys.Name })
		if i < 0 {
			i, out = len(out), append(out, p.keys)
		}
		out[i].Requests = tenantsecret.Union(append(out[i].Requests, tenantsecret.Request{
			Name: p.client.SecretName, Keys: []string{rook.UserKey},
		}))
	}
	for _, name := range c.Observed.Names() {
		of := clusterNamePrefix.FindString(name)
		set := unreferencedPoolKeys(c, of, name)
		if of != "" && set.Has(name) && !slices.ContainsFunc(out, func(s tenantsecret.Set) bool { return s.Name == set.Name }) {
			out = append(out, set)
		}
	}
	slices.SortFunc(out, func(a, b tenantsecret.Set) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// clusterDigits is the number of digits of the hash in the names of resources of a StorageCluster.
const clusterDigits = 8

// clusterNamePrefix matches the prefix that clusterName builds.
var clusterNamePrefix = regexp.MustCompile(fmt.Sprintf("^%s-[[:xdigit:]]{%d}", StorageComponent, clusterDigits))

// clusterName returns a prefix for resources of a StorageCluster. It contains a hash, because the instance is the name of a namespace and
// may have the maximum length.
func clusterName(instance string) string {
	return StorageComponent + "-" + names.Hash(clusterDigits, instance)
}

// StorageClients returns the connection settings of the pools of a service, with the names of the copies of the keys.
func (inf *Infrastructure) StorageClients(service string) []common.StorageClient {
	var out []common.StorageClient
	for _, p := range inf.poolsIn(service) {
		if p.client != nil {
			c := *p.client
			c.Name, c.Cluster, c.SecretName = p.Place, "", p.secretName()
			out = append(out, c)
		}
	}
	return out
}

// StorageStatus returns the connection settings of the pools of all services, which the next reconciliation reads.
func (inf *Infrastructure) StorageStatus() []common.StorageClient {
	var out []common.StorageClient
	for _, p := range inf.pools {
		if p.client != nil {
			c := *p.client
			c.Name = p.service + "." + p.Place
			out = append(out, c)
		}
	}
	return out
}

// UsesPools reports whether services use pools or used them before.
func (inf *Infrastructure) UsesPools() bool { return len(inf.pools) > 0 || len(inf.PoolKeys) > 0 }

// PoolResources returns the names of the resources that must exist before a service that uses pools.
func (inf *Infrastructure) PoolResources(service string) []string {
	var out []string
	for _, p := range inf.poolsIn(service) {
		if len(out) == 0 {
			out = append(out, poolsOf(service))
		}
		if p.client != nil {
			out = append(out, p.keys.Resource(p.secretName()))
		}
	}
	return out
}

// poolsOf returns the name of the resource that lists the pools of a service and delays it until they are available.
func poolsOf(service string) string { return StorageComponent + "-" + service }

// ComposePools composes copies of the keys, a list of pools for each of these services, and Usages of the StorageClusters.
func (inf *Infrastructure) ComposePools(services []string) []compose.Stage {
	last := compose.Stage{}
	for _, service := range services {
		if uses := inf.poolsIn(service); len(uses) > 0 {
			last = append(last, inf.poolsConfigMap(service, uses))
		}
	}
	users, usages := inf.poolUsages()
	return append(tenantsecret.Parallel(inf.PoolKeys), append(append(last, users...), usages...))
}

func (inf *Infrastructure) poolsIn(service string) []poolUse {
	var out []poolUse
	for _, p := range inf.pools {
		if p.service == service {
			out = append(out, p)
		}
	}
	return out
}

// poolsConfigMap lists the pools of a service for administrators, and is ready when all of them are available.
func (inf *Infrastructure) poolsConfigMap(service string, uses []poolUse) compose.Resource {
	data := map[string]string{}
	for _, p := range uses {
		data[p.Place] = storagepool.Ref(p.Pool)
		if c := p.client; c != nil {
			data[p.Place] = fmt.Sprintf("%s: pool %s of Ceph %s, as user %s", c.Ref, c.Pool, c.FSID, c.User)
		}
	}
	rule, _ := readiness.Rules.For(schema.GroupKind{Kind: "ConfigMap"})
	return compose.Resource{
		Name: poolsOf(service), Management: true, Object: workload.ConfigMap(inf.Meta(poolsOf(service)), data),
		Ready: func(o *observe.Object) rules.Result {
			for _, p := range uses {
				if p.waits != "" {
					return rules.Wait("StorageNotReady", "%s", p.waits)
				}
			}
			return rule.Check(o)
		},
	}
}

// poolUsages prevents the accidental deletion of each StorageCluster while services of this control plane have pools in it. The users are
// ConfigMaps that are created and deleted with the Usages: a Usage exists as long as its user, and all other composed resources may outlive
// the use of a pool.
func (inf *Infrastructure) poolUsages() (users, usages compose.Stage) {
	requested := map[common.ClaimReference]bool{}
	for _, p := range inf.pools {
		if p.client == nil || requested[p.Pool.ClusterRef] {
			continue
		}
		requested[p.Pool.ClusterRef] = true
		user, ref := clusterName(p.client.Instance), p.Pool.ClusterRef
		users = append(users, compose.Resource{Name: user, Management: true, Object: workload.ConfigMap(inf.Meta(user), map[string]string{
			"namespace": string(ref.Namespace), "name": string(ref.Name),
		})})
		usages = append(usages, usage.OfClaim(inf.Meta(user+"-in-use"), user, reference.APIVersion, storagepool.Kind, ref,
			fmt.Sprintf("control plane %s of namespace %s keeps images, volumes or backups in its pools", inf.Ref.Name, inf.Ref.Namespace)))
	}
	return users, usages
}
