package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
)

// costItem is a number of identical pods that a claim requests.
type costItem struct {
	// field of the part in the claim.
	field    string
	replicas int32
	// times multiplies the pods. 0 means 1.
	times     int32
	resources *common.Resources
	// short means that the claim sets resources in the fields cpu and memory.
	short bool
	// storage of each pod; empty: none.
	storage string
	// processes in each pod that the claim requests; 0: not set.
	processes int32
	// program of the pods, which determines the minimum sizes. Empty: the service checks them.
	program minimum.Program
}

// parts returns all cost items, with the settings of the claim merged with the defaults of its size.
func (m *model) parts() []costItem {
	i := m.spec.Infrastructure
	out := []costItem{
		{
			field: "spec.infrastructure.mariadb", replicas: m.databaseReplicas(),
			resources: merge.Overlay(i.MariaDB.Resources, m.size.databaseResources),
			storage:   string(ptr.Deref(i.MariaDB.StorageSize, storageSize(m.size.databaseStorage))),
			program:   minimum.MariaDB,
		},
		{field: "spec.infrastructure.mariadb.maxScale", replicas: m.maxScaleReplicas()},
		{
			field: "spec.infrastructure.memcached", replicas: ptr.Deref(i.Memcached.Replicas, m.size.cache),
			resources: cacheResources(m.cacheMemory()), short: true,
		},
	}
	for _, s := range m.services {
		out = append(out, m.partsOf(s)...)
	}
	out = append(out, m.testParts()...)
	if b := i.MariaDB.Backup; b != nil && b.StagingStorage != nil {
		const field = "spec.infrastructure.mariadb.backup.stagingStorage"
		databases := 1 // Each database is copied to a separate volume.
		for _, s := range m.services {
			databases += len(m.databasesOf(s))
		}
		out = append(out, costItem{
			field: field, replicas: 1, times: int32(databases), storage: string(b.StagingStorage.StorageSize),
			program: minimum.DatabaseBackup,
		})
	}
	if m.runsQueue() {
		out = append(out, costItem{
			field: "spec.infrastructure.rabbitmq", replicas: ptr.Deref(i.RabbitMQ.Replicas, m.size.messaging),
			resources: merge.Overlay(i.RabbitMQ.Resources, m.size.messagingResources),
			storage:   string(ptr.Deref(i.RabbitMQ.StorageSize, storageSize(m.size.messagingStorage))),
			program:   minimum.RabbitMQ,
		})
	}
	if m.locks() {
		out = append(out, costItem{
			field: "spec.infrastructure.valkey", replicas: ptr.Deref(i.Valkey.Replicas, m.size.locks),
			resources: merge.Overlay(i.Valkey.Resources, m.size.locksResources),
			storage:   string(ptr.Deref(i.Valkey.StorageSize, storageSize(m.size.locksStorage))),
			program:   minimum.Valkey,
		})
	}
	return out
}

// partOf returns the cost item of the members of a service's own server.
func partOf(field string, program minimum.Program, s common.Members) costItem {
	return costItem{field: field, replicas: s.Replicas, resources: s.Resources, short: true, storage: s.StorageSize, program: program}
}

// quota limits the costs.
type quota struct {
	// unit follows the number in messages. field is the field of the item that sets the value, or short the field of a short item.
	unit, field, short string
	of                 func(platformv1.Maxima) *resource.Quantity
	// cost returns the cost of one pod of an item, or of the item if costs are not summed up.
	cost func(costItem) resource.Quantity
	// perClaim: the costs of all pods of all items are summed up.
	perClaim bool
}

var quotas = []quota{
	{
		unit: " replicas", field: ".replicas",
		of:   func(x platformv1.Maxima) *resource.Quantity { return intQuantity(x.Replicas) },
		cost: func(p costItem) resource.Quantity { return *intQuantity(&p.replicas) },
	},
	{
		unit: " processes in each pod", field: ".uwsgi.processes",
		of:   func(x platformv1.Maxima) *resource.Quantity { return intQuantity(x.Processes) },
		cost: func(p costItem) resource.Quantity { return *intQuantity(&p.processes) },
	},
	{
		unit: " of storage in all, which", field: ".storageSize", perClaim: true,
		of: func(x platformv1.Maxima) *resource.Quantity { return x.Storage },
		cost: func(p costItem) resource.Quantity {
			size, _ := resource.ParseQuantity(p.storage) // Invalid sizes are reported by other checks, and most items have none.
			return size
		},
	},
	{
		unit: " cores in all, which", field: ".resources", short: ".cpu", perClaim: true,
		of: func(x platformv1.Maxima) *resource.Quantity { return x.CPU },
		cost: func(p costItem) resource.Quantity {
			return larger(p.resources, func(a *common.ResourceAmounts) *resource.Quantity { return a.CPU })
		},
	},
	{
		unit: " of memory in all, which", field: ".resources", short: ".memory", perClaim: true,
		of: func(x platformv1.Maxima) *resource.Quantity { return x.Memory },
		cost: func(p costItem) resource.Quantity {
			return larger(p.resources, func(a *common.ResourceAmounts) *resource.Quantity { return a.Memory })
		},
	},
}

// checkCosts returns an error for costs above the limits.
func (m *model) checkCosts(limits []platformv1.Limit) error {
	parts := m.parts()
	var errs []error
	for _, x := range quotas {
		for _, bill := range x.costEntries(parts) {
			errs = append(errs, x.check(limits, bill))
		}
	}
	return errors.Join(errs...)
}

// costEntry is an amount, the field with the largest share of it, and an explanation of the sum.
type costEntry struct {
	field, reason string
	amount        resource.Quantity
}

// costEntries returns one entry for each item, or one for the sum.
func (x quota) costEntries(parts []costItem) []costEntry {
	var each []costEntry
	for _, p := range parts {
		field := x.field
		if p.short {
			field = cmp.Or(x.short, field)
		}
		each = append(each, costEntry{field: p.field + field, amount: x.cost(p)})
	}
	if !x.perClaim {
		return each
	}
	var sum costEntry
	var most resource.Quantity
	for i, p := range parts {
		one := each[i].amount.DeepCopy()
		all := one.DeepCopy()
		all.Mul(int64(p.replicas) * int64(max(p.times, 1)))
		sum.amount.Add(all)
		if all.Cmp(most) > 0 {
			most, sum.field, sum.reason = all, each[i].field, fmt.Sprintf("with %d × %s here, there are ", p.replicas*max(p.times, 1), &one)
		}
	}
	return []costEntry{sum}
}

func (x quota) check(limits []platformv1.Limit, b costEntry) error {
	requested := false
	for _, l := range limits {
		most := x.of(l.Maxima)
		if most == nil {
			continue
		}
		requested = true
		if b.amount.Cmp(*most) > 0 {
			return invalid.Field(b.field, "%s%s%s exceed the quota of %s of the platform limit %q; reduce the request",
				b.reason, rounded(b.amount), x.unit, most, l.Name)
		}
	}
	if most := x.of(platformv1.DefaultMaxima()); !requested && b.amount.Cmp(*most) > 0 {
		return invalid.Field(b.field, "%s%s%s exceed the default quota of %s of the platform; "+
			"reduce the request, or ask the platform team to raise the quota in a limit", b.reason, rounded(b.amount), x.unit, most)
	}
	return nil
}

// rounded formats an amount with few digits, rounded up.
func rounded(q resource.Quantity) string {
	if q.CmpInt64(math.MaxInt64) > 0 {
		return q.String()
	}
	for _, unit := range []resource.Quantity{resource.MustParse("1Ti"), resource.MustParse("1Gi"), resource.MustParse("1Mi")} {
		if n := unit.Value(); q.Value() >= 10*n {
			return fmt.Sprint((q.Value()-1)/n+1) + strings.TrimPrefix(unit.String(), "1")
		}
	}
	return fmt.Sprint(q.Value())
}

// checkResources returns an error for requests above limits. Admission compares the values of the claim only; here one may come from the
// claim and the other from its size.
func (m *model) checkResources() error {
	var errs []error
	for _, p := range m.parts() {
		if p.resources == nil || p.resources.Requests == nil || p.resources.Limits == nil {
			continue
		}
		requests, limits := p.resources.Requests, p.resources.Limits
		for _, c := range []struct {
			name            string
			request, atMost *resource.Quantity
		}{
			{"cpu", requests.CPU, limits.CPU}, {"memory", requests.Memory, limits.Memory},
		} {
			if c.request != nil && c.atMost != nil && c.request.Cmp(*c.atMost) > 0 {
				errs = append(errs, invalid.Field(p.field+".resources", "requests.%[1]s of %[2]s is more than limits.%[1]s of %[3]s; "+
					"unset values come from size %[4]s; set both values", c.name, c.request, c.atMost, m.spec.Size))
			}
		}
	}
	return errors.Join(errs...)
}

// larger returns the larger one of request and limit.
func larger(r *common.Resources, of func(*common.ResourceAmounts) *resource.Quantity) resource.Quantity {
	var out resource.Quantity
	if r == nil {
		return out
	}
	for _, a := range []*common.ResourceAmounts{r.Requests, r.Limits} {
		if a == nil {
			continue
		}
		if q := of(a); q != nil && q.Cmp(out) > 0 {
			out = q.DeepCopy()
		}
	}
	return out
}

// intQuantity converts a number to a quantity.
func intQuantity(n *int32) *resource.Quantity {
	if n == nil {
		return nil
	}
	return resource.NewQuantity(int64(*n), resource.DecimalSI)
}
