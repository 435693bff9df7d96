package bounds

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
)

// CostItem is a number of identical pods that a claim requests.
type CostItem struct {
	// Field of the part in the claim.
	Field    string
	Replicas int32
	// Times multiplies the pods. 0 means 1.
	Times     int32
	Resources *common.Resources
	// Short means that the claim sets resources in the fields cpu and memory.
	Short bool
	// Exact means that Field is the field with the resources: those of a container in pods that another item counts.
	Exact bool
	// Storage of each pod; empty: none.
	Storage string
	// Processes in each pod that the claim requests; 0: not set.
	Processes int32
	// Program of the pods, which determines the minimum sizes. Empty: the service checks them.
	Program minimum.Program
}

// ResourcesField returns the field of the claim with the resources of the pods.
func (c CostItem) ResourcesField() string {
	if c.Exact {
		return c.Field
	}
	return c.Field + ".resources"
}

// CostOf returns the cost item of the members of a service's own server.
func CostOf(field string, program minimum.Program, s common.Members) CostItem {
	return CostItem{Field: field, Replicas: s.Replicas, Resources: s.Resources, Short: true, Storage: s.StorageSize, Program: program}
}

// quota limits the costs.
type quota struct {
	// unit follows the number in messages. field is the field of the item that sets the value, or short the field of a short item.
	unit, field, short string
	of                 func(platformv1.Maxima) *resource.Quantity
	// cost returns the cost of one pod of an item, or of the item if costs are not summed up.
	cost func(CostItem) (resource.Quantity, error)
	// perClaim: the costs of all pods of all items are summed up.
	perClaim bool
}

var quotas = []quota{
	{
		unit: " replicas", field: ".replicas",
		of:   func(x platformv1.Maxima) *resource.Quantity { return intQuantity(x.Replicas) },
		cost: func(p CostItem) (resource.Quantity, error) { return *intQuantity(&p.Replicas), nil },
	},
	{
		unit: " processes in each pod", field: ".uwsgi.processes",
		of:   func(x platformv1.Maxima) *resource.Quantity { return intQuantity(x.Processes) },
		cost: func(p CostItem) (resource.Quantity, error) { return *intQuantity(&p.Processes), nil },
	},
	{
		unit: " of storage in all, which", field: ".storageSize", perClaim: true,
		of: func(x platformv1.Maxima) *resource.Quantity { return x.Storage },
		cost: func(p CostItem) (resource.Quantity, error) {
			if p.Storage == "" {
				return resource.Quantity{}, nil
			}
			return resource.ParseQuantity(p.Storage)
		},
	},
	{
		unit: " cores in all, which", field: ".resources", short: ".cpu", perClaim: true,
		of: func(x platformv1.Maxima) *resource.Quantity { return x.CPU },
		cost: func(p CostItem) (resource.Quantity, error) {
			return larger(p.Resources, func(a *common.ResourceAmounts) *resource.Quantity { return a.CPU }), nil
		},
	},
	{
		unit: " of memory in all, which", field: ".resources", short: ".memory", perClaim: true,
		of: func(x platformv1.Maxima) *resource.Quantity { return x.Memory },
		cost: func(p CostItem) (resource.Quantity, error) {
			return larger(p.Resources, func(a *common.ResourceAmounts) *resource.Quantity { return a.Memory }), nil
		},
	},
}

// CheckCosts returns an error for costs above the limits, or above the defaults of the platform without a limit.
func CheckCosts(limits []platformv1.Limit, items []CostItem) error {
	var errs []error
	for _, x := range quotas {
		entries, err := x.costEntries(items)
		errs = append(errs, err)
		reported := map[string]bool{} // Several items can have the same field.
		for _, entry := range entries {
			if err := x.check(limits, entry); err != nil && !reported[entry.field] {
				reported[entry.field] = true
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// costEntry is an amount, the field with the largest share of it, and an explanation of the sum.
type costEntry struct {
	field, reason string
	amount        resource.Quantity
}

// costEntries returns one entry for each item, or one for the sum, and an error for invalid amounts.
func (x quota) costEntries(parts []CostItem) ([]costEntry, error) {
	var each []costEntry
	var errs []error
	for _, p := range parts {
		field := x.field
		switch {
		case p.Exact:
			field = ""
		case p.Short:
			field = cmp.Or(x.short, field)
		}
		amount, err := x.cost(p)
		if err != nil {
			errs = append(errs, invalid.Field(p.Field+field, "%s", err))
		}
		each = append(each, costEntry{field: p.Field + field, amount: amount})
	}
	if !x.perClaim {
		return each, errors.Join(errs...)
	}
	var sum costEntry
	var most resource.Quantity
	for i, p := range parts {
		one := each[i].amount.DeepCopy()
		all := one.DeepCopy()
		all.Mul(int64(p.Replicas) * int64(max(p.Times, 1)))
		sum.amount.Add(all)
		if all.Cmp(most) > 0 {
			most, sum.field, sum.reason = all, each[i].field, fmt.Sprintf("with %d × %s here, there are ", p.Replicas*max(p.Times, 1), &one)
		}
	}
	return []costEntry{sum}, errors.Join(errs...)
}

// check returns an error for an entry above the quota of a limit, or above the default quota if no limit has one.
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
