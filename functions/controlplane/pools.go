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
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/storagepool"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// poolReference is a place of a spec that names a pool of a StorageCluster.
type poolReference struct {
	// place is what the service calls it, field that of the claim.
	place, field string
	pool         common.StoragePool
	// user is what the service is as a client of Ceph.
	user storagev1.Service
}

// A poolUse is what is known of a pool that a service keeps something in.
type poolUse struct {
	poolReference
	service string
	// client is how it is reached. Nil: nobody knows yet, and nothing of the service is there.
	client *common.StorageClient
	// waits is what has to happen, in a sentence. Empty: nothing.
	waits string
}

// requires are the claims of the StorageClusters that services name, and then the composite resources that these name.
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

// findPools finds how each pool is reached. What was known of one holds while its cluster says nothing, or nothing more to this claim: what
// runs goes on, and is looked after, but the claim is not ready. A pool that nobody knows holds back a service that is not there yet; for
// one that is, the last valid spec holds meanwhile.
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
			case s.seen.Exists():
				errs = append(errs, invalid.Field(p.field, "%s; until then what was there before goes on", waits))
				continue
			}
			errs = append(errs, m.checkPoolReachable(p.field, client))
			m.pools = append(m.pools, poolUse{poolReference: p, service: s.name, client: client, waits: waits})
		}
	}
	m.addPoolKeys()
	return errors.Join(errs...)
}

// poolUser is what a service of this control plane is to a StorageCluster.
func (m *model) poolUser(s storagev1.Service) storagepool.User {
	own := common.ClaimReference{Namespace: common.NamespaceName(m.claim.Namespace), Name: common.ObjectName(m.claim.Name)}
	return storagepool.User{Namespace: m.claim.Namespace, ControlPlane: own, Service: s}
}

// previousPool is what was known of a pool before.
func (m *model) previousPool(service string, p poolReference) *common.StorageClient {
	i := slices.IndexFunc(m.previous.Storage, func(c common.StorageClient) bool {
		return c.Name == service+"."+p.place && c.Ref == storagepool.Ref(p.pool)
	})
	if i < 0 {
		return nil
	}
	return &m.previous.Storage[i]
}

// addPoolKeys says which keys are brought to the instance: those of the users that services are, and no others. Each StorageCluster's are
// read by rights of their own. Copies of those that no service names any more stay until everything is ready.
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
	for _, name := range m.seen.Names() {
		of := clusterNamePrefix.FindString(name)
		set := m.unreferencedPoolKeys(of, name)
		if of != "" && set.Has(name) && !slices.ContainsFunc(m.keys, func(s tenantsecret.Set) bool { return s.Name == set.Name }) {
			m.keys = append(m.keys, set)
		}
	}
	slices.SortFunc(m.keys, func(a, b tenantsecret.Set) int { return strings.Compare(a.Name, b.Name) })
}

// clusterDigits is how many digits of a hash tell StorageClusters apart.
const clusterDigits = 8

// clusterNamePrefix is the beginning of a resource's name that clusterName has made.
var clusterNamePrefix = regexp.MustCompile(fmt.Sprintf("^%s-[[:xdigit:]]{%d}", storageComponent, clusterDigits))

// clusterName begins what is called after a StorageCluster, whose own name is that of a namespace and may be as long as one.
func clusterName(instance string) string {
	return storageComponent + "-" + names.Hash(clusterDigits, instance)
}

// storageClients are how the pools are reached that a service names. It reads copies of the keys.
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

// storageStatus is the same for all services, and for the next call.
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

// usesPools reports whether services have pools, or had them.
func (m *model) usesPools() bool { return len(m.pools) > 0 || len(m.keys) > 0 }

// poolsFor are the resources that come before a service that keeps something in pools.
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

// poolsOf is the resource that says which pools a service has, and holds it back until they are there.
func poolsOf(service string) string { return storageComponent + "-" + service }

// storagePools brings the keys, says which pools services have, and keeps the StorageClusters while they do.
func storagePools(m *model) ([]compose.Stage, error) {
	last := compose.Stage{}
	for _, s := range m.services {
		if uses := m.poolsIn(s.name); len(uses) > 0 {
			last = append(last, m.poolsConfigMap(s.name, uses))
		}
	}
	users, usages := m.kept()
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

// poolsConfigMap says which pools a service has, for whoever looks at the namespace, and is ready when each is there.
func (m *model) poolsConfigMap(service string, uses []poolUse) compose.Resource {
	data := map[string]string{}
	for _, p := range uses {
		data[p.place] = storagepool.Ref(p.pool)
		if c := p.client; c != nil {
			data[p.place] = fmt.Sprintf("%s: pool %s of Ceph %s, as user %s", c.Ref, c.Pool, c.FSID, c.User)
		}
	}
	rule, _ := rules.For(schema.GroupKind{Kind: "ConfigMap"})
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

// kept keeps each StorageCluster from being deleted by mistake while services of this control plane have pools in it. The users are
// ConfigMaps that come and go with the Usages: a Usage stays as long as its user does, and whatever else is composed may outlive the use
// of a pool.
func (m *model) kept() (users, usages compose.Stage) {
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
