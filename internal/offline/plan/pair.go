// Package plan predicts the effect of edited claims on a running cloud, without a cluster: it composes the claims before the edit until
// everything is ready, composes the claims after it over the same objects, and derives restarts, capacity and interruptions from the
// objects of both.
package plan

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// Document is a claim or a PlatformConfig of the input.
type Document struct {
	preview.Identity

	// File is its file; empty for standard input.
	File string
	Data []byte

	// Live means that the document was read from a cluster: its lines are not in a file of the user.
	Live bool
	// Instance is the name of the claim's instance in the cluster; empty: it follows from the name of the claim.
	Instance string
}

// Input contains all claims of one side, in the order of their references, and the PlatformConfig.
type Input struct {
	Claims   []Document
	Platform Document
}

// pair is a claim before and after the edit. One of both is nil for a claim that is created or deleted.
type pair struct {
	id            preview.Identity
	before, after *preview.Result
	// revisions are the states of objects on the way from before to after, in order.
	revisions []preview.Revision
	// composes reports whether an object belongs to the claim, if a function composes the claim.
	composes func(preview.Object) bool
}

// Plan is the predicted effect of an edit.
type Plan struct {
	// Claims in the order of their references; deleted ones last.
	Claims []Claim
	// Verdicts of all services, and of servers.
	Verdicts []Verdict
	// Drift lists objects of a cluster that differ from the composed ones. Nil: no cluster was compared.
	Drift []Drift
}

// Claim is the predicted effect on the objects of one claim.
type Claim struct {
	preview.Identity

	// Action is ActionCreate, ActionChange, ActionDelete, or ActionNone.
	Action   Action
	Changes  []Change
	Restarts []Restart
	// Capacity before and after the edit.
	Capacity []Capacity
}

// Changed reports whether the edit changes any object.
func (p *Plan) Changed() bool {
	return slices.ContainsFunc(p.Claims, func(c Claim) bool { return c.Action != ActionNone })
}

// Cloud is a set of claims whose objects are ready.
type Cloud struct {
	claims Input
	before map[preview.Identity]*preview.Result
	kinds  map[string]function.Runner
}

// Run returns the plan for the edit from one set of claims to another, with the functions of composite resources by "<Kind>.<group>". It
// returns the errors of Compose and Plan.
func Run(before, after Input, kinds map[string]function.Runner) (*Plan, error) {
	cloud, err := Compose(before, kinds)
	if err != nil {
		return nil, err
	}
	return cloud.Plan(after)
}

// Compose composes claims until everything is ready. It returns preview.ValidationErrors if a claim or the PlatformConfig is invalid; any
// other error is a bug.
func Compose(claims Input, kinds map[string]function.Runner) (*Cloud, error) {
	c := &Cloud{claims: claims, before: map[preview.Identity]*preview.Result{}, kinds: kinds}
	err := each(claims, preview.SourceOldClaim, func(d Document, existing []*structpb.Struct) (r *preview.Result, err error) {
		r, err = preview.RunInstance(existing, d.Data, claims.Platform.Data, d.Instance, kinds)
		c.before[d.Identity] = r
		return r, err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Plan returns the plan for an edit of the cloud, which it does not change. It returns preview.ValidationErrors if a claim or the
// PlatformConfig is invalid, or if an edit is not allowed; any other error is a bug.
func (c *Cloud) Plan(after Input) (*Plan, error) {
	pairs, err := c.compose(after)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	for _, pr := range pairs {
		claim := Claim{Identity: pr.id, Changes: changes(pr), Restarts: restarts(pr)}
		if claim.Capacity, err = capacity(pr, after.Platform.Data); err != nil {
			return nil, err
		}
		switch {
		case pr.before == nil:
			claim.Action = ActionCreate
		case pr.after == nil:
			claim.Action = ActionDelete
		case len(claim.Changes) > 0:
			claim.Action = ActionChange
		default:
			claim.Action = ActionNone
		}
		p.Claims = append(p.Claims, claim)
	}
	p.Verdicts = verdicts(pairs, p.Claims)
	return p, nil
}

// compose composes the claims after the edit over the objects of the cloud. Deleted claims are last.
func (c *Cloud) compose(after Input) ([]*pair, error) {
	var out []*pair
	err := each(after, preview.SourceClaim, func(d Document, existing []*structpb.Struct) (r *preview.Result, err error) {
		p := &pair{id: d.Identity, before: c.before[d.Identity]}
		if p.before == nil {
			p.after, err = preview.RunWithClaims(existing, d.Data, after.Platform.Data, c.kinds)
		} else {
			p.after, p.revisions, err = p.before.Edit(existing, d.Data, after.Platform.Data)
		}
		out = append(out, p)
		return p.after, err
	})
	if err != nil {
		return nil, err
	}
	for _, d := range c.claims.Claims {
		if !slices.ContainsFunc(out, func(p *pair) bool { return p.id == d.Identity }) {
			out = append(out, &pair{id: d.Identity, before: c.before[d.Identity]})
		}
	}
	var all []*pair
	for _, p := range out {
		all = append(all, p.parts()...)
	}
	return all, nil
}

// parts returns the pair, and the pairs of the claims that its function composes, in the order of their references.
func (p *pair) parts() []*pair {
	composed := map[preview.Identity]*pair{}
	var order []preview.Identity
	add := func(r *preview.Result, set func(*pair, *preview.Result)) {
		if r == nil {
			return
		}
		for _, part := range r.Parts() {
			id := preview.Identity{Kind: part.Kind, Namespace: part.Namespace, Name: part.Name}
			if composed[id] == nil {
				composed[id], order = &pair{id: id}, append(order, id)
			}
			set(composed[id], part)
			composed[id].composes = part.Composes
		}
	}
	add(p.after, func(to *pair, r *preview.Result) { to.after = r })
	add(p.before, func(to *pair, r *preview.Result) { to.before = r })
	if len(order) == 0 {
		return []*pair{p}
	}
	own := &pair{id: p.id}
	if p.before != nil {
		own.before = p.before.Own()
	}
	if p.after != nil {
		own.after = p.after.Own()
	}
	out := []*pair{own}
	for _, id := range order {
		out = append(out, composed[id])
	}
	for _, r := range p.revisions {
		i := slices.IndexFunc(order, func(id preview.Identity) bool { return composed[id].composes(r.New) })
		out[i+1].revisions = append(out[i+1].revisions, r) // -1: the object belongs to the claim itself.
	}
	return out
}

// each composes the claims of one side in order, together with the claims to which they may refer. It returns the errors of all claims.
func each(
	in Input, source preview.Source, compose func(Document, []*structpb.Struct) (*preview.Result, error),
) error {
	var existing []*structpb.Struct
	var used []preview.Usage
	var invalid []preview.Identity
	var errs []error
	for _, d := range in.Claims {
		r, err := compose(d, existing)
		if err == nil {
			own := r.Usage()
			if err = preview.Shared(used, own, d.Data); err == nil {
				existing, used = append(existing, r.Existing...), append(used, own)
				continue
			}
		}
		rejected := &preview.ValidationErrors{}
		if !errors.As(err, &rejected) {
			return err
		}
		if rejected.Source == preview.SourcePlatform {
			rejected.File = in.Platform.File
			return err // Every claim would have the same errors.
		}
		rejected.Source, rejected.File = source, d.File
		if d.Live {
			rejected.WithoutLines()
		}
		invalid = append(invalid, d.Identity)
		errs = append(errs, preview.WithoutReferences(err, invalid))
	}
	return errors.Join(errs...)
}
