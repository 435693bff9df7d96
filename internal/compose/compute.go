package compose

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/encoded"
	"github.com/c5c3/crossplane-cobaltcore/internal/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/ready"
)

// HashAnnotation holds the hash of an object as it was desired when it was applied.
const HashAnnotation = "crossplane.c5c3.io/hash"

// Compute says what must exist now, given the model and what is observed.
//
// Errors are those of builders, and mistakes of ours: an object without a readiness rule, two resources of one name.
func (g Graph[M]) Compute(m M, seen observe.State) (Plan, error) {
	p := planner{
		seen: seen, names: map[string]bool{}, ready: map[string]bool{}, exists: map[string]bool{}, revisions: map[string]Item{},
	}
	for _, c := range g {
		if !c.enabled(m) {
			// What is switched off holds nobody up.
			p.ready[c.Name], p.exists[c.Name] = true, true
			continue
		}
		stages, err := c.Build(m)
		if err != nil {
			return Plan{}, fmt.Errorf("cannot compose %s: %w", c.Name, err)
		}
		part := Part{Name: c.Name, Phase: c.Phase, After: slices.Concat(c.Needs, c.Follows)}
		if c.Version != nil {
			part.Version = c.Version(m)
		}
		part.Needs = append(missing(p.ready, c.Needs), missing(p.exists, c.Follows)...)
		if err := p.stages(&part, stages); err != nil {
			return Plan{}, fmt.Errorf("cannot compose %s: %w", c.Name, err)
		}
		p.ready[c.Name], p.exists[c.Name] = part.IsReady(), part.Exists()
		p.plan.Parts = append(p.plan.Parts, part)
	}
	if err := p.keepRevisions(); err != nil {
		return Plan{}, err
	}
	return p.plan, nil
}

// planner is one run of Compute.
type planner struct {
	seen          observe.State
	plan          Plan
	names         map[string]bool // of every wanted resource, desired now or not
	ready, exists map[string]bool // by component; what is switched off is both
	revisions     map[string]Item // by what the names of all revisions share: the wanted one
}

// missing gives the components that are not among those that have what is asked for.
func missing(have map[string]bool, wanted []string) []string {
	var out []string
	for _, n := range wanted {
		if !have[n] {
			out = append(out, n)
		}
	}
	return out
}

// stages opens one stage after the other.
func (p *planner) stages(part *Part, stages []Stage) error {
	open := len(part.Needs) == 0
	for _, stage := range stages {
		stageReady := true
		for _, r := range stage {
			item, err := p.item(r)
			if err != nil {
				return err
			}
			part.Total++
			if item.Observed || open {
				part.Items = append(part.Items, item)
			}
			if item.Verdict.Ready {
				part.Ready++
			} else {
				stageReady = false
			}
		}
		open = open && stageReady
	}
	return nil
}

// item encodes a resource and gives the verdict on what is observed of it.
func (p *planner) item(r Resource) (Item, error) {
	if r.Name == "" || p.names[r.Name] {
		return Item{}, fmt.Errorf("resource name %q is empty or used twice", r.Name)
	}
	p.names[r.Name] = true
	body, err := encode.Object(r.Object)
	if err != nil {
		return Item{}, fmt.Errorf("cannot encode %s: %w", r.Name, err)
	}
	item := Item{Name: r.Name, Retain: r.Retain, Management: r.Management, Kind: kindOf(body)}
	rule, ok := ready.For(item.Kind.GroupKind())
	if !ok && r.Ready == nil {
		return Item{}, fmt.Errorf("%s has no readiness rule for its kind %s", r.Name, item.Kind.GroupKind())
	}
	item.Rule = rule
	check := rule.Check
	if r.Ready != nil {
		check = r.Ready
	}
	hash := body.Hash()
	item.Body = body.With(encoded.Text(hash), "metadata", "annotations", HashAnnotation)
	seen, ok := p.seen.Get(r.Name)
	item.Observed = ok
	item.Verdict = verdict(seen, ok, hash, check)
	if ok {
		item.Since, item.Fate = seen.Since(), fate(item, seen)
	}
	if r.Revisions != "" {
		p.revisions[r.Revisions] = item
	}
	return item, nil
}

// verdict is invariant 6: of today's wish, at its current generation, and done.
func verdict(o *observe.Object, observed bool, hash string, check ready.Check) ready.Verdict {
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
	if o.Annotation(HashAnnotation) != hash {
		return ready.Wait("Outdated", "the last change of it is not applied yet")
	}
	return check(o)
}

// wrapper checks that an Object has applied what it was told last.
func wrapper(w *observe.Object) ready.Verdict {
	c, ok := w.Condition("Synced")
	switch {
	case !ok:
		return ready.Wait("NotApplied", "it is not in its cluster yet")
	case c.Status != "True":
		return ready.Wait(cmp.Or(c.Reason, "NotApplied"), "%s", cmp.Or(c.Message, "it cannot be written to its cluster"))
	case c.ObservedGeneration != 0 && c.ObservedGeneration != w.Generation():
		return ready.Wait("Outdated", "the last change of it is not applied yet")
	}
	return ready.Yes
}

// keepRevisions keeps older revisions desired while anything is not ready, each composed as the wanted one is. One that cannot be
// composed again is an error: left out, it would be deleted.
func (p *planner) keepRevisions() error {
	if len(p.revisions) == 0 || p.plan.Ready() {
		return nil
	}
	for _, name := range p.seen.Names() {
		wanted, ok := p.revision(name)
		if !ok || p.names[name] {
			continue
		}
		o, _ := p.seen.Get(name)
		body, err := asDesired(o)
		if err != nil {
			return fmt.Errorf("cannot keep the older revision %s: %w", name, err)
		}
		item := Item{
			Name: name, Body: body, Kind: kindOf(body), Rule: wanted.Rule, Retain: wanted.Retain, Management: wanted.Management,
			Observed: true, Verdict: ready.Yes,
		}
		item.Fate = fate(item, o)
		p.plan.Kept = append(p.plan.Kept, item)
	}
	return nil
}

// revision gives the wanted revision of what a name is a revision of.
func (p *planner) revision(name string) (Item, bool) {
	for _, prefix := range slices.Sorted(maps.Keys(p.revisions)) {
		if strings.HasPrefix(name, prefix+"-") {
			return p.revisions[prefix], true
		}
	}
	return Item{}, false
}

// asDesired is an observed object without what its server owns. A wrapper holds it as it was desired, seen or not.
func asDesired(o *observe.Object) (encoded.Struct, error) {
	full := o.Full()
	if o.Wrapped() {
		full = o.Wrapper().Map("spec", "forProvider", "manifest")
	}
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
	// Crossplane sets these anew.
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
	dropGenerated(full)
	return encode.Struct(full)
}

// dropGenerated takes away by what a Job finds its pods, which its API server generates and then neither lets go nor generates again. Who
// applies it once owns it, and takes it away with the next apply that does not name it: the Job could never be written again.
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#specifying-your-own-pod-selector
func dropGenerated(full map[string]any) {
	if full["apiVersion"] != "batch/v1" || full["kind"] != "Job" {
		return
	}
	unstructured.RemoveNestedField(full, "spec", "selector")
	for _, label := range []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel} {
		unstructured.RemoveNestedField(full, "spec", "template", "metadata", "labels", label)
	}
}

// dropNulls takes away what servers write where there is nothing, such as a pod template's creationTimestamp.
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
