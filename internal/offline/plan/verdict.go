package plan

import (
	"cmp"
	"slices"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// Level is the effect of an edit on the users of a service.
type Level string

// Levels, from the best to the worst. A subject has the worst level of its reasons.
const (
	NoInterruption Level = "no interruption"
	// Degraded: some operations are slower, wait, or can fail once.
	Degraded Level = "degraded"
	// Unknown: no rule covers a change.
	Unknown Level = "unknown"
	// Interrupted: some clients get no response for some time.
	Interrupted Level = "interrupted"
	// DataAtRisk: the edit deletes data, or leaves it with one copy.
	DataAtRisk Level = "data at risk"
)

var levels = []Level{NoInterruption, Degraded, Unknown, Interrupted, DataAtRisk}

// Verdict is the predicted effect on one service, on storage, or on the servers of all pools.
type Verdict struct {
	// Subject is the name of a service, "storage" or "servers".
	Subject string
	// Claim to which the subject belongs; empty for servers.
	Claim preview.Identity
	Level Level
	// Reasons with the worst level first. There is at least one.
	Reasons []Reason
}

// Reason is a part of a verdict.
type Reason struct {
	Level Level
	// Rule is the name of the rule. Empty: no rule applies.
	Rule string
	// Object is the kind and name of the object that causes it.
	Object string
	// Text explains the level.
	Text string
	// Duration describes who is affected for how long; empty unless the level is Degraded or Interrupted.
	Duration string
	// Source is the page of the documentation with the behavior or its measurement.
	Source string
}

// Subjects that are not services.
const (
	servers = "servers"
	storage = "storage"
)

// servicesOfParts contains the service of each kind that is a part of another service, by the folder of the kind.
var servicesOfParts = map[string]string{"catalog": "keystone", "novacell": "nova", "ovn": "neutron"}

// servicesByKind contains the service of each kind of composite resource: its folder, unless it is a part of another service.
var servicesByKind = func() map[string]string {
	out := map[string]string{}
	for _, k := range kindregistry.WithForm(kindregistry.Composed) {
		out[k.Kind] = cmp.Or(servicesOfParts[k.Folder], k.Folder)
	}
	return out
}()

// excludedServices have no verdict. Tempest tests the cloud and serves no users.
var excludedServices = []string{"tempest"}

// serviceOrder is the order of services in the output. Services that the list does not contain follow it, in the order of their kinds.
var serviceOrder = func() []string {
	out := []string{"keystone", "placement", "glance", "neutron", "nova", "cinder", "barbican", "heat", "horizon"}
	for _, k := range kindregistry.WithForm(kindregistry.Composed) {
		if service := servicesByKind[k.Kind]; !slices.Contains(out, service) && !slices.Contains(excludedServices, service) {
			out = append(out, service)
		}
	}
	return append(out, storage, servers)
}()

// subject identifies a verdict.
type subject struct {
	claim preview.Identity
	name  string
}

// fact is a change or a restart of an object, and its surroundings.
type fact struct {
	scene *scene
	pair  *pair
	claim *Claim
	// change or restart is nil.
	change  *Change
	restart *Restart
}

// scene contains all claims.
type scene struct {
	pairs    []*pair
	services map[preview.Identity]map[string]string // by claim and name of a composite resource
}

// verdicts applies the rules to all facts. Each fact has the reason of the first rule that matches it.
func verdicts(pairs []*pair, claims []Claim) []Verdict {
	s := &scene{pairs: pairs, services: map[preview.Identity]map[string]string{}}
	found := map[subject][]Reason{}
	for _, p := range pairs {
		s.services[p.id] = servicesOf(p)
		for _, sub := range subjectsOf(p, s.services[p.id]) {
			found[sub] = nil
		}
	}
	for i := range claims {
		for _, f := range facts(s, pairs[i], &claims[i]) {
			for sub, reasons := range reasonsFor(f) {
				if _, exists := found[sub]; exists {
					found[sub] = append(found[sub], reasons...)
				}
			}
		}
	}
	withoutTokens(found)
	var out []Verdict
	for sub, reasons := range found {
		out = append(out, summarize(sub, reasons))
	}
	slices.SortFunc(out, func(a, b Verdict) int {
		return cmp.Or(
			cmp.Compare(position(a), position(b)), cmp.Compare(a.Claim.Namespace, b.Claim.Namespace), cmp.Compare(a.Claim.Name, b.Claim.Name),
		)
	})
	return out
}

func position(v Verdict) int { return slices.Index(serviceOrder, v.Subject) }

// servicesOf returns the services of a claim by the names of their composite resources.
func servicesOf(p *pair) map[string]string {
	out := map[string]string{}
	for _, r := range []*preview.Result{p.before, p.after} {
		for _, o := range objects(r) {
			if service := servicesByKind[o.Kind]; service != "" && isComposite(o) {
				out[o.Name] = service
			}
		}
	}
	return out
}

// subjectsOf returns the subjects of a claim.
func subjectsOf(p *pair, services map[string]string) []subject {
	out := []subject{{name: servers}}
	if p.id.Kind == storagev1.GroupVersionKind.Kind {
		out = append(out, subject{p.id, storage})
	}
	for _, service := range services {
		if slices.Contains(serviceOrder, service) {
			out = append(out, subject{p.id, service})
		}
	}
	return out
}

// facts returns the restarts and changes of a claim. The changes of a composite resource are the changes of its objects.
func facts(s *scene, p *pair, c *Claim) []fact {
	var out []fact
	for i := range c.Restarts {
		out = append(out, fact{scene: s, pair: p, claim: c, restart: &c.Restarts[i]})
	}
	for i := range c.Changes {
		if !c.Changes[i].Composite {
			out = append(out, fact{scene: s, pair: p, claim: c, change: &c.Changes[i]})
		}
	}
	return out
}

// reasonsFor returns the reasons of the first matching rule by subject. Without a rule, the level is Unknown for the service of the object,
// or for all services of the claim if the object belongs to none.
func reasonsFor(f fact) map[subject][]Reason {
	out := map[subject][]Reason{}
	for _, r := range rules {
		if !r.when(f) {
			continue
		}
		for _, e := range r.effects {
			reason := Reason{Level: e.level, Rule: r.name, Object: f.object(), Text: e.text, Duration: e.duration, Source: e.source}
			if e.lasts != nil {
				reason.Duration = e.lasts(f)
			}
			for _, sub := range e.who(f) {
				out[sub] = append(out[sub], reason)
			}
		}
		return out
	}
	verb := "changes"
	if f.restart != nil {
		verb = "restarts"
	}
	for _, sub := range f.owner() {
		out[sub] = append(out[sub], Reason{
			Level: Unknown, Object: f.object(), Text: "it " + verb + ", and no rule describes the effect",
		})
	}
	return out
}

// object returns the kind and name of the object.
func (f fact) object() string {
	if f.restart != nil {
		return f.restart.Kind + " " + f.restart.Name
	}
	return f.change.Kind + " " + f.change.Name
}

// owner returns the subjects that an object belongs to: its service, or all services of the claim.
func (f fact) owner() []subject {
	var owner string
	if f.restart != nil {
		owner = f.restart.Owner
	} else {
		owner = f.change.Owner
	}
	switch f.pair.id.Kind {
	case hypervisorv1.GroupVersionKind.Kind:
		return []subject{{name: servers}}
	case storagev1.GroupVersionKind.Kind:
		return []subject{{f.pair.id, storage}}
	}
	if service := f.scene.services[f.pair.id][owner]; service != "" {
		return []subject{{f.pair.id, service}}
	}
	return f.all()
}

// all returns all services of the claim.
func (f fact) all() []subject {
	var out []subject
	for _, service := range serviceOrder {
		for _, s := range f.scene.services[f.pair.id] {
			if sub := (subject{f.pair.id, service}); s == service && !slices.Contains(out, sub) {
				out = append(out, sub)
			}
		}
	}
	return out
}

// withoutTokens degrades all services of a control plane whose Keystone is interrupted.
func withoutTokens(found map[subject][]Reason) {
	for sub, reasons := range found {
		if sub.name != "keystone" || worst(reasons) != Interrupted {
			continue
		}
		for other := range found {
			if other.claim == sub.claim && other.name != "keystone" && other.claim.Kind == controlplanev1.GroupVersionKind.Kind {
				found[other] = append(found[other], Reason{
					Level: Degraded, Rule: "keystone-interrupted", Object: "Keystone",
					Text:     "while Keystone is interrupted, clients get no new token; validated tokens stay in the cache",
					Duration: "clients without a token, as long as Keystone", Source: "explanation/failure-behavior.md#database",
				})
			}
		}
	}
}

// worst returns the worst level of some reasons.
func worst(reasons []Reason) Level {
	out := NoInterruption
	for _, r := range reasons {
		if slices.Index(levels, r.Level) > slices.Index(levels, out) {
			out = r.Level
		}
	}
	return out
}

// ruleUnchanged is the name of the rule for subjects without a change.
const ruleUnchanged = "unchanged"

// summarize returns the verdict with its reasons in order, each once.
func summarize(sub subject, reasons []Reason) Verdict {
	v := Verdict{Subject: sub.name, Claim: sub.claim, Level: worst(reasons)}
	slices.SortStableFunc(reasons, func(a, b Reason) int {
		return cmp.Or(
			cmp.Compare(slices.Index(levels, b.Level), slices.Index(levels, a.Level)), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Object, b.Object),
		)
	})
	v.Reasons = slices.Compact(reasons)
	if len(v.Reasons) == 0 {
		v.Reasons = []Reason{{Level: NoInterruption, Rule: ruleUnchanged, Text: "no object that it uses changes"}}
	}
	return v
}
