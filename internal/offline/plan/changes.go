package plan

import (
	"regexp"
	"slices"
	"strings"

	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// Action is the effect on an object.
type Action string

// Actions.
const (
	ActionNone    Action = "none"
	ActionCreate  Action = "create"
	ActionChange  Action = "change"
	ActionReplace Action = "replace"
	ActionDelete  Action = "delete"
	ActionRetain  Action = "retain"
)

// Change is the effect of the edit on one object.
type Change struct {
	Action Action
	// APIVersion, Kind, Namespace and Name of the object, and the provider config of its cluster; empty: the management cluster.
	APIVersion, Kind, Namespace, Name, Cluster string
	// Owner is its composite resource, Component its component in the graph.
	Owner, Component string
	// Composite means that the object is a composite resource: the changes of its objects are listed, too.
	Composite bool
	// Fields that change. Empty for objects that are created, deleted or retained.
	Fields []Field
	// Reason explains a replacement, a retention or a rejection.
	Reason string

	before, after map[string]any // without wrapper; nil if it does not exist
}

// Reasons of changes.
const (
	reasonHash     = "its name contains a hash of its content: pods read a new object"
	reasonRenamed  = "its name or its cluster changes"
	reasonRetained = "deletionPolicy Retain: it stays, and a new claim with the same name uses it"
	reasonKept     = "Retained from now on: it outlives the claim"
	reasonExposed  = "No longer retained: it is deleted with the claim"
	reasonRejected = "Kubernetes rejects a change of this field: the object keeps its state, and the claim is not Ready"
)

// hashed matches the suffix of names that are derived from the content of an object.
var hashed = regexp.MustCompile(`-[0-9a-f]{10}$`)

// changes returns the effect on each object of a claim: of the objects after the edit in their order, then of the others.
func changes(p *pair) []Change {
	old, byBase := map[string]preview.Object{}, map[string]string{}
	for _, o := range objects(p.before) {
		old[resourceKey(o)] = o
		byBase[baseKey(o)] = resourceKey(o)
	}
	exists := map[string]bool{}
	for _, o := range objects(p.after) {
		exists[resourceKey(o)] = true
	}
	used := map[string]bool{}
	var out []Change
	for _, o := range objects(p.after) {
		before, found := old[resourceKey(o)]
		if key := byBase[baseKey(o)]; !found && key != "" && !exists[key] && hashed.MatchString(o.Name) {
			before, found = old[key], true
		}
		if !found {
			out = append(out, changeOf(ActionCreate, nil, &o))
			continue
		}
		used[resourceKey(before)] = true
		if c, changed := compare(before, o); changed {
			out = append(out, c)
		}
	}
	for _, o := range objects(p.before) {
		if used[resourceKey(o)] || exists[resourceKey(o)] {
			continue
		}
		c := changeOf(ActionDelete, &o, nil)
		if o.Retained {
			c.Action, c.Reason = ActionRetain, reasonRetained
		}
		out = append(out, c)
	}
	return out
}

func objects(r *preview.Result) []preview.Object {
	if r == nil {
		return nil
	}
	return r.Objects
}

// resourceKey identifies a composed resource, and baseKey a resource regardless of the hash in its name.
func resourceKey(o preview.Object) string { return o.Owner + "/" + o.Resource }
func baseKey(o preview.Object) string {
	return strings.Join([]string{o.Owner, o.Kind, o.Namespace, hashed.ReplaceAllString(o.Name, "")}, "/")
}

// compare returns the change from one state of an object to another, and whether there is any.
func compare(before, after preview.Object) (Change, bool) {
	if before.Same(after) {
		return Change{}, false
	}
	c := changeOf(ActionChange, &before, &after)
	c.Fields = diff(c.Kind, c.before, c.after)
	renamed := before.Name != after.Name || before.Namespace != after.Namespace || before.Cluster != after.Cluster ||
		before.Kind != after.Kind
	switch {
	case renamed && baseKey(before) == baseKey(after) && before.Cluster == after.Cluster:
		c.Action, c.Reason = ActionReplace, reasonHash
	case renamed:
		c.Action, c.Reason = ActionReplace, reasonRenamed
	case slices.ContainsFunc(c.Fields, func(f Field) bool { return f.Immutable }):
		c.Reason = reasonRejected
	case before.Retained && !after.Retained:
		c.Reason = reasonExposed
	case !before.Retained && after.Retained:
		c.Reason = reasonKept
	}
	return c, len(c.Fields) > 0 || c.Reason != ""
}

// changeOf returns a change of an object, which does not exist before or after it if that state is nil.
func changeOf(action Action, before, after *preview.Object) Change {
	o := after
	if o == nil {
		o = before
	}
	c := Change{
		Action: action, APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Cluster: o.Cluster,
		Owner: o.Owner, Component: o.Component, Composite: isComposite(*o),
	}
	if before != nil {
		c.before = before.Tree()
	}
	if after != nil {
		c.after = after.Tree()
	}
	return c
}

// isComposite reports whether an object is a composite resource, or a claim other than a KeystoneService: their own objects are compared,
// too.
func isComposite(o preview.Object) bool {
	for _, k := range kindregistry.WithForm(kindregistry.Composed, kindregistry.Claimed) {
		if k.Kind == o.Kind && k.Kind != keystoneservicev1.GroupVersionKind.Kind && strings.HasPrefix(o.APIVersion, k.Group+"/") {
			return true
		}
	}
	return false
}

// group returns the API group of a change's object.
func (c Change) group() string {
	group, _, ok := strings.Cut(c.APIVersion, "/")
	if !ok {
		return ""
	}
	return group
}
