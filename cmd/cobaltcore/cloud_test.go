package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// cloudInput returns the example of an OpenStackCluster and the PlatformConfig after edits, which are JSON merge patches.
func cloudInput(t *testing.T, edit, platform string) plan.Input {
	t.Helper()
	data, err := examples.Files.ReadFile("cloud/claim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data = patchedDocument(t, data, edit)
	return plan.Input{
		Platform: plan.Document{Data: patchedDocument(t, examples.Platform, platform)},
		Claims:   []plan.Document{{Identity: preview.IdentityOf(data), Data: data}},
	}
}

func patchedDocument(t *testing.T, document []byte, patch string) []byte {
	t.Helper()
	var object, changes map[string]any
	if err := yaml.Unmarshal(document, &object); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(patch), &changes); err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(patched(object, changes))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPlanOfCloudIncludesItsClaims verifies that the plan of an OpenStackCluster has the changes of each of its claims, and their verdicts.
func TestPlanOfCloudIncludesItsClaims(t *testing.T) {
	const keystone = "{spec: {controlPlane: {spec: {services: {keystone: {config: {DEFAULT: {max_token_size: 300}}}}}}}}"
	for name, tc := range map[string]struct {
		reason, edit, platform string
		// changed are the claims with changes, interrupted the subjects of verdicts above no interruption.
		changed, wantErr string
	}{
		"nothing": {reason: "Nothing is edited.", edit: "{}", platform: "{}"},
		"control plane": {
			reason: "The claim and its objects change.", edit: keystone, platform: "{}",
			changed: "OpenStackCluster cloud: ~ControlPlaneCluster cloud; ControlPlaneCluster cloud: ~Keystone keystone",
		},
		"storage and control plane": {
			reason:  "The control plane uses the new pool of the same edit.",
			edit:    "{spec: {storage: {spec: {pools: [{name: images}, {name: volumes}, {name: vms}, {name: backups}, {name: fast, purpose: volumes}]}}, controlPlane: {spec: {services: {cinder: {backends: [{name: ceph-rbd, ceph: {pool: volumes}}, {name: fast, ceph: {pool: fast}}]}}}}}}",
			changed: "OpenStackCluster cloud: ~ControlPlaneCluster cloud ~StorageCluster cloud-storage; StorageCluster cloud-storage: +CephBlockPool fast; ControlPlaneCluster cloud: ~Cinder cinder; HypervisorCluster cloud-compute: +ExternalSecret volume-key-cinder-volume-fast", platform: "{}",
		},
		"pool removed": {
			reason: "Nova may have virtual machines there.", edit: "{spec: {hypervisorPools: []}}", platform: "{}",
			wantErr: "OpenStackCluster cloud: spec.hypervisorPools: pool compute cannot be removed: it is unknown whether virtual machines are on nodes",
		},
		"platform": {
			reason: "The claims of the cloud read the same PlatformConfig.", edit: "{}", platform: "{spec: {images: {registry: other.example.com}}}",
			changed: "StorageCluster cloud-storage: ~CephCluster ceph; ControlPlaneCluster cloud: ~Keystone keystone; HypervisorCluster cloud-compute: ~DaemonSet nova-compute",
		},
		"immutable": {
			reason: "The rules of the claims apply.", edit: "{spec: {controlPlane: {spec: {global: {region: other}}}}}", platform: "{}",
			wantErr: "OpenStackCluster cloud: spec.controlPlane.spec.global: Invalid value: region is immutable",
		},
		"invalid": {
			reason: "The functions of the claims reject it.", edit: "{spec: {hypervisorPools: [{name: compute, spec: {storage: {pool: unknown}}}]}}", platform: "{}",
			wantErr: "OpenStackCluster cloud: spec.hypervisorPools[0]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan.Run(cloudInput(t, "{}", "{}"), cloudInput(t, tc.edit, tc.platform), kinds.Runners())
			if err != nil {
				if tc.wantErr == "" || !strings.HasPrefix(err.Error(), tc.wantErr) {
					t.Errorf("%s\n got %v\nwant %s", tc.reason, err, tc.wantErr)
				}
				return
			}
			got := map[string][]string{}
			for _, claim := range p.Claims {
				for _, c := range claim.Changes {
					sign := map[plan.Action]string{plan.ActionCreate: "+", plan.ActionChange: "~", plan.ActionReplace: "~", plan.ActionDelete: "-", plan.ActionRetain: "-"}[c.Action]
					key := claim.Kind + " " + claim.Name
					got[key] = append(got[key], sign+c.Kind+" "+c.Name)
				}
			}
			want := map[string][]string{}
			for part := range strings.SplitSeq(tc.changed, "; ") {
				claim, changes, _ := strings.Cut(part, ": ")
				for change := range strings.SplitSeq(changes, " ~") {
					change = strings.TrimPrefix(change, "~")
					if !strings.ContainsAny(change[:min(1, len(change))], "+-") {
						change = "~" + change
					}
					want[claim] = append(want[claim], change)
				}
			}
			delete(want, "")
			if diff := gocmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("%s\nclaims: -want, +got:\n%s\n%v", tc.reason, diff, got)
			}
			for claim, changes := range want {
				for _, change := range changes {
					if !slices.Contains(got[claim], change) {
						t.Errorf("%s\n%s has no change %s: %v", tc.reason, claim, change, got[claim])
					}
				}
			}
			// The objects of a claim are not counted twice.
			counted := map[string]bool{}
			for _, claim := range p.Claims {
				for _, c := range claim.Changes {
					key := fmt.Sprint(c.Owner, c.Kind, c.Namespace, c.Name)
					if counted[key] {
						t.Errorf("%s %s is in two claims", c.Kind, c.Name)
					}
					counted[key] = true
				}
			}
		})
	}
}

// TestPreviewCloudEqualsClaims verifies that an OpenStackCluster composes the objects of the three claims that it replaces.
func TestPreviewCloudEqualsClaims(t *testing.T) {
	data, err := examples.Files.ReadFile("cloud/claim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := preview.Run(data, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	text := func(o preview.Object) string { return o.Manifest.String() }
	for _, o := range cloud.Objects {
		got[fmt.Sprint(o.Kind, o.Namespace, "/", o.Name)] = text(o)
	}
	for _, o := range cloud.Own().Objects {
		delete(got, fmt.Sprint(o.Kind, o.Namespace, "/", o.Name)) // The claims, and the Usages for the order of their deletion.
	}
	var existing = cloud.Existing[:0:0]
	for _, part := range cloud.Parts() {
		claim := part.Existing[0].AsMap()
		spec := claim["spec"].(map[string]any)
		delete(spec, "resourceRef")
		document, err := yaml.Marshal(map[string]any{
			"apiVersion": claim["apiVersion"], "kind": claim["kind"],
			"metadata": map[string]any{"namespace": part.Namespace, "name": part.Name}, "spec": spec,
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := preview.RunWithClaims(existing, document, examples.Platform, kinds.Runners())
		if err != nil {
			t.Fatal(err)
		}
		existing = append(existing, r.Existing...)
		for _, o := range r.Objects {
			want[fmt.Sprint(o.Kind, o.Namespace, "/", o.Name)] = text(o)
		}
	}
	if len(want) < 100 {
		t.Errorf("the claims have %d objects", len(want))
	}
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("objects: -claims, +cloud:\n%s", diff)
	}
}
