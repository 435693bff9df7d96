// Package function runs the composition of one kind: decode, observe, derive, compute, respond. A Kind contains the parts that differ
// between kinds.
package function

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Input contains the data that a kind derives its model from.
type Input[X any] struct {
	// XR is the composite resource.
	XR X
	// Claim is the claim of the composite resource; its name is empty if it has none.
	Claim Claim
	// Channel contains the labels of the Composition revisions that the composite resource selects; empty if it selects none.
	Channel map[string]string
	// Observed contains the observed composed resources.
	Observed observe.State
	// Required contains the resources that the Composition or the kind requires, by requirement name. A missing name was not requested
	// yet; an empty list was requested and does not exist.
	Required map[string][]*structpb.Struct
}

// Claim names a claim.
type Claim struct {
	Namespace, Name string
}

// Kind contains the parts of a composition function that are specific to one kind.
type Kind[X, M any] struct {
	// Graph lists the components of the kind.
	Graph compose.Graph[M]
	// Rules contains the readiness rules of the composed kinds.
	Rules ready.Rules
	// Requires returns the resources that the kind requires in addition to the ones of its Composition, by requirement name. It may depend
	// on resources that were already found. Derive is not called before Crossplane has looked for each of them. Nil: none.
	Requires func(Input[X]) map[string]wire.Selector
	// Derive returns the model that builders read, with names, endpoints, images and releases. It returns an error for an invalid spec.
	Derive func(Input[X]) (M, error)
	// Target returns the clusters and names for composed objects.
	Target func(M) respond.Target
	// Status returns the status of the composite resource.
	Status func(M, compose.Plan) any
	// AdvisoryConditions lists conditions that block no component, for example on externally managed nodes.
	AdvisoryConditions []AdvisoryCondition[M]
}

// AdvisoryCondition is a condition on something that is not composed. It blocks no component and does not affect Ready.
type AdvisoryCondition[M any] struct {
	// Type of the condition.
	Type string
	// Former is the previous type of the condition, if it was renamed. It is set to Unknown in composite resources that still have it.
	Former string
	// Verdict returns the state of the condition. An empty reason removes the condition.
	Verdict func(M) ready.Result
}

// conditionTypes returns the types of the conditions that are specific to the kind.
func (k Kind[X, M]) conditionTypes() []string {
	out := k.Graph.ConditionTypes()
	for _, r := range k.AdvisoryConditions {
		out = append(out, r.Type)
	}
	return out
}

// Runner composes one kind.
type Runner interface {
	// Run handles one request.
	Run(req *wire.Request) *wire.Response
	// Explain handles one request and also returns the plan. An error describes an invalid request; a response may be returned together
	// with it, based on the last valid spec.
	Explain(req *wire.Request) (*wire.Response, compose.Plan, error)
}

// Run handles one request. It never panics: it reports a bug as an error, so that Crossplane deletes nothing.
func (k Kind[X, M]) Run(req *wire.Request) (rsp *wire.Response) {
	defer func() {
		if r := recover(); r != nil {
			rsp = respond.Fatal(req, fmt.Errorf("cannot compose: %v; this is a bug of the function", r), k.conditionTypes()...)
		}
	}()
	rsp, _, err := k.Explain(req)
	if rsp == nil {
		return respond.Fatal(req, err, k.conditionTypes()...)
	}
	return rsp
}

// Explain handles one request and also returns the plan.
//
// It returns an error for a spec that the tenant has to fix. It then composes the last valid spec, so that running workloads are still
// repaired and rotated, and the deletion policy can still be changed. Without one, or if it is not valid any more, it returns no
// response, and Run turns the error into a fatal result.
func (k Kind[X, M]) Explain(req *wire.Request) (*wire.Response, compose.Plan, error) {
	composed, err := k.compose(req, req.Composite)
	switch {
	case err == nil && composed.incomplete:
		return respond.RequireResources(req, composed.requirements), compose.Plan{}, nil
	case err == nil:
		return composed.withAdvisoryConditions(req, respond.Success(req, composed.plan, composed.place, composed.status)), composed.plan, nil
	}
	last, ok := asLastValid(req.Composite)
	if !invalid.Is(err) || !ok {
		return nil, compose.Plan{}, err
	}
	held, lastErr := k.compose(req, last)
	if lastErr != nil {
		return nil, compose.Plan{}, err
	}
	// Each response requires the resources of both specs. Otherwise each call would get only the resources of the other spec.
	held.requirements = both(held.requirements, composed.requirements)
	if held.incomplete {
		return respond.RequireResources(req, held.requirements), compose.Plan{}, nil
	}
	return held.withAdvisoryConditions(req, respond.Invalid(req, held.plan, held.place, held.status, err)), held.plan, err
}

// composition is the result of composing a composite resource.
type composition struct {
	plan     compose.Plan
	place    respond.Target
	status   encoded.Struct
	advisory []respond.AdvisoryCondition
	// requirements are the required resources. incomplete: Crossplane has not looked for all of them yet, so nothing else is set.
	requirements map[string]wire.Selector
	incomplete   bool
}

// withAdvisoryConditions adds the requirements and the advisory conditions to a response. A response with fewer requirements than the
// previous one would be requested again.
func (c composition) withAdvisoryConditions(req *wire.Request, rsp *wire.Response) *wire.Response {
	rsp.Requirements = c.requirements
	return respond.WithAdvisoryConditions(req, rsp, c.advisory...)
}

// compose composes one composite resource with the rest of the request.
func (k Kind[X, M]) compose(req *wire.Request, composite *structpb.Struct) (composition, error) {
	in := Input[X]{Required: req.Required, Claim: claim(composite), Channel: channel(composite)}
	read := withoutUnusedFields(composite)
	if err := Decode(read, &in.XR); err != nil {
		// A status that cannot be read, such as one of another version, is no reason to stop: it is rewritten.
		in.XR = *new(X)
		if err := Decode(without(read, "status"), &in.XR); err != nil {
			return composition{}, fmt.Errorf("cannot read the composite resource: %w", err)
		}
	}
	SetDefaults(&in.XR)
	observed, err := observe.New(req.Observed)
	if err != nil {
		return composition{}, fmt.Errorf("cannot decode the observed state: %w", err)
	}
	observed = observed.WithClock(freshness.ReadClock(req.Required))
	in.Observed = observed
	requirements, queries := k.requirements(in)
	if queries {
		return composition{requirements: requirements, incomplete: true}, nil
	}
	m, err := k.Derive(in)
	if err != nil {
		return composition{requirements: requirements}, err
	}
	place := k.Target(m)
	plan, err := k.Graph.Compute(m, observed, k.Rules, place.Reference)
	if err != nil {
		return composition{requirements: requirements}, err
	}
	if err := place.CheckClusters(plan, observed); err != nil {
		return composition{requirements: requirements}, err
	}
	status, err := encode.Struct(k.Status(m, plan))
	if err != nil {
		return composition{}, fmt.Errorf("cannot write the status: %w", err)
	}
	if policy := respond.DeletionPolicy(plan, place); policy != "" {
		status = status.With(encoded.Text(policy), "deletionPolicy")
	}
	if oldest := observed.OldestObservation(); !oldest.IsZero() {
		status = status.With(encoded.Text(oldest.Format(time.RFC3339)), freshness.Field)
	}
	if spec := encoded.Of(specWithoutCrossplane(composite)); len(spec) <= maxLastValidSpec {
		status = status.With(spec.Value(), lastValidSpec)
	}
	out := composition{plan: plan, place: place, status: status, requirements: requirements}
	for _, r := range k.AdvisoryConditions {
		out.advisory = append(out.advisory, respond.AdvisoryCondition{Type: r.Type, Verdict: r.Verdict(m)})
		if r.Former != "" {
			out.advisory = append(out.advisory, respond.AdvisoryCondition{Type: r.Former})
		}
	}
	return out, nil
}

// both returns the union of two sets of requirements. If a name is in both, the first wins.
func both(first, second map[string]wire.Selector) map[string]wire.Selector {
	if len(second) == 0 {
		return first
	}
	out := maps.Clone(second)
	maps.Copy(out, first)
	return out
}

// requirements returns the resources that the kind requires, and reports whether Crossplane has not looked for some of them yet.
func (k Kind[X, M]) requirements(in Input[X]) (out map[string]wire.Selector, queries bool) {
	if k.Requires == nil {
		return nil, false
	}
	out = k.Requires(in)
	for name := range out {
		if _, found := in.Required[name]; !found {
			queries = true
		}
	}
	return out, queries
}

// withoutUnusedFields returns a composite resource without the large fields that no kind reads.
func withoutUnusedFields(composite *structpb.Struct) *structpb.Struct {
	for field, name := range map[string]string{"metadata": "managedFields", "status": lastValidSpec} {
		if inside := composite.GetFields()[field].GetStructValue(); inside != nil {
			composite = with(composite, field, structpb.NewStructValue(without(inside, name)))
		}
	}
	return composite
}

func without(s *structpb.Struct, key string) *structpb.Struct {
	out := &structpb.Struct{Fields: maps.Clone(s.GetFields())}
	delete(out.GetFields(), key)
	return out
}

// Decode decodes a protobuf struct into a Go value by its JSON form.
func Decode(s *structpb.Struct, into any) error {
	return json.Unmarshal(appendObject(nil, s), into)
}

// claim returns the reference that Crossplane writes. It ignores labels, because Crossplane copies tenants' labels to the composite
// resource.
func claim(xr *structpb.Struct) Claim {
	ref := xr.GetFields()["spec"].GetStructValue().GetFields()["claimRef"].GetStructValue().GetFields()
	return Claim{Namespace: ref["namespace"].GetStringValue(), Name: ref["name"].GetStringValue()}
}

// channel returns the labels in spec.compositionRevisionSelector of a composite resource with a claim.
func channel(xr *structpb.Struct) map[string]string {
	selector := xr.GetFields()["spec"].GetStructValue().GetFields()["compositionRevisionSelector"].GetStructValue().GetFields()
	labels := selector["matchLabels"].GetStructValue().GetFields()
	if len(labels) == 0 {
		return nil
	}
	out := make(map[string]string, len(labels))
	for k, v := range labels {
		out[k] = v.GetStringValue()
	}
	return out
}
