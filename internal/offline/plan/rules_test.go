package plan

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// TestRules checks that each rule has its own name and effects, that an effect on clients has a duration, and that its source exists: a page
// with the heading.
func TestRules(t *testing.T) {
	names := map[string]bool{}
	for _, r := range rules {
		if names[r.name] || r.name == "" || len(r.effects) == 0 {
			t.Errorf("rule %q has a name that is not unique, or no effect", r.name)
		}
		names[r.name] = true
		for _, e := range r.effects {
			if (e.level == Degraded || e.level == Interrupted) && e.duration == "" && e.lasts == nil {
				t.Errorf("rule %s: %s without a duration", r.name, e.level)
			}
			if e.source != "" {
				checkSource(t, r.name, e.source)
			}
		}
	}
}

// checkSource reports a page or a heading that does not exist.
func checkSource(t *testing.T, rule, source string) {
	t.Helper()
	page, anchor, _ := strings.Cut(source, "#")
	data, err := os.ReadFile("../../../docs/" + page)
	if err != nil {
		t.Errorf("rule %s: %v", rule, err)
		return
	}
	if anchor == "" {
		return
	}
	other := regexp.MustCompile(`[^a-z0-9 -]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(data), -1) {
		if strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return
		}
	}
	t.Errorf("rule %s: %s has no heading %s", rule, page, anchor)
}

// workload returns a workload of a kind with a strategy.
func workload(t *testing.T, kind, strategy string) map[string]any {
	t.Helper()
	return parsed(t, `{kind: `+kind+`, spec: `+strategy+`}`)
}

// TestOverlap checks how the pods of each strategy are replaced.
func TestOverlap(t *testing.T) {
	cases := []struct {
		kind, spec string
		want       Overlap
	}{
		{"Deployment", `{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}`, OverlapSurge},
		{"Deployment", `{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 100%, maxUnavailable: 0}}}`, OverlapSurge},
		{"Deployment", `{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}`, OverlapOne},
		{"Deployment", `{strategy: {type: Recreate}}`, OverlapNone},
		{"Deployment", `{}`, OverlapUnknown},
		{"StatefulSet", `{}`, OverlapOne},
		{"StatefulSet", `{updateStrategy: {type: OnDelete}}`, OverlapManual},
		{"DaemonSet", `{updateStrategy: {type: OnDelete}}`, OverlapManual},
		{"DaemonSet", `{updateStrategy: {type: RollingUpdate}}`, OverlapNodes},
	}
	for _, tc := range cases {
		if got := overlapOf(tc.kind, workload(t, tc.kind, tc.spec)); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.kind, tc.spec, got, tc.want)
		}
	}
}

// TestChangeWithoutRuleIsUnknown checks that a restart or change without a rule has the level Unknown, with its object and reason.
func TestChangeWithoutRuleIsUnknown(t *testing.T) {
	p := &pair{id: preview.Identity{Kind: "ControlPlaneCluster", Namespace: "a", Name: "b"}}
	s := &scene{pairs: []*pair{p}, services: map[preview.Identity]map[string]string{p.id: {"nova": "nova"}}}
	c := &Claim{Identity: p.id, Action: ActionChange}
	facts := map[string]fact{
		"a restart":        {restart: &Restart{Kind: "Deployment", Name: "x", Owner: "nova", Overlap: OverlapUnknown}},
		"a change":         {change: &Change{Action: ActionChange, APIVersion: "example.com/v1", Kind: "Thing", Name: "x", Owner: "nova"}},
		"a shared change":  {change: &Change{Action: ActionChange, APIVersion: "example.com/v1", Kind: "Thing", Name: "x", Owner: "b"}},
		"a rejected field": {change: &Change{Action: ActionChange, APIVersion: "apps/v1", Kind: "StatefulSet", Name: "x", Owner: "nova", Reason: reasonRejected}},
	}
	for name, f := range facts {
		f.scene, f.pair, f.claim = s, p, c
		reasons := reasonsFor(f)[subject{p.id, "nova"}]
		if len(reasons) != 1 || reasons[0].Level != Unknown || reasons[0].Text == "" || reasons[0].Object == "" {
			t.Errorf("%s: want one unknown effect on nova, got %+v", name, reasons)
		}
	}
}

// TestKeystoneInterruptionDegradesOtherServices checks that other services are degraded while clients get no tokens.
func TestKeystoneInterruptionDegradesOtherServices(t *testing.T) {
	id := preview.Identity{Kind: "ControlPlaneCluster", Namespace: "a", Name: "b"}
	found := map[subject][]Reason{
		{id, "keystone"}: {{Level: Interrupted}}, {id, "nova"}: nil, {name: servers}: nil,
		{preview.Identity{Kind: "ControlPlaneCluster", Namespace: "a", Name: "other"}, "nova"}: nil,
	}
	withoutTokens(found)
	for sub, reasons := range found {
		want := NoInterruption
		switch {
		case sub.name == "keystone":
			want = Interrupted
		case sub.name == "nova" && sub.claim == id:
			want = Degraded
		}
		if got := worst(reasons); got != want {
			t.Errorf("%v: %s, want %s", sub, got, want)
		}
	}
}

// TestTitle checks that verdicts of several claims have the names of their claims, and that others do not.
func TestTitle(t *testing.T) {
	ofClaim := func(subject, name string) Verdict {
		return Verdict{
			Subject: subject, Claim: preview.Identity{Kind: "ControlPlaneCluster", Namespace: "a", Name: name}, Level: NoInterruption,
			Reasons: []Reason{{Level: NoInterruption, Rule: ruleUnchanged}},
		}
	}
	p := &Plan{Verdicts: []Verdict{ofClaim("keystone", "x"), ofClaim("keystone", "y"), ofClaim("nova", "x")}, Claims: []Claim{{Action: ActionChange}}}
	for _, format := range []string{"text", "markdown"} {
		var out strings.Builder
		if err := p.Print(&out, format, false); err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{"keystone a/x": true, "keystone a/y": true, "nova": true, "nova a/x": false} {
			if got := strings.Contains(out.String(), text); got != want {
				t.Errorf("%s contains %q: %t, want %t:\n%s", format, text, got, want, out.String())
			}
		}
	}
}

// TestOperatorPods checks the effect of fields of operators' objects that are easily confused.
func TestOperatorPods(t *testing.T) {
	cases := []struct {
		kind, path, reason string
		restarts           bool
	}{
		{"MariaDB", "spec.myCnf", "its hash is in the pods", true},
		{"MariaDB", "spec.replicas", "the addresses of members are in the configuration of all of them", true},
		{"MariaDB", "spec.galera.primary.podIndex", "the operator switches the writer", false},
		{"MariaDB", "spec.storage.size", "volumes grow online", false},
		{"RabbitmqCluster", "spec.replicas", "the number of members is excluded from restarts", false},
		{"RabbitmqCluster", "spec.delayStartSeconds", "it is in the command of an init container", true},
		{"CephCluster", "spec.cephConfig[global].osd_pool_default_size", "it is set in running daemons", false},
		{"CephCluster", "spec.mgr.count", "managers have another container if there are several", true},
	}
	for _, tc := range cases {
		pods := operatorPods[tc.kind]
		if got := under(tc.path, pods.restarting); got != tc.restarts || got && under(tc.path, pods.online) {
			t.Errorf("%s %s: restarts %t, want %t: %s", tc.kind, tc.path, got, tc.restarts, tc.reason)
		}
	}
}

// TestNewAddressLasts checks that the catalog has a new address of Keystone later than one of another service.
func TestNewAddressLasts(t *testing.T) {
	p := &pair{id: preview.Identity{Kind: "ControlPlaneCluster", Namespace: "a", Name: "b"}}
	s := &scene{pairs: []*pair{p}, services: map[preview.Identity]map[string]string{p.id: {"nova": "nova", "keystone": "keystone"}}}
	for owner, want := range map[string]bool{"keystone": true, "nova": false} {
		f := fact{scene: s, pair: p, claim: &Claim{Identity: p.id, Action: ActionChange}, change: &Change{
			Action: ActionChange, Kind: "HTTPRoute", Owner: owner, Fields: []Field{{Path: "spec.hostnames"}},
		}}
		reasons := reasonsFor(f)[subject{p.id, owner}]
		if len(reasons) != 1 || reasons[0].Level != Interrupted || strings.Contains(reasons[0].Duration, "catalog") != want {
			t.Errorf("a new address of %s: %+v, want an interruption whose duration includes the catalog: %t", owner, reasons, want)
		}
	}
}
