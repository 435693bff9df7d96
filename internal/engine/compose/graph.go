package compose

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// Resource is an object of a component.
type Resource struct {
	// Name of the composed resource, unique in its composite resource. It must never change: Crossplane finds the object by it.
	Name string
	// Object is the desired object, with only the fields that the function owns.
	Object runtime.Object
	// Refer returns the object instead of Object, for an object that names how other resources are composed. It calls to with the name
	// of each resource, which must be declared earlier.
	Refer func(to func(resource string) Reference) runtime.Object
	// Ready evaluates the observed object. Nil: the rule of the object's kind.
	Ready ready.Check
	// Retain: the object holds data, or an object with data requires it. Deletion of the claim does not delete it.
	Retain bool
	// Management: the object is in the management cluster, even if the workloads run in another one.
	Management bool
	// Cluster is the provider config of the object's cluster, if that is neither the management cluster nor the cluster of the workloads,
	// such as the cluster of external workloads. Empty: one of these two.
	Cluster string
	// Observe: the object is external. It is only observed, never written, and Object contains only its name.
	Observe bool
	// After lists resources that must be ready before this one is created, by name. Each is declared earlier, in any component.
	After []string
	// Revisions is the common prefix of the names of all revisions of the object, if Name changes with the content. Older revisions are
	// kept until all components are ready, because pods of the last rollout still read them. The next revision of a ConfigMap is created
	// without waiting, because pods of this rollout read it. A resource with only Revisions keeps older revisions of a disabled object.
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

// Component is a part of a composite resource. Tenants see its name.
type Component[M any] struct {
	// Name of the component: lower case, unique in its graph.
	Name string
	// Condition is the type of the condition on the component. Default: ConditionType of its name.
	Condition string
	// Phase of the claim while this component is not ready.
	Phase string
	// Needs are the components that must be ready first. Each is declared earlier.
	Needs []string
	// Follows are the components whose objects must exist first, ready or not. Each is declared earlier.
	Follows []string
	// RolloutAfter lists components that a new version of this one waits for, once both exist: the running workload keeps its images or
	// its release until the desired state of these components is ready. Each is declared earlier.
	RolloutAfter []string
	// Enabled reports whether the component is enabled. Nil: always.
	Enabled func(M) bool
	// Build returns the component's objects.
	Build func(M) ([]Stage, error)
	// Version that the component reports, if any.
	Version func(M) string

	// former is the previous type of its condition.
	former string
}

func (c Component[M]) enabled(m M) bool { return c.Enabled == nil || c.Enabled(m) }

// Graph is a list of components in which every need is declared earlier: it has no cycle.
type Graph[M any] []Component[M]

// MustValidate returns the graph with the type of each condition set. It panics if the graph is not well formed. It is called on start-up,
// so that a mistake never reaches a cluster.
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

// Validate returns an error for every component without a name or builder, declared twice, or that needs an undeclared component.
func (g Graph[M]) Validate() error {
	var errs []error
	var names, conditions []string
	for i, c := range g {
		if c.Name == "" || c.Build == nil {
			errs = append(errs, fmt.Errorf("component %d (%q) needs a name and a builder", i, c.Name))
		}
		if slices.Contains(names, c.Name) {
			errs = append(errs, fmt.Errorf("component %q is declared twice", c.Name))
		}
		if typ := c.conditionType(); slices.Contains(conditions, typ) && !slices.Contains(names, c.Name) {
			errs = append(errs, fmt.Errorf("component %q has the condition %s, as one before it", c.Name, typ))
		}
		for _, n := range slices.Concat(c.Needs, c.Follows, c.RolloutAfter) {
			if !slices.Contains(names, n) {
				errs = append(errs, fmt.Errorf("component %q needs %q, which is not declared before it", c.Name, n))
			}
		}
		names, conditions = append(names, c.Name), append(conditions, c.conditionType())
	}
	return errors.Join(errs...)
}
