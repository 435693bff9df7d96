package compose

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Plan is what must exist now, and how far each component has come.
type Plan struct {
	// Parts are the enabled components, in the order of the graph.
	Parts []ComponentStatus
	// Retired are the types of conditions on components that are none of these, which a composite resource may still have.
	Retired []string
	// RetainedRevisions are older revisions that pods may still read.
	RetainedRevisions []Item
}

// ComponentStatus is one component of a plan.
type ComponentStatus struct {
	// Name, Phase and Version of the component.
	Name, Phase, Version string
	// Condition is the type of its condition, where it has one of its own.
	Condition string
	// After are the components that have to come first, Needs those of them that it waits for.
	After, Needs []string
	// BlockedBy are the components whose objects some of its own come after, and wait for.
	BlockedBy []string
	// Items are the objects that must exist now.
	Items []Item
	// Ready of Total wanted objects are ready; those held back count as wanted.
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
	// Rule is what is known of its kind.
	Rule ready.Rule
	// Readiness on what is observed of it.
	Readiness ready.Result
	// Observed says that it exists already.
	Observed bool
	// DataPolicy is what would become of data if the composite resource were deleted now, as far as this object is concerned.
	DataPolicy DataPolicy
	// Since is when its condition last changed (RFC 3339), if it reports.
	Since string
	// Retain, Management, Observe and Cluster are those of the resource.
	Retain, Management, Observe bool
	Cluster                     string
}

// Reference names the object itself, wherever it lives.
func (i Item) Reference() Reference {
	return Reference{Kind: i.Kind, Namespace: i.Body.At("metadata", "namespace").Text(), Name: i.Body.At("metadata", "name").Text()}
}

// Ready says that everything desired exists, is up to date and ready.
func (p Plan) Ready() bool {
	for _, part := range p.Parts {
		if !part.IsReady() {
			return false
		}
	}
	return true
}

// Items are all objects that must exist now, in the order of the graph.
func (p Plan) Items() []Item {
	lists := make([][]Item, 0, len(p.Parts)+1)
	for _, part := range p.Parts {
		lists = append(lists, part.Items)
	}
	return slices.Concat(append(lists, p.RetainedRevisions)...)
}

// ComponentStatus returns a component by name, and whether it is enabled.
func (p Plan) ComponentStatus(name string) (ComponentStatus, bool) {
	for _, part := range p.Parts {
		if part.Name == name {
			return part, true
		}
	}
	return ComponentStatus{}, false
}

// Phase is the phase of the first component that is not ready, or the given one.
func (p Plan) Phase(done string) string {
	for _, part := range p.Parts {
		if !part.IsReady() {
			return part.Phase
		}
	}
	return done
}

// IsReady says that every wanted object of the component is ready. It speaks of the component alone, not of its needs.
func (p ComponentStatus) IsReady() bool { return p.Ready == p.Total }

// Exists says that every wanted object of the component is there, whatever it is like.
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

// Waiting says what the whole waits for: the first component with something that will not become ready by waiting, or else the first
// that is not ready. It is empty when all is ready.
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

// Failed is the first object that will not become ready by waiting.
func (p ComponentStatus) Failed() (Item, bool) {
	for _, i := range p.Items {
		if i.Readiness.Failed {
			return i, true
		}
	}
	return Item{}, false
}

// Waiting says in one sentence what the component waits for; it is empty when the component is ready.
func (p ComponentStatus) Waiting() (reason, message string) {
	if i, ok := p.Failed(); ok {
		return i.Readiness.Reason, i.describe()
	}
	if len(p.Needs) > 0 && !p.IsReady() {
		return "WaitingForNeeds", "waits for " + strings.Join(p.Needs, ", ")
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
		return "WaitingForNeeds", "waits for " + strings.Join(p.BlockedBy, ", ")
	case first == nil:
		return "", ""
	case len(names) == 1:
		return first.Readiness.Reason, first.describe()
	}
	return first.Readiness.Reason, fmt.Sprintf("%s; %d more are not ready: %s", first.describe(), len(names)-1, strings.Join(names[1:], ", "))
}

// describe names the object and says what it waits for. What a nested composite resource waits for names its object itself.
func (i Item) describe() string {
	if i.Readiness.Propagated {
		return i.Readiness.Message
	}
	return fmt.Sprintf("%s %s: %s", i.Kind.Kind, i.Body.At("metadata", "name").Text(), i.Readiness.Message)
}
