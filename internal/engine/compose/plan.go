package compose

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Plan contains the objects that must exist now, and the state of each component.
type Plan struct {
	// Parts are the enabled components, in the order of the graph.
	Parts []ComponentStatus
	// Retired lists condition types of components that are not in Parts. A composite resource may still have such conditions.
	Retired []string
	// RetainedRevisions are older revisions that pods may still read.
	RetainedRevisions []Item
}

// ComponentStatus is a component of a plan, with its objects and their readiness.
type ComponentStatus struct {
	// Name, Phase and Version of the component.
	Name, Phase, Version string
	// Condition is the type of its condition. Empty: the default of its name.
	Condition string
	// After lists the components that must be ready or exist first; Needs lists the missing ones.
	After, Needs []string
	// BlockedBy lists the components with resources that objects of this component wait for (Resource.After).
	BlockedBy []string
	// Items are the objects that must exist now.
	Items []Item
	// Ready is the number of ready objects, Total the number of all enabled objects, including blocked ones.
	Ready, Total int
}

// Item is an object that must exist now.
type Item struct {
	// Name of the composed resource.
	Name string
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Body is the object with its hash.
	Body encoded.Struct
	// Rule is the readiness rule of its kind.
	Rule ready.Rule
	// Readiness of the observed object.
	Readiness ready.Result
	// Observed: the object exists.
	Observed bool
	// DataPolicy is the consequence for the data in this object if the composite resource were deleted now.
	DataPolicy DataPolicy
	// Since is the time of the last change of its conditions (RFC 3339), if it has any.
	Since string
	// Retain, Management, Observe and Cluster have the values of the resource.
	Retain, Management, Observe bool
	Cluster                     string
}

// Reference returns the reference to the object itself, not to its wrapper.
func (i Item) Reference() Reference {
	return Reference{Kind: i.Kind, Namespace: i.Body.At("metadata", "namespace").Text(), Name: i.Body.At("metadata", "name").Text()}
}

// Ready reports whether all desired objects exist, are up to date and ready.
func (p Plan) Ready() bool {
	for _, part := range p.Parts {
		if !part.IsReady() {
			return false
		}
	}
	return true
}

// Items returns all objects that must exist now, in the order of the graph.
func (p Plan) Items() []Item {
	lists := make([][]Item, 0, len(p.Parts)+1)
	for _, part := range p.Parts {
		lists = append(lists, part.Items)
	}
	return slices.Concat(append(lists, p.RetainedRevisions)...)
}

// ComponentStatus returns a component by name, and reports whether it is enabled.
func (p Plan) ComponentStatus(name string) (ComponentStatus, bool) {
	for _, part := range p.Parts {
		if part.Name == name {
			return part, true
		}
	}
	return ComponentStatus{}, false
}

// Phase returns the phase of the first component that is not ready, or done.
func (p Plan) Phase(done string) string {
	for _, part := range p.Parts {
		if !part.IsReady() {
			return part.Phase
		}
	}
	return done
}

// IsReady reports whether every enabled object of the component is ready, regardless of its needs.
func (p ComponentStatus) IsReady() bool { return p.Ready == p.Total }

// Exists reports whether every enabled object of the component exists, ready or not.
func (p ComponentStatus) Exists() bool { return p.observed() == p.Total }

func (p ComponentStatus) observed() int {
	n := 0
	for _, i := range p.Items {
		if i.Observed {
			n++
		}
	}
	return n
}

// Waiting returns the reason and message of the first component that failed, or else of the first that is not ready. Both are empty if all
// components are ready.
func (p Plan) Waiting() (reason, message string) {
	var first *ComponentStatus
	for i := range p.Parts {
		part := &p.Parts[i]
		if _, failed := part.Failed(); failed {
			first = part
			break
		}
		if first == nil && !part.IsReady() {
			first = part
		}
	}
	if first == nil {
		return "", ""
	}
	reason, message = first.Waiting()
	return reason, first.Name + ": " + message
}

// Failed returns the first object that cannot become ready without intervention.
func (p ComponentStatus) Failed() (Item, bool) {
	for _, i := range p.Items {
		if i.Readiness.Failed {
			return i, true
		}
	}
	return Item{}, false
}

// Waiting returns why the component is not ready, in one sentence. Both results are empty if it is ready.
func (p ComponentStatus) Waiting() (reason, message string) {
	if i, ok := p.Failed(); ok {
		return i.Readiness.Reason, i.describe()
	}
	if len(p.Needs) > 0 && !p.IsReady() {
		return "WaitingForDependencies", "waits for " + strings.Join(p.Needs, ", ")
	}
	var names []string
	var first *Item
	for n, i := range p.Items {
		if i.Readiness.Ready {
			continue
		}
		if first == nil {
			first = &p.Items[n]
		}
		names = append(names, i.Name)
	}
	switch {
	case first == nil && len(p.BlockedBy) > 0:
		return "WaitingForDependencies", "waits for " + strings.Join(p.BlockedBy, ", ")
	case first == nil:
		return "", ""
	case len(names) == 1:
		return first.Readiness.Reason, first.describe()
	}
	return first.Readiness.Reason, fmt.Sprintf("%s; %d more are not ready: %s", first.describe(), len(names)-1, strings.Join(names[1:], ", "))
}

// describe returns the object's name and the message of its readiness. A message propagated from a nested composite resource already
// contains the name of its object.
func (i Item) describe() string {
	if i.Readiness.Propagated {
		return i.Readiness.Message
	}
	return fmt.Sprintf("%s %s: %s", i.Kind.Kind, i.Body.At("metadata", "name").Text(), i.Readiness.Message)
}
