package compute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestPin checks that pods are replaced if the oldest version that restricts them changes, and only then.
func TestPin(t *testing.T) {
	pinned := map[string]string{pinAnnotation: "68"}
	for name, c := range map[string]struct {
		reason      string
		cells, pods string
		release     release.Release
		want        map[string]string
	}{
		"None": {
			reason: "without hypervisors, a process uses the version of its release", cells: "{cell: {status: {uuid: u, oldestCompute: 0}}}", release: "2026.1",
		},
		"New": {
			reason: "nothing holds them back", cells: "{cell: {status: {uuid: u, oldestCompute: 72}}}", release: "2026.1",
		},
		"Newer": {
			reason: "newer hypervisors do not restrict the version", cells: "{cell: {status: {uuid: u, oldestCompute: 74}}}", release: "2026.1",
		},
		"Old": {
			reason: "new pods use the oldest version", cells: "{cell: {status: {uuid: u, oldestCompute: 68}}}", release: "2026.1", want: pinned,
		},
		"Released": {
			reason: "the last old one has gone: the annotation goes, and the pods with it",
			cells:  "{cell: {status: {uuid: u, oldestCompute: 72}}}", pods: "68", release: "2026.1",
		},
		"Unknown": {
			reason: "a cell that is missing temporarily does not replace pods", cells: "{}", pods: "68", release: "2026.1", want: pinned,
		},
		"NotYet": {reason: "a cell that is being made has none", cells: "{cell: {}}", release: "2026.1"},
		"Oldest": {
			reason: "the oldest version of all cells is used", release: "2026.1", want: pinned,
			cells: "{cell: {status: {uuid: u, oldestCompute: 70}}, other: {status: {uuid: v, oldestCompute: 68}}}",
		},
		"Empty": {
			reason: "a cell without hypervisors does not affect the oldest version", release: "2026.1", want: pinned,
			cells: "{cell: {status: {uuid: u, oldestCompute: 68}}, other: {status: {uuid: v, oldestCompute: 0}}}",
		},
		"Again": {
			reason: "a cell that is mapped again has its earlier hosts: pods are not replaced until they are listed", pods: "68", release: "2026.1",
			cells: "{cell: {status: {uuid: new}}}", want: pinned,
		},
		"Listed": {
			reason: "then the hosts are listed", pods: "68", release: "2026.1", cells: "{cell: {status: {uuid: new, oldestCompute: 0}}}",
		},
		"OneUnknown": {
			reason: "the other one may have an older one", pods: "68", release: "2026.1", want: pinned,
			cells: "{cell: {status: {uuid: u, oldestCompute: 72}}, other: {}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := map[string]map[string]any{}
			if err := yaml.Unmarshal([]byte(c.cells), &objects); err != nil {
				t.Fatal(err)
			}
			all := map[string]encoded.Struct{}
			for cell, o := range objects {
				all[cell] = object(t, o)
			}
			if c.pods != "" {
				all["pods"] = object(t, map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
					"annotations": map[string]any{pinAnnotation: c.pods},
				}}}})
			}
			observed, err := observe.New(all)
			if err != nil {
				t.Fatal(err)
			}
			oldest := Oldest{HostsListed: true}.And(OldestOf(observed, "cell"))
			if objects["other"] != nil {
				oldest = oldest.And(OldestOf(observed, "other"))
			}
			if diff := cmp.Diff(c.want, Pin(observed, "pods", oldest, c.release)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestVersions checks that every release has a version, and that versions increase.
func TestVersions(t *testing.T) {
	last := int64(0)
	for _, r := range release.Releases() {
		if versions[r] <= last {
			t.Errorf("the version of nova-compute in %s is %d, after %d", r, versions[r], last)
		}
		last = versions[r]
	}
}

func object(t *testing.T, o map[string]any) encoded.Struct {
	t.Helper()
	o["apiVersion"], o["kind"] = "v1", "Test"
	body, err := encode.Struct(o)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
