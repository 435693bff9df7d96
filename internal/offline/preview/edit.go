package preview

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// Revision is a desired state of an object that a call of a function has added or changed.
type Revision struct {
	// Stage counts the calls of functions that changed something, from 1.
	Stage int
	// Old is the previous desired state; nil if the object was added.
	Old *Object
	New Object
}

// RunEdit previews a change of an existing, ready claim, old: it also rejects changes of immutable fields. A nil old means a new claim.
func RunEdit(old, claim, platform []byte, kinds map[string]function.Runner) (*Result, error) {
	if old == nil {
		return Run(claim, platform, kinds)
	}
	if _, _, err := clusterFor(claim, platform, kinds); err != nil {
		return nil, err // The errors of the new claim and of the platform come first.
	}
	previous, err := Run(old, platform, kinds)
	if err != nil {
		return nil, from(SourceOldClaim, err)
	}
	r, _, err := previous.Edit(nil, claim, platform)
	return r, err
}

// Edit previews a change of a claim whose objects are ready: the new claim is composed over them, as by a cluster. existing are other
// claims, to which it may refer. It returns the result, and each state that an object has on the way, in order. It returns
// ValidationErrors if the new claim is invalid, or changes an immutable field. The previous result does not change.
func (r *Result) Edit(existing []*structpb.Struct, claim, platform []byte) (*Result, []Revision, error) {
	w, c, err := clusterFor(claim, platform, r.kinds)
	if err != nil {
		return nil, nil, err
	}
	if err := r.allows(claim, c); err != nil {
		return nil, nil, err
	}
	edited := r.cluster.Clone(nil)
	edited.Edit = true
	edited.XR.Fields["spec"], edited.Required, edited.Nested, edited.Admit = w.XR.GetFields()["spec"], w.Required, w.Nested, w.Admit
	edited.Replace(existing)
	out := &Result{
		Kind: r.Kind, Name: r.Name, Namespace: r.Namespace, cluster: edited, claim: c, kinds: r.kinds,
		Objects: append([]Object(nil), r.Objects...), Components: append([]Component(nil), r.Components...), Stages: r.Stages,
	}
	t := newTracker(r.Objects)
	call := edited.Run
	if r.otherVersion || composesClaims(c) {
		call = edited.Refresh // Run calls only functions of composite resources that change. The platform may have changed, too.
	}
	err = out.compose(claim, func() error {
		return call(func(s simulate.Step) {
			out.add(s)
			t.add(s)
		})
	})
	if err != nil {
		return nil, nil, err
	}
	return out, t.revisions, nil
}

// allows returns an error if another version of a claim is not an allowed edit: of another claim, or of an immutable field.
func (r *Result) allows(doc []byte, claim map[string]any) error {
	if a, b := input(r.claim), input(claim); a != b || str(metadata(r.claim)["namespace"]) != str(metadata(claim)["namespace"]) {
		return from(SourceOldClaim, newError("the old claim",
			"metadata: is %s in namespace %s, but the new claim is %s in %s; pass two versions of one claim",
			a, str(metadata(r.claim)["namespace"]), b, str(metadata(claim)["namespace"])))
	}
	v, err := definition.Validator(str(claim["apiVersion"]), str(claim["kind"]))
	if err != nil {
		return fmt.Errorf("cannot check %s: %w", input(claim), err)
	}
	if errs := v.ValidateUpdate(claim, r.claim); len(errs) > 0 {
		return newSchemaErrors(v, doc, input(claim), errs)
	}
	return nil
}

// tracker collects the revisions of objects.
type tracker struct {
	stage     int
	current   map[string]Object // by owner and resource
	revisions []Revision
}

func newTracker(objects []Object) *tracker {
	t := &tracker{current: make(map[string]Object, len(objects))}
	for _, o := range objects {
		t.current[o.key()] = o
	}
	return t
}

// key identifies a composed resource.
func (o Object) key() string { return o.Owner + "/" + o.Resource }

// add adds the objects that a call has added or changed, in the order of the plan.
func (t *tracker) add(s simulate.Step) {
	changed := map[string]bool{}
	for _, name := range append(append([]string(nil), s.New...), s.Changed...) {
		changed[name] = true
	}
	t.stage++
	for _, part := range s.Plan.Parts {
		for _, i := range part.Items {
			if !changed[i.Name] {
				continue
			}
			o := Object{Stage: t.stage, Component: componentName(s, part), Owner: s.Owner, Resource: i.Name}.with(s.Response.Composed[i.Name].Object)
			revision := Revision{Stage: t.stage, New: o}
			if old, ok := t.current[o.key()]; ok && !bytes.Equal(old.desired, o.desired) {
				revision.Old = &old
			}
			t.current[o.key()] = o
			t.revisions = append(t.revisions, revision)
		}
	}
}

// Same reports whether two objects have the same desired state.
func (o Object) Same(other Object) bool { return bytes.Equal(o.desired, other.desired) }
