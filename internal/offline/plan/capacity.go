package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Capacity is an amount that a claim requests before and after an edit.
type Capacity struct {
	// Resource is pods, node pods (pods on each hypervisor), cpu, memory or volumes.
	Resource      string
	Before, After string
	// Limit is the maximum of the PlatformConfig; empty: none. A claim above its limit is invalid.
	Limit string
}

// Changed reports whether the edit changes the amount.
func (c Capacity) Changed() bool { return c.Before != c.After }

// capacity compares the requests of all pods of a claim, without Jobs and daemons of Ceph, with the maxima of the platform.
func capacity(p *pair, platform []byte) ([]Capacity, error) {
	before, err := totals(p.before)
	if err != nil {
		return nil, err
	}
	after, err := totals(p.after)
	if err != nil {
		return nil, err
	}
	limits, err := maxima(platform, p.id.Namespace)
	if err != nil {
		return nil, err
	}
	return []Capacity{
		{Resource: "pods", Before: fmt.Sprint(before.Pods), After: fmt.Sprint(after.Pods)},
		{Resource: "node pods", Before: fmt.Sprint(before.NodePods), After: fmt.Sprint(after.NodePods)},
		{Resource: "cpu", Before: before.CPU.String(), After: after.CPU.String(), Limit: limits.CPU.String()},
		{Resource: "memory", Before: before.Memory.String(), After: after.Memory.String(), Limit: limits.Memory.String()},
		{Resource: "volumes", Before: before.Storage.String(), After: after.Storage.String(), Limit: limits.Storage.String()},
	}, nil
}

func totals(r *preview.Result) (preview.Totals, error) {
	if r == nil {
		return preview.Totals{}, nil
	}
	return r.Totals()
}

// maxima returns the smallest maxima of the limits of a namespace, or the defaults.
func maxima(platform []byte, namespace string) (platformv1.Maxima, error) {
	config := platformv1.PlatformConfig{}
	if err := yaml.Unmarshal(platform, &config); err != nil {
		return platformv1.Maxima{}, fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	out, defaults := platformv1.Maxima{}, platformv1.DefaultMaxima()
	for _, l := range limit.In(config.Spec.Limits, namespace) {
		out.CPU = smaller(out.CPU, l.Maxima.CPU)
		out.Memory = smaller(out.Memory, l.Maxima.Memory)
		out.Storage = smaller(out.Storage, l.Maxima.Storage)
	}
	if out.CPU == nil {
		out.CPU = defaults.CPU
	}
	if out.Memory == nil {
		out.Memory = defaults.Memory
	}
	if out.Storage == nil {
		out.Storage = defaults.Storage
	}
	return out, nil
}

// smaller returns the smaller one of two amounts. Nil means no amount.
func smaller(a, b *resource.Quantity) *resource.Quantity {
	if a == nil || (b != nil && b.Cmp(*a) < 0) {
		return b
	}
	return a
}
