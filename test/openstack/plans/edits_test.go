package plans

import (
	"os"
	"slices"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// TestEditsArePlanned checks without a cloud that each edit of the table is valid, changes objects, and has known verdicts.
func TestEditsArePlanned(t *testing.T) {
	claim, err := os.ReadFile("../testdata/plans.yaml")
	if err != nil {
		t.Fatal(err)
	}
	platform, err := os.ReadFile("../testdata/platform.yaml")
	if err != nil {
		t.Fatal(err)
	}
	edits, err := Edits()
	if err != nil {
		t.Fatal(err)
	}
	if len(edits) < 12 {
		t.Errorf("there are %d edits, want at least 12", len(edits))
	}
	input := func(claim []byte) plan.Input {
		return plan.Input{
			Claims: []plan.Document{{Identity: preview.IdentityOf(claim), Data: claim}}, Platform: plan.Document{Data: platform},
		}
	}
	sample := effort.Sample(edits, 6)
	for _, e := range edits {
		next, err := e.Apply(claim)
		if err != nil {
			t.Fatal(err)
		}
		before := claim
		claim = next
		if !slices.ContainsFunc(sample, func(s Edit) bool { return s.Name == e.Name }) {
			continue
		}
		p, err := plan.Run(input(before), input(next), kinds.Runners())
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if !p.Changed() {
			t.Errorf("%s: %s: the plan has no changes", e.Name, e.Reason)
		}
		for _, v := range p.Verdicts {
			if v.Level == plan.Unknown {
				t.Errorf("%s: the verdict on %s is unknown: %v", e.Name, v.Subject, v.Reasons)
			}
		}
	}
}
