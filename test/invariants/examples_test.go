package invariants

import (
	"io/fs"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// TestExamplesBecomeReady checks that every example becomes ready, and that every emitted kind has a readiness rule.
func TestExamplesBecomeReady(t *testing.T) {
	files, err := fs.Glob(examples.Files, "controlplane/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			claim, err := examples.Files.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := preview.Run(claim, examples.Platform, kinds.Runners())
			if err != nil {
				t.Fatalf("Run(...): %v", err)
			}
			if r.Status["phase"] != "Ready" {
				t.Errorf("the status is %v", r.Status)
			}
			for _, o := range r.Objects {
				kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
				if _, ok := readiness.Rules.For(kind); !ok {
					t.Errorf("%s is of kind %s, which has no readiness rule", o.Resource, kind)
				}
			}
		})
	}
}
