package compose

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// HashAnnotation contains the hash of the last composed object.
const HashAnnotation = "crossplane.c5c3.io/hash"

// Compute returns the objects that must exist now, given the model and the observed state. rules contains the readiness rule of each kind.
//
// composed returns how an item is composed, for the items that refer to it: as the object itself (Item.Reference) or as a wrapper.
//
// It returns the errors of builders, and an error for a bug: an object without a readiness rule, or two resources with the same name.
func (g Graph[M]) Compute(m M, state observe.State, rules ready.Rules, composed func(Item) Reference) (Plan, error) {
	p := planner{
		state: state, rules: rules, composed: composed, items: map[string]*Item{}, ready: map[string]bool{}, exists: map[string]bool{},
		notReady: map[string]string{}, revisions: map[string]Item{},
	}
	for _, c := range g {
		if !c.enabled(m) {
			// A disabled component blocks no other.
			p.ready[c.Name], p.exists[c.Name] = true, true
			continue
		}
		stages, err := c.Build(m)
		if err != nil {
			return Plan{}, fmt.Errorf("cannot compose %s: %w", c.Name, err)
		}
		part := ComponentStatus{Name: c.Name, Phase: c.Phase, Condition: c.Condition, After: slices.Concat(c.Needs, c.Follows)}
		if c.Version != nil {
			part.Version = c.Version(m)
		}
		part.Needs = append(missing(p.ready, c.Needs), missing(p.exists, c.Follows)...)
		p.rolloutAfter = missing(p.ready, c.RolloutAfter)
		if err := p.stages(&part, stages); err != nil {
			return Plan{}, fmt.Errorf("cannot compose %s: %w", c.Name, err)
		}
		p.ready[c.Name], p.exists[c.Name] = part.IsReady(), part.Exists()
		p.plan.Parts = append(p.plan.Parts, part)
	}
	if err := p.keepRevisions(); err != nil {
		return Plan{}, err
	}
	p.plan.Retired = g.disabledConditions(p.plan.Parts)
	return p.plan, nil
}

// planner holds the state of one run of Compute.
type planner struct {
	state         observe.State
	rules         ready.Rules
	composed      func(Item) Reference
	plan          Plan
	items         map[string]*Item  // every enabled resource, desired now or not
	ready, exists map[string]bool   // by component; both are true for a disabled one
	notReady      map[string]string // by resource that is not ready: its component
	rolloutAfter  []string          // components that new versions wait for
	revisions     map[string]Item   // the current revision by common name prefix
}

// missing returns the names that are not true in have.
func missing(have map[string]bool, names []string) []string {
	var out []string
	for _, n := range names {
		if !have[n] {
			out = append(out, n)
		}
	}
	return out
}

// stages adds the resources of each stage; a stage opens once all earlier stages are ready.
func (p *planner) stages(part *ComponentStatus, stages []Stage) error {
	open, total := len(part.Needs) == 0, 0
	for _, stage := range stages {
		total += len(stage)
	}
	part.Items = make([]Item, 0, total)
	for _, stage := range stages {
		stageReady := true
		for _, r := range stage {
			ready, err := p.resource(part, r, open)
			if err != nil {
				return err
			}
			stageReady = stageReady && ready
		}
		open = open && stageReady
	}
	return nil
}

// resource adds one resource to its part and reports whether it is ready. If no revision is enabled, it only records how older revisions
// are kept.
func (p *planner) resource(part *ComponentStatus, r Resource, open bool) (bool, error) {
	if r.Name == "" && r.Object == nil && r.Refer == nil && r.Revisions != "" {
		p.revisions[r.Revisions] = Item{Retain: r.Retain, Management: r.Management, Cluster: r.Cluster}
		return true, nil
	}
	item, err := p.item(r)
	if err != nil {
		return false, err
	}
	held, err := p.blockedBy(r)
	if err != nil {
		return false, err
	}
	part.Total++
	switch {
	case item.Observed || open && len(held) == 0 || p.replaces(r, item):
		part.Items = append(part.Items, item)
	case open:
		part.BlockedBy = union(part.BlockedBy, held)
	}
	if !item.Readiness.Ready {
		p.notReady[r.Name] = part.Name
		return false, nil
	}
	part.Ready++
	return true, nil
}

// replaces reports whether a resource is the next revision of a ConfigMap that pods already mount. Pods get its name together with all
// other changes, even while their component is blocked; pods of a DaemonSet or StatefulSet would be stopped before the file is missed.
func (p *planner) replaces(r Resource, item Item) bool {
	return r.Revisions != "" && item.Kind.Kind == "ConfigMap" &&
		slices.ContainsFunc(p.state.Names(), func(name string) bool { return strings.HasPrefix(name, r.Revisions+"-") })
}

// blockedBy returns the components of the resources in After that are not ready.
func (p *planner) blockedBy(r Resource) ([]string, error) {
	var out []string
	for _, name := range r.After {
		if _, ok := p.items[name]; !ok || name == r.Name {
			return nil, fmt.Errorf("%s comes after %s, which is not declared before it", r.Name, name)
		}
		if by, ok := p.notReady[name]; ok {
			out = union(out, []string{by})
		}
	}
	return out, nil
}

// union appends the elements of more that list does not contain.
func union(list, more []string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// item encodes a resource and evaluates its readiness from the observed state.
func (p *planner) item(r Resource) (Item, error) {
	if _, exists := p.items[r.Name]; exists || r.Name == "" {
		return Item{}, fmt.Errorf("resource name %q is empty or used twice", r.Name)
	}
	object, err := p.object(r)
	if err != nil {
		return Item{}, err
	}
	body, err := encode.Object(object)
	if err != nil {
		return Item{}, fmt.Errorf("cannot encode %s: %w", r.Name, err)
	}
	item := Item{
		Name: r.Name, Retain: r.Retain, Management: r.Management, Observe: r.Observe, Cluster: r.Cluster, Kind: kindOf(body),
	}
	rule, ok := p.rules.For(item.Kind.GroupKind())
	if !ok && r.Ready == nil {
		return Item{}, fmt.Errorf("%s has no readiness rule for its kind %s", r.Name, item.Kind.GroupKind())
	}
	item.Rule = rule
	check := rule.Check
	if r.Ready != nil {
		check = r.Ready
	}
	item.Body = body
	hash := ""
	if !r.Observe {
		hash = body.Hash()
		item.Body = withHash(body, hash)
	}
	observed, ok := p.state.Get(r.Name)
	item.Observed = ok
	item.Readiness = readiness(observed, ok, hash, check)
	if stale := p.state.StaleReason(observed); item.Readiness.Ready && stale != "" {
		item.Readiness = ready.Wait("StatusTooOld", "%s", stale)
	}
	if ok {
		item.Since, item.DataPolicy = observed.Since(), dataPolicy(item, observed)
		if err := p.keepObservedVersion(&item, body, observed); err != nil {
			return Item{}, fmt.Errorf("cannot hold back the new version of %s: %w", r.Name, err)
		}
	}
	if r.Revisions != "" {
		p.revisions[r.Revisions] = item
	}
	p.items[r.Name] = &item
	return item, nil
}

// object returns a resource's object, which may refer to the resources before it.
func (p *planner) object(r Resource) (runtime.Object, error) {
	if r.Refer == nil {
		return r.Object, nil
	}
	var err error
	object := r.Refer(func(name string) Reference {
		to, ok := p.items[name]
		if !ok {
			err = fmt.Errorf("%s refers to %s, which is not declared before it", r.Name, name)
			return Reference{}
		}
		return p.composed(*to)
	})
	return object, err
}

// outdated is the reason for an object that differs from its desired state.
const outdated = "Outdated"

// readiness evaluates readiness: an object must be up to date, at its current generation, and pass its check. hash is empty for an object
// that is only observed.
func readiness(o *observe.Object, observed bool, hash string, check ready.Check) ready.Result {
	switch {
	case !observed:
		return ready.Wait("NotCreated", "it is not created yet")
	case o.Deleting() || o.Wrapper().Deleting():
		return ready.Wait("Deleting", "it is being deleted")
	}
	if w := o.Wrapper(); w != nil {
		if v := wrapper(w); !v.Ready {
			return v
		}
	}
	if !o.Exists() {
		return ready.Wait("NotApplied", "it is not in its cluster yet")
	}
	if hash != "" && o.Annotation(HashAnnotation) != hash {
		return ready.Wait(outdated, "the last change of it is not applied yet")
	}
	return check(o)
}

// wrapper checks that an Object has applied its current manifest.
func wrapper(w *observe.Object) ready.Result {
	c, ok := w.Condition("Synced")
	switch {
	case !ok:
		return ready.Wait("NotApplied", "it is not in its cluster yet")
	case c.Status != "True":
		return ready.Wait(cmp.Or(c.Reason, "NotApplied"), "%s", cmp.Or(c.Message, "it cannot be written to its cluster"))
	case c.ObservedGeneration != 0 && c.ObservedGeneration != w.Generation():
		return ready.Wait(outdated, "the last change of it is not applied yet")
	}
	return ready.Yes
}

// keepRevisions keeps older revisions in the desired state until all components are ready, each composed like the current revision. It
// returns an error if one cannot be composed, because Crossplane deletes a resource that is missing from the response.
func (p *planner) keepRevisions() error {
	if len(p.revisions) == 0 || p.plan.Ready() {
		return nil
	}
	for _, name := range p.state.Names() {
		current, ok := p.revision(name)
		if _, desired := p.items[name]; !ok || desired {
			continue
		}
		o, _ := p.state.Get(name)
		body, err := p.withoutServerFields(o)
		if err != nil {
			return fmt.Errorf("cannot keep the older revision %s: %w", name, err)
		}
		kind := kindOf(body)
		rule, _ := p.rules.For(kind.GroupKind())
		item := Item{
			Name: name, Body: body, Kind: kind, Rule: rule, Retain: current.Retain, Management: current.Management,
			Cluster: current.Cluster, Observed: true, Readiness: ready.Yes,
		}
		if w := o.Wrapper(); w != nil { // It stays in its cluster: the current revision may be in another one.
			item.Cluster = w.String("spec", "providerConfigRef", "name")
		}
		item.DataPolicy = dataPolicy(item, o)
		p.plan.RetainedRevisions = append(p.plan.RetainedRevisions, item)
	}
	return nil
}

// revision returns the current revision of the resource that name is a revision of.
func (p *planner) revision(name string) (Item, bool) {
	for _, prefix := range slices.Sorted(maps.Keys(p.revisions)) {
		if strings.HasPrefix(name, prefix+"-") {
			return p.revisions[prefix], true
		}
	}
	return Item{}, false
}

// withoutServerFields returns an observed object without the fields that the API server sets.
func (p *planner) withoutServerFields(o *observe.Object) (encoded.Struct, error) {
	desired := o.Desired()
	full := desired.Full()
	meta, _ := full["metadata"].(map[string]any)
	if meta == nil {
		return nil, errors.New("it has no metadata")
	}
	delete(full, "status")
	clean := map[string]any{}
	for _, k := range []string{"name", "namespace", "labels", "annotations"} {
		if v, ok := meta[k]; ok {
			clean[k] = v
		}
	}
	// Crossplane sets these again.
	if a, _ := clean["annotations"].(map[string]any); a != nil {
		delete(a, "crossplane.io/composition-resource-name")
	}
	if l, _ := clean["labels"].(map[string]any); l != nil {
		for _, k := range []string{"crossplane.io/composite", "crossplane.io/claim-name", "crossplane.io/claim-namespace"} {
			delete(l, k)
		}
	}
	full["metadata"] = clean
	dropNulls(full)
	rule, _ := p.rules.For(schema.FromAPIVersionAndKind(desired.APIVersion(), desired.Kind()).GroupKind())
	for _, path := range rule.Generated {
		unstructured.RemoveNestedField(full, path...)
	}
	return encode.Struct(full)
}

// dropNulls removes nulls, which servers write for empty fields such as the creationTimestamp of a pod template.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, e any) bool { return e == nil })
		for _, e := range v {
			dropNulls(e)
		}
	case []any:
		for _, e := range v {
			dropNulls(e)
		}
	}
}

// KindOf reads the group, version and kind of an object.
func KindOf(body *structpb.Struct) schema.GroupVersionKind {
	f := body.GetFields()
	return schema.FromAPIVersionAndKind(f["apiVersion"].GetStringValue(), f["kind"].GetStringValue())
}

func kindOf(body encoded.Struct) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(body.At("apiVersion").Text(), body.At("kind").Text())
}
