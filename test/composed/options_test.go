package composed

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// TestHypervisorsGetTheirOptions holds control planes together with their hypervisors to the table of which program reads which option. Each
// example is in one release, and in make test-long in every one.
func TestHypervisorsGetTheirOptions(t *testing.T) {
	releases := release.Releases()
	for i, file := range []string{"hypervisor/agents.yaml", "hypervisor/sriov.yaml", "complete/hypervisors.yaml", "hypervisor/claim.yaml"} {
		for j, r := range releases {
			if !effort.Long() && j != i%len(releases) {
				continue
			}
			t.Run(file+" "+string(r), func(t *testing.T) {
				var beside []*cloud
				for _, f := range append(slices.Clone(references[file]), file) {
					data, err := examples.Files.ReadFile(f)
					if err != nil {
						t.Fatal(err)
					}
					beside = append(beside, composeClaim(t, f, data, beside, func(spec map[string]any) {
						if spec["openStackRelease"] != nil {
							spec["openStackRelease"] = string(r)
						}
					}))
				}
				var whole wiring.Cloud
				for _, c := range beside {
					given := map[string]any{}
					if err := yaml.Unmarshal(c.claim, &given); err != nil {
						t.Fatal(err)
					}
					whole.Given = append(whole.Given, given)
					for _, o := range c.objects {
						whole.Objects = append(whole.Objects, wiring.Object{Stage: o.Stage, Manifest: o.Manifest.AsMap()})
					}
				}
				for _, finding := range wiring.Options(whole) {
					t.Error(finding)
				}
			})
		}
	}
}
