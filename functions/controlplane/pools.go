package controlplane

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
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
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// poolReference is a field of a spec that references a pool of a StorageCluster.
type poolReference struct {
	// place is the name of the use in the service, field the path in the claim.
	place, field string
	pool         common.StoragePool
	// user selects the Ceph user of the service.
	user storagev1.Service
}

// poolUse is the derived state of a pool that a service uses.
type poolUse struct {
	poolReference
	service string
	// client contains the connection settings. Nil: they are not known yet, and the service does not exist.
	client *common.StorageClient
	// waits is the message of the pending condition. Empty: the pool is available.
	waits string
}

// requires selects the claims of the StorageClusters that services reference, and then the composite resources of these claims.
func requires(in function.Input[controlplanev1.ControlPlaneCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	for _, s := range services {
		if s.pools == nil {
			continue
		}
		for _, p := range s.pools(&in.XR.Spec.Services) {
			storagepool.Requires(in.Required, in.Claim.Namespace, p.pool, out)
		}
	}
	return out
}

// findPools derives the connection settings of each pool. Previous settings remain in effect while the StorageCluster does not report any,
// or not to this claim: existing services keep running and are reconciled, but the claim is not ready. A pool without settings delays the
// creation of its service; an existing service keeps its last valid spec.
func (m *model) findPools(required reference.Required) error {
	var errs []error
	for _, s := range m.services {
		if s.pools == nil {
			continue
		}
		for _, p := range s.pools(&m.spec.Services) {
			client, waits, err := storagepool.Find(required, m.poolUser(p.user), p.field, p.pool)
			previous := m.previousPool(s.name, p)
			switch {
			case client != nil:
			case previous != nil && (err == nil || invalid.Is(err)):
				if client = previous; err != nil {
					waits = err.Error()
				}
			case err != nil:
				errs = append(errs, err)
				continue
			case s.observed.Exists():
				errs = append(errs, invalid.Field(p.field, "%s; the previous configuration stays in effect until then", waits))
				continue
			}
			errs = append(errs, m.checkPoolReachable(p.field, client))
			m.pools = append(m.pools, poolUse{poolReference: p, service: s.name, client: client, waits: waits})
		}
	}
	m.addPoolKeys()
	return errors.Join(errs...)
}

// poolUser returns the identity of a service of this control plane towards a StorageCluster.
func (m *model) poolUser(s storagev1.Service) storagepool.User {
	own := common.ClaimReference{Namespace: common.NamespaceName(m.claim.Namespace), Name: common.ObjectName(m.claim.Name)}
	return storagepool.User{Namespace: m.claim.Namespace, ControlPlane: own, Service: s}
}

// previousPool returns the settings of a pool in the previous status.
func (m *model) previousPool(service string, p poolReference) *common.StorageClient {
	i := slices.IndexFunc(m.previous.Storage, func(c common.StorageClient) bool {
		return c.Name == service+"."+p.place && c.Ref == storagepool.Ref(p.pool)
	})
	if i < 0 {
		return nil
	}
	return &m.previous.Storage[i]
}

// addPoolKeys selects the keys that are copied to the instance: only keys of the users of its services. The keys of each StorageCluster are
// read with separate permissions. Copies of keys that no service references any more are kept until the control plane is ready.
func (m *model) addPoolKeys() {
	for _, p := range m.pools {
		if p.client == nil {
			continue
		}
		set := m.keySet(p.client)
		i := slices.IndexFunc(m.keys, func(s tenantsecret.Set) bool { return s.Name == set.Name })
		if i < 0 {
			i, m.keys = len(m.keys), append(m.keys, set)
		}
		m.keys[i].Requests = tenantsecret.Union(append(m.keys[i].Requests, tenantsecret.Request{
			Name: p.client.SecretName, Keys: []string{rook.UserKey},
		}))
	}
	for _, name := range m.observed.Names() {
		of := clusterNamePrefix.FindString(name)
		set := m.unreferencedPoolKeys(of, name)
		if of != "" && set.Has(name) && !slices.ContainsFunc(m.keys, func(s tenantsecret.Set) bool { return s.Name == set.Name }) {
			m.keys = append(m.keys, set)
		}
	}
	slices.SortFunc(m.keys, func(a, b tenantsecret.Set) int { return strings.Compare(a.Name, b.Name) })
}

// clusterDigits is the number of digits of the hash in the names of resources of a StorageCluster.
const clusterDigits = 8

// clusterNamePrefix matches the prefix that clusterName builds.
var clusterNamePrefix = regexp.MustCompile(fmt.Sprintf("^%s-[[:xdigit:]]{%d}", storageComponent, clusterDigits))

// clusterName returns a prefix for resources of a StorageCluster. It contains a hash, because the instance is the name of a namespace and
// may have the maximum length.
func clusterName(instance string) string {
	return storageComponent + "-" + names.Hash(clusterDigits, instance)
}

// storageClients returns the connection settings of the pools of a service, with the names of the copies of the keys.
func (m *model) storageClients(s *serviceState) []common.StorageClient {
	var out []common.StorageClient
	for _, p := range m.pools {
		if p.service == s.name && p.client != nil {
			c := *p.client
			c.Name, c.Cluster, c.SecretName = p.place, "", m.keySet(p.client).Target(c.SecretName)
			out = append(out, c)
		}
	}
	return out
}

// storageStatus returns the connection settings of the pools of all services, which the next reconciliation reads.
func (m *model) storageStatus() []common.StorageClient {
	var out []common.StorageClient
	for _, p := range m.pools {
		if p.client != nil {
			c := *p.client
			c.Name = p.service + "." + p.place
			out = append(out, c)
		}
	}
	return out
}

// usesPools reports whether services use pools or used them before.
func (m *model) usesPools() bool { return len(m.pools) > 0 || len(m.keys) > 0 }

// poolsFor returns the resources that must exist before a service that uses pools.
func (m *model) poolsFor(s *serviceState) []string {
	var out []string
	for _, p := range m.pools {
		if p.service != s.name {
			continue
		}
		if len(out) == 0 {
			out = append(out, poolsOf(s.name))
		}
		if c := p.client; c != nil {
			set := m.keySet(c)
			out = append(out, set.Resource(set.Target(c.SecretName)))
		}
	}
	return out
}

// poolsOf returns the name of the resource that lists the pools of a service and delays it until they are available.
func poolsOf(service string) string { return storageComponent + "-" + service }

// storagePools composes copies of the keys, a list of pools for each service, and Usages of the StorageClusters.
func storagePools(m *model) ([]compose.Stage, error) {
	last := compose.Stage{}
	for _, s := range m.services {
		if uses := m.poolsIn(s.name); len(uses) > 0 {
			last = append(last, m.poolsConfigMap(s.name, uses))
		}
	}
	users, usages := m.poolUsages()
	return append(tenantsecret.Parallel(m.keys), append(append(last, users...), usages...)), nil
}

func (m *model) poolsIn(service string) []poolUse {
	var out []poolUse
	for _, p := range m.pools {
		if p.service == service {
			out = append(out, p)
		}
	}
	return out
}

// poolsConfigMap lists the pools of a service for administrators, and is ready when all of them are available.
func (m *model) poolsConfigMap(service string, uses []poolUse) compose.Resource {
	data := map[string]string{}
	for _, p := range uses {
		data[p.place] = storagepool.Ref(p.pool)
		if c := p.client; c != nil {
			data[p.place] = fmt.Sprintf("%s: pool %s of Ceph %s, as user %s", c.Ref, c.Pool, c.FSID, c.User)
		}
	}
	rule, _ := readiness.Rules.For(schema.GroupKind{Kind: "ConfigMap"})
	return compose.Resource{
		Name: poolsOf(service), Management: true, Object: workload.ConfigMap(m.meta(poolsOf(service)), data),
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
func (m *model) poolUsages() (users, usages compose.Stage) {
	requested := map[common.ClaimReference]bool{}
	for _, p := range m.pools {
		if p.client == nil || requested[p.pool.ClusterRef] {
			continue
		}
		requested[p.pool.ClusterRef] = true
		user, ref := clusterName(p.client.Instance), p.pool.ClusterRef
		users = append(users, compose.Resource{Name: user, Management: true, Object: workload.ConfigMap(m.meta(user), map[string]string{
			"namespace": string(ref.Namespace), "name": string(ref.Name),
		})})
		usages = append(usages, usage.OfClaim(m.meta(user+"-in-use"), user, reference.APIVersion, storagepool.Kind, ref,
			fmt.Sprintf("control plane %s of namespace %s keeps images, volumes or backups in its pools", m.claim.Name, m.claim.Namespace)))
	}
	return users, usages
}
