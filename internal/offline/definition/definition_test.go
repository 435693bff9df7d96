package definition

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// TestAll tests that each registered kind, including claims, has one valid CRD, and that there is no other CRD.
func TestAll(t *testing.T) {
	crds, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range crds {
		got = append(got, c.Spec.Names.Kind+"."+c.Spec.Group)
		if err := schema.CheckCRD(c); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(got)
	var want []string
	for _, k := range kindregistry.All() {
		if k.Form == kindregistry.Namespaced {
			continue
		}
		want = append(want, k.GroupKind().String())
		if k.Form == kindregistry.Claimed {
			want = append(want, k.Composite().GroupKind().String())
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFor(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, apiVersion, kind string
		found                    bool
	}{
		"claim":      {"A claim has its own CRD.", "crossplane.c5c3.io/v1alpha1", "ControlPlaneCluster", true},
		"composite":  {"So has its composite resource.", "crossplane.c5c3.io/v1alpha1", "XControlPlaneCluster", true},
		"namespaced": {"So has a claim's namespaced form.", "m.crossplane.c5c3.io/v1alpha1", "ControlPlaneCluster", true},
		"plain":      {"So has a plain kind.", "openstack.c5c3.io/v1alpha1", "KeyRepository", true},
		"version":    {"The version has to be served.", "crossplane.c5c3.io/v1", "ControlPlaneCluster", false},
		"group":      {"The group has to fit.", "c5c3.io/v1alpha1", "ControlPlaneCluster", false},
		"kind":       {"The kind has to fit.", "crossplane.c5c3.io/v1alpha1", "controlplanecluster", false},
		"nothing":    {"Nothing is no kind.", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			crd, version, err := For(tc.apiVersion, tc.kind)
			if tc.found {
				if err != nil || crd.Spec.Names.Kind != tc.kind || crd.Spec.Group+"/"+version != tc.apiVersion {
					t.Errorf("%s\nfound %v, version %q (%v)", tc.reason, crd, version, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "KeyRepository (openstack.c5c3.io/v1alpha1)") {
				t.Errorf("%s\nerror %v, want a list of the existing kinds", tc.reason, err)
			}
		})
	}
}

// TestValidator tests that validators are compiled once for each kind.
func TestValidator(t *testing.T) {
	first, err := Validator("crossplane.c5c3.io/v1alpha1", "PlatformConfig")
	if err != nil {
		t.Fatal(err)
	}
	next, err := Validator("crossplane.c5c3.io/v1alpha1", "PlatformConfig")
	if err != nil || next != first {
		t.Errorf("compiled twice (%v)", err)
	}
	if errs := first.Validate(map[string]any{
		"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "PlatformConfig", "metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"domain": "Not a domain"},
	}); len(errs) != 1 || errs[0].Field != "spec.domain" {
		t.Errorf("errors %v", errs)
	}
	if _, err := Validator("v1", "Secret"); err == nil {
		t.Error("there are checks for a kind that is not ours")
	}
}

// TestValidatorAllowsConcurrentUse checks that the validator of a kind, which all callers share, validates several objects at the same
// time. The Go runtime reports concurrent writes of a map.
func TestValidatorAllowsConcurrentUse(t *testing.T) {
	v, err := Validator("crossplane.c5c3.io/v1alpha1", "ControlPlaneCluster")
	if err != nil {
		t.Fatal(err)
	}
	const document = `{apiVersion: crossplane.c5c3.io/v1alpha1, kind: ControlPlaneCluster, metadata: {namespace: tenant-a, name: cloud}, spec: {
  openStackRelease: "2025.2", size: small, services: {glance: {enabled: true, stores: [{name: main, file: {storageSize: 1Gi}}]}}}}`
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				claim := map[string]any{}
				if err := yaml.Unmarshal([]byte(document), &claim); err != nil {
					t.Error(err)
				}
				v.Default(claim)
				if errs := v.Validate(claim); len(errs) > 0 {
					t.Error(errs)
				}
			}
		})
	}
	all.Wait()
}
