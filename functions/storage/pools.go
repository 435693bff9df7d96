package storage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// blockDevices is the application of pools that OpenStack uses.
const blockDevices = "rbd"

// Prefixes of composed resource names.
const (
	poolPrefix       = "pool-"
	userPrefix       = "user-"
	filesystemPrefix = "filesystem-"
	objectsPrefix    = "object-store-"
)

// mgrPool is the pool that Ceph's manager creates, by default with three copies in every cluster; an object name cannot begin with a dot.
// https://rook.io/docs/rook/latest/CRDs/Block-Storage/ceph-block-pool-crd/#built-in-pools
const (
	mgrPool     = ".mgr"
	mgrPoolName = "builtin-mgr"
)

// pool is a pool of block devices.
type pool struct {
	storagev1.Pool
	// field is the path of the pool in the spec, name its name in Ceph.
	field, name string
	redundancy  rook.Redundancy
}

// consumer is a claim that has its own pools and users.
type consumer struct {
	// name is empty if all permitted claims share the pools.
	name string
	ref  *common.ClaimReference
	// pools are indices of model.pools.
	pools []int
}

// purposeOf returns the purpose that a pool has by its name.
func purposeOf(name string) storagev1.Purpose {
	switch p := storagev1.Purpose(name); p {
	case storagev1.PurposeImages, storagev1.PurposeVolumes, storagev1.PurposeVMs, storagev1.PurposeBackups:
		return p
	default:
		return ""
	}
}

// assignPools derives the pools: one of each for all consumers, or one of each per consumer. Pools of other applications belong to no
// consumer.
func (m *model) assignPools() {
	m.consumers = []consumer{{}}
	if len(m.spec.Consumers) > 0 {
		m.consumers = nil
	}
	for _, c := range m.spec.Consumers {
		m.consumers = append(m.consumers, consumer{name: c.Name, ref: &c.ControlPlaneRef})
	}
	for i, p := range m.spec.Pools {
		created := pool{Pool: p, field: fmt.Sprintf("spec.pools[%d]", i), name: p.Name, redundancy: m.redundancy(p.Redundancy)}
		if p.Application != blockDevices {
			m.pools = append(m.pools, created)
			continue
		}
		for n := range m.consumers {
			c := &m.consumers[n]
			created.name, created.Quota = c.prefixed(p.Name), p.Quota
			if c.name != "" {
				created.Quota = quotaOf(&m.spec.Consumers[n], p)
			}
			c.pools = append(c.pools, len(m.pools))
			m.pools = append(m.pools, created)
		}
	}
}

// prefixed returns the name of an object of the consumer.
func (c *consumer) prefixed(name string) string {
	if c.name == "" {
		return name
	}
	return c.name + "-" + name
}

func quotaOf(c *storagev1.Consumer, p storagev1.Pool) *storagev1.Quota {
	for i := range c.Quotas {
		if c.Quotas[i].Pool == p.Name {
			return &c.Quotas[i].Quota
		}
	}
	return p.Quota
}

// redundancy returns the claim's redundancy, overridden by a pool's.
func (m *model) redundancy(r storagev1.Redundancy) rook.Redundancy {
	out := rook.Redundancy{
		Copies: m.spec.ReplicationFactor, FailureDomain: string(cmp.Or(r.FailureDomain, m.spec.FailureDomain)),
		DeviceClass: string(cmp.Or(r.DeviceClass, m.spec.DeviceClass)), PlacementGroups: r.MinPlacementGroups,
	}
	if r.Bulk != nil {
		out.Bulk = strconv.FormatBool(*r.Bulk)
	}
	switch {
	case r.ErasureCoded != nil:
		out.Copies, out.Data, out.Coding = 0, r.ErasureCoded.DataChunks, r.ErasureCoded.CodingChunks
	case r.Replicated != nil:
		out.Copies = r.Replicated.Size
	}
	if m.isStretched() {
		out.FailureDomain, out.Within = zoneDomain, out.FailureDomain
	}
	return out
}

// metadata returns the redundancy of data that an erasure-coded pool cannot hold.
func (m *model) metadata(r storagev1.Redundancy) rook.Redundancy {
	r.Replicated, r.ErasureCoded, r.Bulk, r.MinPlacementGroups = nil, nil, nil, 0
	return m.redundancy(r)
}

// redundancies returns the redundancy of every pool, including pools of metadata.
func (m *model) redundancies() []rook.Redundancy {
	out := []rook.Redundancy{m.metadata(storagev1.Redundancy{})}
	for _, p := range m.pools {
		out = append(out, p.redundancy)
	}
	for _, f := range m.spec.Filesystems {
		out = append(out, m.redundancy(f.DataPool.Redundancy))
	}
	for _, o := range m.spec.ObjectStores {
		out = append(out, m.redundancy(o.DataPool.Redundancy))
	}
	return out
}

// checkConsumers rejects consumers that are not allowed to use the cluster, and quotas of missing pools.
func (m *model) checkConsumers() error {
	var errs []error
	for i, c := range m.spec.Consumers {
		field := fmt.Sprintf("spec.consumers[%d]", i)
		namespace := string(c.ControlPlaneRef.Namespace)
		if namespace != m.claim.Namespace && !limit.Namespace(m.spec.AllowedNamespaces, namespace) {
			errs = append(errs, invalid.Field(field+".controlPlaneRef", "claims of namespace %q may not use this cluster; add it to "+
				"spec.allowedNamespaces", namespace))
		}
		same := func(o storagev1.Consumer) bool { return o.ControlPlaneRef == c.ControlPlaneRef }
		if j := slices.IndexFunc(m.spec.Consumers[:i], same); j >= 0 {
			errs = append(errs, invalid.Field(field+".controlPlaneRef", "consumer %s is this control plane already; a control plane is one "+
				"consumer", m.spec.Consumers[j].Name))
		}
		for j, q := range c.Quotas {
			if !slices.ContainsFunc(m.spec.Pools, func(p storagev1.Pool) bool { return p.Name == q.Pool && p.Application == blockDevices }) {
				errs = append(errs, invalid.Field(fmt.Sprintf("%s.quotas[%d].pool", field, j), "there is no pool %q of application rbd; name "+
					"one of spec.pools", q.Pool))
			}
		}
	}
	return errors.Join(errs...)
}

// checkNames rejects duplicate names of pools or users, and names of pools that Rook or Ceph create.
func (m *model) checkNames() error {
	var errs []error
	byName := map[string]string{mgrPoolName: "Ceph's manager", nfsPoolName: "servers of NFS"}
	claim := func(name, owner, field string) {
		if other := byName[name]; other != "" {
			errs = append(errs, invalid.Field(field, "its pool would be called %q, as is one of %s; choose another name", name, other))
		}
		byName[name] = owner
	}
	for _, p := range m.pools {
		claim(p.name, p.field, p.field+".name")
	}
	for i, f := range m.spec.Filesystems {
		field := fmt.Sprintf("spec.filesystems[%d]", i)
		for _, suffix := range []string{"-metadata", "-data", "-default"} {
			claim(f.Name+suffix, field, field+".name")
		}
	}
	byUser := map[string]string{}
	for _, c := range m.consumers {
		for _, s := range services {
			name := c.prefixed(string(s.name))
			if other := byUser[name]; other != "" {
				errs = append(errs, invalid.Field("spec.consumers", "consumers %s and %s would both have a user %q; choose another name for one",
					other, c.name, name))
			}
			byUser[name] = c.name
		}
	}
	return errors.Join(errs...)
}

// checkRemoved rejects the removal of a pool that would be deleted with its data, because of the deletion policy, or because its Object
// does not retain it yet.
func (m *model) checkRemoved() error {
	desired := map[string]bool{}
	for _, p := range m.pools {
		desired[poolPrefix+p.name] = true
	}
	for _, f := range m.spec.Filesystems {
		desired[filesystemPrefix+f.Name] = true
	}
	for _, o := range m.spec.ObjectStores {
		desired[objectsPrefix+o.Name] = true
	}
	for _, n := range m.spec.NFS {
		desired[nfsPrefix+"pool"], desired[nfsPrefix+"servers-"+n.Name] = true, true
	}
	for _, c := range m.consumers {
		for _, s := range services {
			desired[userPrefix+c.prefixed(string(s.name))] = true
		}
	}
	for _, name := range m.observed.Names() {
		field := ""
		for prefix, f := range map[string]string{
			poolPrefix: "spec.pools", userPrefix: "spec.consumers", filesystemPrefix: "spec.filesystems", objectsPrefix: "spec.objectStores",
			nfsPrefix: "spec.nfs",
		} {
			if strings.HasPrefix(name, prefix) {
				field = f
			}
		}
		if field == "" || desired[name] {
			continue
		}
		o, _ := m.observed.Get(name)
		if o.Wrapper() == nil || o.Wrapper().OrphansOnDelete() {
			continue
		}
		return invalid.Field(field, "%s would be deleted with its data, because deletionPolicy is Delete; restore it, set deletionPolicy: "+
			"Retain, and remove it once status.deletionPolicy is Retain: the pool is then retained until the platform team deletes it", name)
	}
	return nil
}

// managerPool returns the pool of Ceph's manager.
func (m *model) managerPool() compose.Resource {
	return compose.Resource{
		Name: "mgr-pool", Retain: true,
		Object: rook.Pool(m.meta(mgrPoolName), mgrPool, "", m.metadata(storagev1.Redundancy{}), rook.Quota{}, nil),
	}
}

// pools builds the pools of the spec, and the pool of Ceph's manager.
func pools(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	if !m.isStretched() {
		stage = append(stage, m.managerPool())
	}
	for _, p := range m.pools {
		quota := rook.Quota{}
		if q := p.Quota; q != nil {
			quota.MaxSize = string(q.MaxSize)
			if q.MaxObjects != nil {
				quota.MaxObjects = *q.MaxObjects
			}
		}
		created := compose.Resource{Name: poolPrefix + p.name, Retain: true, Object: rook.Pool(
			m.meta(p.name), p.name, p.Application, p.redundancy, quota, m.mirroringOf(p),
		)}
		if p.Mirroring != nil {
			created.Ready = localPoolReady
		}
		stage = append(stage, created)
	}
	return []compose.Stage{stage}, nil
}
