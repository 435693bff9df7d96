package emitted

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/judge"
)

// cloud is a case as the judge sees it.
func cloud(c testCase) judge.Cloud {
	out := judge.Cloud{Given: c.given}
	for _, o := range c.Objects {
		out.Objects = append(out.Objects, judge.Object{Stage: o.Stage, Manifest: o.Manifest.AsMap()})
	}
	return out
}

// TestJudge: the judge finds nothing.
func TestJudge(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, finding := range judge.Judge(cloud(c)) {
				t.Error(finding)
			}
		})
	}
}
