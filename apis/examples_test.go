package apis_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// TestAPIServerAcceptsExamples checks that an API server accepts every example.
func TestAPIServerAcceptsExamples(t *testing.T) {
	all := crds(t)
	files, err := fs.Glob(examples.Files, "*/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("cannot find the examples: %v, %v", files, err)
	}
	validators := map[string]*schema.Validator{} // By kind, because compiling the rules takes longer than applying them.
	for _, file := range files {
		others := strings.HasPrefix(file, "identity/") && file != "identity/claim.yaml" || strings.HasPrefix(file, "queues/") ||
			strings.HasPrefix(file, "networks/") || strings.HasPrefix(file, "ownservice/") ||
			strings.HasPrefix(file, "copies/") || strings.HasPrefix(file, "packages/") || file == "complete/stack.yaml"
		if file == "platform/admission.yaml" || others {
			continue // Kinds of other projects: see hack/chart (admission policies), test/emitted (K-ORC, cert-manager, Crossplane), TestPoolCopyCronJobIsValid, make openstack-up (Heat).
		}
		t.Run(file, func(t *testing.T) {
			data, err := examples.Files.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			example := parse(t, string(data))
			kind := example["kind"].(string)
			v := validators[kind]
			if v == nil {
				if v, err = schema.New(all[kind], all[kind].Spec.Versions[0].Name); err != nil {
					t.Fatal(err)
				}
				validators[kind] = v
			}
			if errs := v.Validate(example); len(errs) > 0 {
				t.Errorf("refused: %v", errs)
			}
		})
	}
}
