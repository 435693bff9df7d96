package plan

import (
	"encoding/json"
	"io"
)

// JSONVersion is the version of the JSON output. Fields may be added; changing or removing one requires a new version.
const JSONVersion = "plan.cobaltcore.c5c3.io/v1"

type jsonPlan struct {
	APIVersion string        `json:"apiVersion"`
	Changed    bool          `json:"changed"`
	Summary    jsonSummary   `json:"summary"`
	Verdicts   []jsonVerdict `json:"verdicts"`
	Claims     []jsonClaim   `json:"claims"`
	Drift      *jsonDrift    `json:"drift,omitempty"`
}

// jsonDrift has at most maxDrift objects of the total number.
type jsonDrift struct {
	Total   int               `json:"total"`
	Objects []jsonDriftObject `json:"objects"`
}

type jsonDriftObject struct {
	Type     Action      `json:"type"`
	Resource jsonObject  `json:"resource"`
	Diff     []jsonField `json:"diff"`
	Reason   string      `json:"reason,omitempty"`
}

// jsonObject is an object with the claim that owns it.
type jsonObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Cluster    string `json:"cluster,omitempty"`
	Owner      string `json:"owner"`
}

type jsonSummary struct {
	Create   int `json:"create"`
	Change   int `json:"change"`
	Replace  int `json:"replace"`
	Delete   int `json:"delete"`
	Retain   int `json:"retain"`
	Rollouts int `json:"rollouts"`
}

type jsonVerdict struct {
	Subject string         `json:"subject"`
	Claim   *jsonReference `json:"claim,omitempty"`
	Level   Level          `json:"level"`
	Reasons []jsonReason   `json:"reasons"`
}

type jsonReference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type jsonReason struct {
	Level    Level  `json:"level"`
	Rule     string `json:"rule,omitempty"`
	Object   string `json:"object,omitempty"`
	Text     string `json:"text"`
	Duration string `json:"duration,omitempty"`
	Source   string `json:"source,omitempty"`
}

type jsonClaim struct {
	jsonReference

	Action   Action         `json:"action"`
	Changes  []jsonChange   `json:"changes"`
	Restarts []jsonRestart  `json:"restarts"`
	Capacity []jsonCapacity `json:"capacity"`
}

// jsonChange has the parts of a change in Crossplane's design of a simulation: a type, a resource and a difference.
type jsonChange struct {
	Type     Action       `json:"type"`
	Resource jsonResource `json:"resource"`
	Diff     []jsonField  `json:"diff"`
	Reason   string       `json:"reason,omitempty"`
}

type jsonResource struct {
	jsonObject

	Component string `json:"component"`
	Composite bool   `json:"composite"`
}

type jsonField struct {
	Path      string  `json:"path"`
	Old       *string `json:"old,omitempty"`
	New       *string `json:"new,omitempty"`
	Immutable bool    `json:"immutable,omitempty"`
}

type jsonRestart struct {
	Stage     int      `json:"stage"`
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Owner     string   `json:"owner"`
	Component string   `json:"component"`
	Pods      int64    `json:"pods"`
	PerNode   bool     `json:"perNode"`
	Overlap   Overlap  `json:"overlap"`
	Causes    []string `json:"causes"`
}

type jsonCapacity struct {
	Resource string `json:"resource"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Limit    string `json:"limit,omitempty"`
}

// json writes the plan as JSON.
func (p *Plan) json(w io.Writer) error {
	n, rollouts := counts(p.Claims)
	out := jsonPlan{
		APIVersion: JSONVersion, Changed: p.Changed(), Verdicts: []jsonVerdict{}, Claims: []jsonClaim{},
		Summary: jsonSummary{n[ActionCreate], n[ActionChange], n[ActionReplace], n[ActionDelete], n[ActionRetain], rollouts},
	}
	for _, v := range p.Verdicts {
		j := jsonVerdict{Subject: v.Subject, Level: v.Level}
		if v.Claim.Known() {
			ref := jsonReference(v.Claim)
			j.Claim = &ref
		}
		for _, r := range v.Reasons {
			j.Reasons = append(j.Reasons, jsonReason(r))
		}
		out.Verdicts = append(out.Verdicts, j)
	}
	for _, c := range p.Claims {
		out.Claims = append(out.Claims, c.json())
	}
	if p.Drift != nil {
		out.Drift = p.jsonDrift()
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func (c Claim) json() jsonClaim {
	out := jsonClaim{
		jsonReference: jsonReference(c.Identity), Action: c.Action,
		Changes: []jsonChange{}, Restarts: []jsonRestart{}, Capacity: []jsonCapacity{},
	}
	for _, x := range c.Changes {
		j := jsonChange{Type: x.Action, Reason: x.Reason, Diff: []jsonField{}, Resource: jsonResource{
			jsonObject{x.APIVersion, x.Kind, x.Namespace, x.Name, x.Cluster, x.Owner}, x.Component, x.Composite,
		}}
		for _, f := range x.Fields {
			j.Diff = append(j.Diff, jsonField(f))
		}
		out.Changes = append(out.Changes, j)
	}
	for _, r := range c.Restarts {
		out.Restarts = append(out.Restarts, jsonRestart{
			r.Stage, r.Kind, r.Namespace, r.Name, r.Owner, r.Component, r.Pods, r.PerNode, r.Overlap, r.Causes,
		})
	}
	for _, x := range c.Capacity {
		out.Capacity = append(out.Capacity, jsonCapacity(x))
	}
	return out
}

// jsonDrift returns the drift; it is empty, and not nil, if a cluster without drift was compared.
func (p *Plan) jsonDrift() *jsonDrift {
	out := &jsonDrift{Total: len(p.Drift), Objects: []jsonDriftObject{}}
	shown, _ := p.shownDrift()
	for _, d := range shown {
		j := jsonDriftObject{Type: d.Action, Reason: d.Reason, Diff: []jsonField{}, Resource: jsonObject{
			d.APIVersion, d.Kind, d.Namespace, d.Name, d.Cluster, d.Owner,
		}}
		for _, f := range d.Fields[:min(len(d.Fields), maxDriftFields)] {
			j.Diff = append(j.Diff, jsonField(f))
		}
		out.Objects = append(out.Objects, j)
	}
	return out
}
