package compose

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// Resource is one object that a component wants.
type Resource struct {
	// Name of the composed resource, unique in its composite resource and the same for ever: Crossplane finds the object by it.
	Name string
	// Object as it should be, with only the fields that we own.
	Object runtime.Object
	// Refer returns the object in place of Object, where it names what other resources are composed as. It asks for each of them by the
	// resource's name, which is declared earlier.
	Refer func(to func(resource string) Reference) runtime.Object
	// Ready returns the verdict on the observed object. Nil: the rule of the object's kind.
	Ready ready.Check
	// Retain says that the object holds data, or is needed by what does: deleting the claim does not delete it.
	Retain bool
	// Management says that the object lives in the management cluster, wherever the workloads run.
	Management bool
	// Cluster is the provider config of the cluster that the object lives in, where it is neither for this one nor for the workloads' to say:
	// that of somebody else's workloads. Empty: it is.
	Cluster string
	// Observe says that the object is somebody else's, which is looked at and never written: Object names it and no more.
	Observe bool
	// After are resources that must be ready before this one is created, by name. Each is declared earlier, whatever component it belongs to.
	After []string
	// Revisions is the part of Name that all revisions of the object share, where Name changes with the content. Older
	// revisions stay until everything is ready: pods of the last roll-out still read them. The next revision of a ConfigMap waits for nothing:
	// pods of this one are to read it. A resource with neither name nor object says the first of revisions of which none is wanted any more.
	Revisions string
}

// Reference names an object of the management cluster.
type Reference struct {
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Namespace and Name of the object. One without a namespace is cluster-scoped.
	Namespace, Name string
}

// Stage is a set of objects that may be created together. A stage opens when the one before it is ready.
type Stage []Resource

// Component is a part of a composite resource with a name that a tenant knows.
type Component[M any] struct {
	// Name of the component: lower case, unique in its graph.
	Name string
	// Condition is the type of the condition that says how far the component is, where that is not <Name>Ready (ConditionType).
	Condition string
	// Phase of the claim while this component is not ready.
	Phase string
	// Needs are the components that must be ready first. Each is declared earlier.
	Needs []string
	// Follows are the components whose objects must exist first, ready or not. Each is declared earlier.
	Follows []string
	// RolloutAfter are the components that a new version of this one waits for, once both are there: what runs keeps its images or its release
	// until those are ready as they are desired now. Each is declared earlier.
	RolloutAfter []string
	// Enabled reports whether the component is wanted. Nil: always.
	Enabled func(M) bool
	// Build returns the component's objects.
	Build func(M) ([]Stage, error)
	// Version that the component reports, if any.
	Version func(M) string

	// former is the type that its condition had before.
	former string
}

func (c Component[M]) enabled(m M) bool { return c.Enabled == nil || c.Enabled(m) }

// Graph is a list of components in which every need is declared earlier: it has no cycle.
type Graph[M any] []Component[M]

// MustValidate panics if the graph is not well formed. It is called on start-up, so that a mistake never reaches a cluster, and names the
// conditions once.
func (g Graph[M]) MustValidate() Graph[M] {
	if err := g.Validate(); err != nil {
		panic(err)
	}
	named := slices.Clone(g)
	for i, c := range g {
		named[i].Condition, named[i].former = c.conditionType(), formerConditionType(c.Name)
	}
	return named
}

// Validate reports every component that has no name or builder, is declared twice, or needs what is not declared before it.
func (g Graph[M]) Validate() error {
	var errs []error
	var seen, conditions []string
	for i, c := range g {
		if c.Name == "" || c.Build == nil {
			errs = append(errs, fmt.Errorf("component %d (%q) needs a name and a builder", i, c.Name))
		}
		if slices.Contains(seen, c.Name) {
			errs = append(errs, fmt.Errorf("component %q is declared twice", c.Name))
		}
		if typ := c.conditionType(); slices.Contains(conditions, typ) && !slices.Contains(seen, c.Name) {
			errs = append(errs, fmt.Errorf("component %q has the condition %s, as one before it", c.Name, typ))
		}
		for _, n := range slices.Concat(c.Needs, c.Follows, c.RolloutAfter) {
			if !slices.Contains(seen, n) {
				errs = append(errs, fmt.Errorf("component %q needs %q, which is not declared before it", c.Name, n))
			}
		}
		seen, conditions = append(seen, c.Name), append(conditions, c.conditionType())
	}
	return errors.Join(errs...)
}
