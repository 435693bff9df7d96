// Package function runs one kind's composition: decode, observe, derive, compute, respond, in a straight line. A kind says
// what is its own in a Kind; everything else is here once.
package function

import (
	"encoding/json"
	"fmt"
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Input is what a kind derives its model from.
type Input[X any] struct {
	// XR is the composite resource.
	XR X
	// Claim is the claim that the composite resource was made for; its name is empty where there is none.
	Claim Claim
	// Channel are the labels of the Composition's revisions that the composite resource is bound to; empty where it is not.
	Channel map[string]string
	// Observed are the composed resources as they are observed.
	Observed observe.State
	// Required are the resources that the Composition or the kind itself asks for, by requirement name. A name that is missing was not asked
	// for; an empty list was asked for and does not exist.
	Required map[string][]*structpb.Struct
}

// Claim names a claim.
type Claim struct {
	Namespace, Name string
}

// Kind is what is a kind's own.
type Kind[X, M any] struct {
	// Graph is the kind's table of components.
	Graph compose.Graph[M]
	// Requires are the resources that the kind asks for besides those of its Composition, by requirement name, as far as is known by those
	// that are there: one may name the next. Nothing is derived before each of them was looked for. Nil: none.
	Requires func(Input[X]) map[string]wire.Selector
	// Derive makes the model that builders read: names, endpoints, images, releases, each once. It refuses what is wrong.
	Derive func(Input[X]) (M, error)
	// Target says where the objects live.
	Target func(M) respond.Target
	// Status is the composite resource's status.
	Status func(M, compose.Plan) any
	// AdvisoryConditions are conditions on what nobody waits for, such as nodes that somebody else looks after.
	AdvisoryConditions []AdvisoryCondition[M]
}

// AdvisoryCondition is a condition on something that is no part of what is composed: it makes nothing wait, and nothing Ready or not.
type AdvisoryCondition[M any] struct {
	// Type of the condition.
	Type string
	// Verdict is what it says. Without a reason there is nothing to say.
	Verdict func(M) ready.Result
}

// conditionTypes are those of all conditions that the kind's function sets, besides those of all kinds.
func (k Kind[X, M]) conditionTypes() []string {
	out := k.Graph.ConditionTypes()
	for _, r := range k.AdvisoryConditions {
		out = append(out, r.Type)
	}
	return out
}

// Runner composes one kind.
type Runner interface {
	// Run serves one request.
	Run(req *wire.Request) *wire.Response
	// Explain serves one request and shows the plan behind the response. An error says what is wrong with the request; there may be a
	// response besides, of the last spec that was valid.
	Explain(req *wire.Request) (*wire.Response, compose.Plan, error)
}

// Run serves one request. It never panics: a mistake of ours is an error like any other, so that nothing is deleted by it.
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

// Explain serves one request and shows the plan behind the response.
//
// A spec that a tenant has to fix is an error. What the last valid one says is composed then, so that what runs is healed and rotated,
// and can still be told to keep its data; if there is none, or it is not valid any more, there is no response. Run makes a fatal one of
// the error.
func (k Kind[X, M]) Explain(req *wire.Request) (*wire.Response, compose.Plan, error) {
	composed, err := k.compose(req, req.Composite)
	switch {
	case err == nil && composed.asks:
		return respond.RequireResources(req, composed.requirements), compose.Plan{}, nil
	case err == nil:
		return composed.withAdvisoryConditions(req, respond.Success(req, composed.plan, composed.place, composed.status)), composed.plan, nil
	}
	last, ok := asLastValid(req.Composite)
	if !invalid.Is(err) || !ok {
		return nil, compose.Plan{}, err
	}
	held, again := k.compose(req, last)
	if again != nil {
		return nil, compose.Plan{}, err
	}
	// Both specs are looked at in each call: an answer that asked for what one of them names would not have what the other one does.
	held.requirements = both(held.requirements, composed.requirements)
	if held.asks {
		return respond.RequireResources(req, held.requirements), compose.Plan{}, nil
	}
	return held.withAdvisoryConditions(req, respond.Invalid(req, held.plan, held.place, held.status, err)), held.plan, err
}

// composition is what becomes of a composite resource.
type composition struct {
	plan    compose.Plan
	place   respond.Target
	status  encoded.Struct
	remarks []respond.Remark
	// requirements are what is asked for. Asks: not all of it was looked for yet, so that there is nothing else.
	requirements map[string]wire.Selector
	asks         bool
}

// withAdvisoryConditions is a response with what all of them have besides: one that asks for less than the one before would be asked again.
func (c composition) withAdvisoryConditions(req *wire.Request, rsp *wire.Response) *wire.Response {
	rsp.Requirements = c.requirements
	return respond.WithAdvisoryConditions(req, rsp, c.remarks...)
}

// compose says what becomes of a composite resource, given all else that is requested.
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
	observed, err := observe.New(req.Observed)
	if err != nil {
		return composition{}, fmt.Errorf("cannot read what is observed: %w", err)
	}
	in.Observed = observed
	requirements, queries := k.requirements(in)
	if queries {
		return composition{requirements: requirements, asks: true}, nil
	}
	m, err := k.Derive(in)
	if err != nil {
		return composition{requirements: requirements}, err
	}
	place := k.Target(m)
	plan, err := k.Graph.Compute(m, observed, place.Reference)
	if err != nil {
		return composition{requirements: requirements}, err
	}
	status, err := encode.Struct(k.Status(m, plan))
	if err != nil {
		return composition{}, fmt.Errorf("cannot write the status: %w", err)
	}
	if policy := respond.DeletionPolicy(plan, place); policy != "" {
		status = status.With(encoded.Text(policy), "deletionPolicy")
	}
	if spec := encoded.Of(specWithoutCrossplane(composite)); len(spec) <= maxLastValidSpec {
		status = status.With(spec.Value(), lastValidSpec)
	}
	out := composition{plan: plan, place: place, status: status, requirements: requirements}
	for _, r := range k.AdvisoryConditions {
		out.remarks = append(out.remarks, respond.Remark{Type: r.Type, Verdict: r.Verdict(m)})
	}
	return out, nil
}

// both are two sets of requirements as one. What has the same name in both is the same, or the first.
func both(first, second map[string]wire.Selector) map[string]wire.Selector {
	if len(second) == 0 {
		return first
	}
	out := maps.Clone(second)
	maps.Copy(out, first)
	return out
}

// requirements are what the kind asks for, and whether some of it was not looked for yet.
func (k Kind[X, M]) requirements(in Input[X]) (out map[string]wire.Selector, queries bool) {
	if k.Requires == nil {
		return nil, false
	}
	out = k.Requires(in)
	for name := range out {
		if _, looked := in.Required[name]; !looked {
			queries = true
		}
	}
	return out, queries
}

// withoutUnusedFields is a composite resource without what no kind reads, and is most of it.
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

// Decode reads a protobuf struct into a Go value by its JSON form.
func Decode(s *structpb.Struct, into any) error {
	return json.Unmarshal(appendObject(nil, s), into)
}

// claim reads the reference that Crossplane writes. Labels are not read: a tenant's are copied to the composite resource.
func claim(xr *structpb.Struct) Claim {
	ref := xr.GetFields()["spec"].GetStructValue().GetFields()["claimRef"].GetStructValue().GetFields()
	return Claim{Namespace: ref["namespace"].GetStringValue(), Name: ref["name"].GetStringValue()}
}

// channel reads the selector of a claimed composite resource, whose fields for Crossplane are in its spec.
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
