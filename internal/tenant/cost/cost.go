// Package cost compares the resources that a claim requests with the maxima of the platform.
package cost

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

// Item is a number of identical pods that a claim requests.
type Item struct {
	// Field of the part in the claim.
	Field string
	// Count is the name of the field with the number of pods. Empty: replicas.
	Count    string
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
	// Scratch is the size of a directory on the node of each pod, in addition to Resources; empty: none.
	Scratch string
	// Processes in each pod that the claim requests; 0: not set.
	Processes int32
	// Runs is the number of Jobs of a schedule within an hour; 0: no schedule.
	Runs int32
	// Program of the pods, which determines the minimum sizes. Empty: the service checks them.
	Program minimum.Program
}

// ResourcesField returns the field of the claim with the resources of the pods.
func (c Item) ResourcesField() string {
	if c.Exact {
		return c.Field
	}
	return c.Field + ".resources"
}

// Of returns the cost item of the members of a service's own server.
func Of(field string, program minimum.Program, s common.Members) Item {
	return Item{Field: field, Replicas: s.Replicas, Resources: s.Resources, Short: true, Storage: s.StorageSize, Program: program}
}

// quota limits the costs.
type quota struct {
	// unit follows the number in messages. field is the field of the item that sets the value, or short the field of a short item.
	unit, field, short string
	of                 func(platformv1.Maxima) *resource.Quantity
	// cost returns the cost of one pod of an item, or of the item if costs are not summed up.
	cost func(Item) (resource.Quantity, error)
	// perClaim: the costs of all pods of all items are summed up.
	perClaim bool
}

// replicasField is the field with the number of pods in most parts of claims.
const replicasField = ".replicas"

// claimQuotas apply to a claim.
var claimQuotas = []quota{
	{
		unit: " replicas", field: replicasField,
		of:   func(x platformv1.Maxima) *resource.Quantity { return intQuantity(x.Replicas) },
		cost: func(p Item) (resource.Quantity, error) { return *intQuantity(&p.Replicas), nil },
	},
	{
		unit: " processes in each pod", field: ".uwsgi.processes",
		of:   func(x platformv1.Maxima) *resource.Quantity { return intQuantity(x.Processes) },
		cost: func(p Item) (resource.Quantity, error) { return *intQuantity(&p.Processes), nil },
	},
	{
		unit: " of storage in all, which", field: ".storageSize", perClaim: true,
		of: func(x platformv1.Maxima) *resource.Quantity { return x.Storage },
		cost: func(p Item) (resource.Quantity, error) {
			return parse(p.Storage)
		},
	},
	scratch,
	{
		unit: " runs within an hour",
		of:   func(x platformv1.Maxima) *resource.Quantity { return intQuantity(x.RunsPerHour) },
		cost: func(p Item) (resource.Quantity, error) { return *intQuantity(&p.Runs), nil },
	},
	cores(" cores in all, which", func(x platformv1.Maxima) *resource.Quantity { return x.CPU }),
	memory(" of memory in all, which", func(x platformv1.Maxima) *resource.Quantity { return x.Memory }),
}

// scratch is the quota of directories on nodes.
var scratch = quota{
	unit: " of scratch space in all, which", field: ".resources", perClaim: true,
	of: func(x platformv1.Maxima) *resource.Quantity { return x.EphemeralStorage },
	cost: func(p Item) (resource.Quantity, error) {
		out, err := parse(p.Scratch)
		out.Add(larger(p.Resources, func(a *common.ResourceAmounts) *resource.Quantity { return a.EphemeralStorage }))
		return out, err
	},
}

// nodeQuotas apply to the pods of a claim on one node.
var nodeQuotas = []quota{
	cores(" cores on one node, which", func(x platformv1.Maxima) *resource.Quantity { return x.NodeCPU }),
	memory(" of memory on one node, which", func(x platformv1.Maxima) *resource.Quantity { return x.NodeMemory }),
	scratch,
}

// cores returns a quota of the cores of all items.
func cores(unit string, of func(platformv1.Maxima) *resource.Quantity) quota {
	return quota{unit: unit, field: ".resources", short: ".cpu", perClaim: true, of: of, cost: func(p Item) (resource.Quantity, error) {
		return larger(p.Resources, func(a *common.ResourceAmounts) *resource.Quantity { return a.CPU }), nil
	}}
}

// memory returns a quota of the memory of all items.
func memory(unit string, of func(platformv1.Maxima) *resource.Quantity) quota {
	return quota{unit: unit, field: ".resources", short: ".memory", perClaim: true, of: of, cost: func(p Item) (resource.Quantity, error) {
		return larger(p.Resources, func(a *common.ResourceAmounts) *resource.Quantity { return a.Memory }), nil
	}}
}

// Check returns an error for costs of a claim above the limits, or above the defaults of the platform without a limit.
func Check(limits []platformv1.Limit, items []Item) error { return check(claimQuotas, limits, items) }

// CheckNode is like Check for the pods of a claim on one node.
func CheckNode(limits []platformv1.Limit, items []Item) error {
	return check(nodeQuotas, limits, items)
}

func check(quotas []quota, limits []platformv1.Limit, items []Item) error {
	var errs []error
	for _, x := range quotas {
		entries, err := x.entries(items)
		errs = append(errs, err)
		reported := map[string]bool{} // Several items can have the same field.
		for _, e := range entries {
			if err := x.check(limits, e); err != nil && !reported[e.field] {
				reported[e.field] = true
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// entry is an amount, the field with the largest share of it, and an explanation of the sum.
type entry struct {
	field, reason string
	amount        resource.Quantity
}

// entries returns one entry for each item, or one for the sum, and an error for invalid amounts.
func (x quota) entries(parts []Item) ([]entry, error) {
	var each []entry
	var errs []error
	for _, p := range parts {
		field := x.field
		switch {
		case p.Exact:
			field = ""
		case p.Count != "" && field == replicasField:
			field = "." + p.Count
		case p.Short:
			field = cmp.Or(x.short, field)
		}
		amount, err := x.cost(p)
		if err != nil {
			errs = append(errs, invalid.Field(p.Field+field, "%s", err))
		}
		each = append(each, entry{field: p.Field + field, amount: amount})
	}
	if !x.perClaim {
		return each, errors.Join(errs...)
	}
	var sum entry
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
	return []entry{sum}, errors.Join(errs...)
}

// check returns an error for an entry above the quota of a limit, or above the default quota if no limit has one.
func (x quota) check(limits []platformv1.Limit, b entry) error {
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

// parse returns a size as a quantity. It is 0 without a size.
func parse(size string) (resource.Quantity, error) {
	if size == "" {
		return resource.Quantity{}, nil
	}
	return resource.ParseQuantity(size)
}

// intQuantity converts a number to a quantity.
func intQuantity(n *int32) *resource.Quantity {
	if n == nil {
		return nil
	}
	return resource.NewQuantity(int64(*n), resource.DecimalSI)
}
