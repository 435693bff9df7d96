package cloud

import (
	"flag"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{
	KeepsNoData: true, GroupVersionKind: cloudv1.CompositeGroupVersionKind, Runner: New(), Name: "prod-x7d2f",
	Cluster: func(w *simulate.Cluster) { around(w, shared()...) },
}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// claimOf and compositeOf return an existing claim of namespace shared, and its composite resource.
func claimOf(kind, name, spec string) string {
	return "{apiVersion: crossplane.c5c3.io/v1alpha1, kind: " + kind + ", metadata: {namespace: shared, name: " + name + "}, spec: {resourceRef: {name: " +
		name + "-x}, " + spec + "}}"
}

func compositeOf(kind, name, status string) string {
	return "{apiVersion: crossplane.c5c3.io/v1alpha1, kind: X" + kind + ", metadata: {name: " + name + "-x}, spec: {claimRef: {namespace: shared, name: " +
		name + "}}, status: {" + status + "}}"
}

const allowed = "allowedNamespaces: [tenant-*]"

// shared returns the existing claims of testdata/existing.yaml, with their composite resources.
func shared() []string {
	return []string{
		claimOf("StorageCluster", "ceph", allowed), compositeOf("StorageCluster", "ceph", "phase: Ready"),
		claimOf("ControlPlaneCluster", "cloud", allowed), compositeOf("ControlPlaneCluster", "cloud",
			`phase: Ready, release: "2025.2", endpoints: [{service: keystone, public: "https://keystone.example.com/v3"}]`),
		claimOf("HypervisorCluster", "hypervisors", "controlPlaneRef: {namespace: shared, name: cloud}"),
		compositeOf("HypervisorCluster", "hypervisors", "phase: Ready"),
	}
}

// around returns the input of claim prod in namespace tenant-a, with other existing resources.
func around(w *simulate.Cluster, others ...string) {
	w.XR.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(parsed("{namespace: tenant-a, name: prod}"))
	delete(w.XR.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	w.Required = admission.Requirements()
	w.Required["platform"] = []*structpb.Struct{parsed("{metadata: {name: default}, spec: {domain: example.com}}")}
	w.RequiredResources = nil
	for _, o := range others {
		w.RequiredResources = append(w.RequiredResources, parsed(o))
	}
}

func parsed(text string) *structpb.Struct {
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		panic(text + ": " + err.Error())
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return s
}

// newCluster returns a cloud with nothing composed.
func newCluster(spec string, others ...string) *simulate.Cluster {
	w := &simulate.Cluster{
		XR: &structpb.Struct{Fields: map[string]*structpb.Value{
			"apiVersion": structpb.NewStringValue("crossplane.c5c3.io/v1alpha1"), "kind": structpb.NewStringValue("XOpenStackCluster"),
			"metadata": structpb.NewStructValue(parsed("{name: prod-x7d2f}")), "spec": structpb.NewStructValue(parsed(spec)),
		}},
		Kinds: map[string]function.Runner{"XOpenStackCluster.crossplane.c5c3.io": New()},
	}
	around(w, others...)
	return w
}

// readyCluster returns a cloud of which everything is ready.
func readyCluster(t *testing.T, spec string, others ...string) *simulate.Cluster {
	t.Helper()
	w := newCluster(spec, others...)
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	return w
}

const (
	small = `openStackRelease: "2025.2", controlPlane: {spec: {}}`
	full  = "{" + small + ", storage: {spec: {deviceSelector: {all: true}}}, hypervisorPools: [{name: a, spec: {}}]}"
)

// TestCreatesClaimsInOrder verifies that claims are created one after the other, and that an existing claim stays while another one is
// missing.
func TestCreatesClaimsInOrder(t *testing.T) {
	var got []string
	w := newCluster(full)
	for range 5 {
		rsp, _, err := w.Explain(New())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, name := range []string{"storage", "control-plane", "pool-a", "order-pool-a-uses-storage"} {
			if r, ok := rsp.Composed[name]; ok {
				names = append(names, name)
				w.Observed = withObject(w.Observed, name, simulate.Exist(r.Object)) // It exists, and is not ready.
			}
		}
		got = append(got, strings.Join(names, " "))
	}
	want := []string{
		"storage", "storage control-plane", "storage control-plane pool-a", "storage control-plane pool-a order-pool-a-uses-storage",
		"storage control-plane pool-a order-pool-a-uses-storage",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("composed resources: -want, +got:\n%s", diff)
	}
	delete(w.Observed, "storage")
	rsp, _, err := w.Explain(New())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"storage", "control-plane", "pool-a"} {
		if _, ok := rsp.Composed[name]; !ok {
			t.Errorf("without the storage, %s is not desired any more", name)
		}
	}
}

func withObject(observed map[string]encoded.Struct, name string, o encoded.Struct) map[string]encoded.Struct {
	if observed == nil {
		observed = map[string]encoded.Struct{}
	}
	observed[name] = o
	return observed
}

// TestRejectsInvalidClouds verifies the errors of new clouds.
func TestRejectsInvalidClouds(t *testing.T) {
	const existing = "controlPlane: {ref: {namespace: shared, name: cloud}}"
	for name, tc := range map[string]struct {
		reason, spec string
		others       []string
		want         string
	}{
		"accepted": {"Everything is new.", full, nil, ""},
		"existing": {"Everything exists.", "{" + existing + "}", shared(), ""},
		"missing": {
			"There is no such claim.", "{" + existing + "}", nil,
			`spec.controlPlane.ref: there is no ControlPlaneCluster cloud in namespace shared that claims of namespace "tenant-a" may use`,
		},
		"not allowed": {
			"A claim that does not consent looks like a missing one.", "{" + existing + "}",
			[]string{claimOf("ControlPlaneCluster", "cloud", "allowedNamespaces: [other]")},
			`spec.controlPlane.ref: there is no ControlPlaneCluster cloud in namespace shared that claims of namespace "tenant-a" may use`,
		},
		"storage": {
			"The same applies to storage.", "{" + small + ", storage: {ref: {namespace: shared, name: ceph}}}", nil,
			"spec.storage.ref: there is no StorageCluster ceph in namespace shared",
		},
		"pool of another cloud": {
			"A pool belongs to one control plane.", "{" + small + ", hypervisorPools: [{name: a, ref: {namespace: shared, name: hypervisors}}]}", shared(),
			"spec.hypervisorPools[0].ref: there is no HypervisorCluster hypervisors in namespace shared with the control plane of this cloud",
		},
		"another's composite resource": {
			"Only Crossplane writes claimRef.", "{" + existing + "}", []string{
				claimOf("ControlPlaneCluster", "cloud", allowed), strings.Replace(compositeOf("ControlPlaneCluster", "cloud", ""), "namespace: shared", "namespace: victim", 1),
			}, "spec.controlPlane.ref: there is no ControlPlaneCluster cloud",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := newCluster(tc.spec, tc.others...).Run(func(simulate.Step) {})
			switch {
			case tc.want == "":
				if err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
			case err == nil || !invalid.Is(err) || !strings.HasPrefix(err.Error(), tc.want):
				t.Errorf("%s\n got %v\nwant %s", tc.reason, err, tc.want)
			}
		})
	}
	w := newCluster(full)
	delete(w.XR.GetFields()["spec"].GetStructValue().GetFields(), "claimRef")
	if err := w.Run(func(simulate.Step) {}); err == nil || !strings.Contains(err.Error(), "create an OpenStackCluster") {
		t.Errorf("without a claim: %v", err)
	}
	w = newCluster(full)
	w.XR.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(parsed("{namespace: n, name: " + strings.Repeat("a", 60) + "}"))
	if err := w.Run(func(simulate.Step) {}); err == nil || !strings.HasPrefix(err.Error(), "metadata.name: the name of the StorageCluster would be") {
		t.Errorf("with a long name: %v", err)
	}
}

// TestNoForeignFields verifies that a composed claim has no field of Crossplane, and no label or annotation of the tenant: admission
// policies trust Crossplane, which creates it.
func TestNoForeignFields(t *testing.T) {
	w := newCluster(`{` + small + `, compositionUpdatePolicy: Manual, hypervisorPools: [{name: a, spec: {controlPlaneRef: {namespace: victim, name: cloud},
		compositionRef: {name: other}, resourceRef: {name: other}, writeConnectionSecretToRef: {name: s}}}]}`)
	w.XR.GetFields()["metadata"].GetStructValue().Fields["annotations"] = structpb.NewStructValue(parsed(`{crossplane.io/paused: "true"}`))
	w.XR.GetFields()["metadata"].GetStructValue().Fields["labels"] = structpb.NewStructValue(parsed("{a: b}"))
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	o, _ := w.Desired("prod-x7d2f", "pool-a")
	spec := o.At("spec").Map()
	for _, field := range []string{"compositionRef", "resourceRef", "writeConnectionSecretToRef", "compositionUpdatePolicy", "compositionRevisionSelector"} {
		if v, ok := spec[field]; ok {
			t.Errorf("the claim has %s: %v", field, v)
		}
	}
	if got := o.At("spec", "controlPlaneRef", "namespace").Text() + "/" + o.At("spec", "controlPlaneRef", "name").Text(); got != "tenant-a/prod" {
		t.Errorf("the pool belongs to %s, want the control plane of the cloud", got)
	}
	meta := o.At("metadata").Map()
	if len(meta["annotations"].(map[string]any)) != 1 || meta["labels"].(map[string]any)["a"] != nil || meta["namespace"] != "tenant-a" {
		t.Errorf("the metadata is %v", meta)
	}
}

// TestChannel verifies that the platform's channel of Compositions applies to the claims of the cloud.
func TestChannel(t *testing.T) {
	w := newCluster("{" + small + ", compositionRevisionSelector: {matchLabels: {channel: canary}}}")
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	o, _ := w.Desired("prod-x7d2f", "control-plane")
	if got := o.At("spec", "compositionRevisionSelector", "matchLabels", "channel").Text(); got != "canary" {
		t.Errorf("the channel of the control plane is %q", got)
	}
}

// TestRetainsClaimsWithDataOrServers verifies that a claim with data or virtual machines is not deleted by an edit: the last valid spec is
// composed.
func TestRetainsClaimsWithDataOrServers(t *testing.T) {
	const without = "{" + small + ", storage: {spec: {deviceSelector: {all: true}}}}"
	for name, tc := range map[string]struct {
		reason, spec string
		// pool is a merge patch of the observed pool.
		pool string
		want string
	}{
		"empty pool": {"No virtual machine is on its nodes.", without, "{status: {conditions: [{type: NoVirtualMachines, status: 'True'}]}}", ""},
		"new pool":   {"Nothing was composed for it.", without, "{}", ""},
		"pool with servers": {
			"They would run without management.", without,
			"{status: {conditions: [{type: NoVirtualMachines, status: 'False', reason: ServersOnNodes, message: 2 virtual machines are on nodes of the pool}]}}",
			"spec.hypervisorPools: pool a cannot be removed: 2 virtual machines are on nodes of the pool",
		},
		"unknown": {
			"Crossplane sets the condition to Unknown.", without, "{status: {conditions: [{type: NoVirtualMachines, status: Unknown}]}}",
			"spec.hypervisorPools: pool a cannot be removed: it is unknown whether virtual machines are on nodes of the pool, because the pool cannot be composed",
		},
		"allowed": {
			"The pool consents.", without,
			"{spec: {allowDeletionWithVirtualMachines: true}, status: {conditions: [{type: NoVirtualMachines, status: 'False'}]}}", "",
		},
		"storage": {
			"Its data is in use.", "{" + small + ", hypervisorPools: [{name: a, spec: {}}]}", "{}",
			"spec.storage: cannot be removed or replaced while the cloud exists",
		},
		"storage replaced": {
			"The same.", "{" + small + ", storage: {ref: {namespace: shared, name: ceph}}, hypervisorPools: [{name: a, spec: {}}]}", "{}",
			"spec.storage: cannot be removed or replaced while the cloud exists",
		},
		"control plane": {
			"Hypervisors belong to it.",
			"{controlPlane: {ref: {namespace: shared, name: cloud}}, storage: {spec: {deviceSelector: {all: true}}}, hypervisorPools: [{name: a, spec: {}}]}", "{}",
			"spec.controlPlane: cannot be replaced",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, full, shared()...)
			patch(t, w, "pool-a", tc.pool)
			w.XR.Fields["spec"] = structpb.NewStructValue(parsed(tc.spec))
			w.XR.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(parsed("{namespace: tenant-a, name: prod}"))
			rsp, _, err := w.Explain(New())
			if got := err == nil; got != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
				t.Fatalf("%s\n got %v\nwant %s", tc.reason, err, tc.want)
			}
			for _, name := range []string{"storage", "control-plane", "pool-a"} {
				if _, desired := rsp.Composed[name]; desired == (tc.want == "" && name == "pool-a") {
					t.Errorf("%s\n%s is desired: %t", tc.reason, name, desired)
				}
			}
		})
	}
}

// patch merges fields into an observed resource.
func patch(t *testing.T, w *simulate.Cluster, name, fields string) {
	t.Helper()
	o := w.Observed[name].Tree()
	merge(o, parsed(fields))
	w.Observed[name] = encoded.Of(o)
}

func merge(into, from *structpb.Struct) {
	for key, v := range from.GetFields() {
		if below := into.GetFields()[key].GetStructValue(); below != nil && v.GetStructValue() != nil {
			merge(below, v.GetStructValue())
			continue
		}
		into.Fields[key] = v
	}
}

// TestStatus verifies the combined status while a claim is not ready.
func TestStatus(t *testing.T) {
	const rejected = "{status: {conditions: [{type: Ready, status: 'True'}, {type: SpecValid, status: 'False', reason: InvalidSpec, message: "
	for name, tc := range map[string]struct {
		reason, resource, patch string
		// part is the state of the part, as "ready applied message".
		part, current string
	}{
		"ready": {"Everything is ready.", "pool-a", "{}", "true true ", ""},
		"invalid": {
			"The message names the fields of the cloud.", "control-plane", rejected + "\"spec.services.glance: it is wrong\\nspec.size: it is wrong\"}]}}",
			"false true spec.controlPlane.spec.services.glance: it is wrong\nspec.size: it is wrong",
			"control-plane: ControlPlaneCluster prod: spec.controlPlane.spec.services.glance: it is wrong; spec.size: it is wrong",
		},
		"invalid pool": {
			"The field has an index.", "pool-a", rejected + "'spec.controlPlaneRef: waits; spec.slices[0].name: it is wrong'}]}}",
			"false true spec.controlPlane: waits; spec.hypervisorPools[0].spec.slices[0].name: it is wrong",
			"hypervisor-pools: HypervisorCluster prod-a: spec.controlPlane: waits; spec.hypervisorPools[0].spec.slices[0].name: it is wrong",
		},
		"outdated": {
			"Ready is of an earlier spec.", "storage", "{status: {lastValidSpec: {replicationFactor: 2}}}", "false true its last change is not composed yet",
			"storage: StorageCluster prod-storage: its last change is not composed yet",
		},
		"not applied": {
			"The claim does not have the last edit.", "storage", "{metadata: {annotations: {crossplane.c5c3.io/hash: other}}}",
			"false false the last change of it is not applied yet", //nolint:dupword // not ready, and not applied
			"storage: StorageCluster prod-storage: the last change of it is not applied yet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, full)
			patch(t, w, tc.resource, tc.patch)
			rsp, _, err := w.Explain(New())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range rsp.Composite.Object.At("status", "parts").List() {
				if p := p.(map[string]any); p["name"] == tc.resource {
					message, _ := p["message"].(string)
					ready, isSet := p["ready"].(bool)
					applied, alsoSet := p["applied"].(bool)
					if !isSet || !alsoSet {
						t.Errorf("the API server rejects a part without ready and applied: %v", p)
					}
					got = strings.Join([]string{boolText(ready), boolText(applied), message}, " ")
				}
			}
			if diff := cmp.Diff(tc.part, got); diff != "" {
				t.Errorf("%s\nstatus.parts: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.current, conditionOf(rsp, "Current").GetMessage()); diff != "" {
				t.Errorf("%s\nCurrent: -want, +got:\n%s", tc.reason, diff)
			}
			if rsp.Composite.Ready != (tc.current == "") {
				t.Errorf("%s\nthe cloud is ready: %t", tc.reason, rsp.Composite.Ready)
			}
		})
	}
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

func conditionOf(rsp *wire.Response, typ string) *fnv1.Condition {
	for _, c := range rsp.Conditions {
		if c.GetType() == typ {
			return c
		}
	}
	return nil
}

// TestExisting verifies that an existing claim that was found before is a reason for waiting when it cannot be found: nothing is deleted.
func TestExisting(t *testing.T) {
	const spec = "{controlPlane: {ref: {namespace: shared, name: cloud}}, hypervisorPools: [{name: a, spec: {}}]}"
	plane := claimOf("ControlPlaneCluster", "cloud", allowed)
	for name, tc := range map[string]struct {
		reason string
		others []string
		waits  string
	}{
		"ready":      {"It exists.", shared(), ""},
		"gone":       {"It cannot be found.", nil, `existing-claims: ConfigMap prod-existing-claims: ControlPlaneCluster cloud of namespace shared: spec.controlPlane.ref: there is no ControlPlaneCluster`},
		"unbound":    {"Nothing is composed.", []string{plane}, "existing-claims: ConfigMap prod-existing-claims: ControlPlaneCluster cloud of namespace shared: nothing is composed for it yet"},
		"not ready":  {"It is updated.", []string{plane, compositeOf("ControlPlaneCluster", "cloud", "phase: Catalog")}, `existing-claims: ConfigMap prod-existing-claims: ControlPlaneCluster cloud of namespace shared: it is in phase "Catalog"`},
		"no consent": {"Its owner withdraws the consent.", []string{claimOf("ControlPlaneCluster", "cloud", "allowedNamespaces: []")}, `existing-claims: ConfigMap prod-existing-claims: ControlPlaneCluster cloud of namespace shared: spec.controlPlane.ref: there is no`},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, spec, shared()...)
			around(w, tc.others...)
			rsp, _, err := w.Explain(New())
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if got := conditionOf(rsp, "Current").GetMessage(); !strings.HasPrefix(got, tc.waits) || (got == "") != (tc.waits == "") {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.waits)
			}
			if _, ok := rsp.Composed["pool-a"]; !ok {
				t.Errorf("%s\nthe pool is not desired any more", tc.reason)
			}
			if got := len(rsp.Composite.Object.At("status", "endpoints").List()); got != 1 {
				t.Errorf("%s\nthe status has %d endpoints", tc.reason, got)
			}
		})
	}
}

// TestReportsEffectOfDeletion verifies what a deletion of the cloud would do: the effect on data, and whether virtual machines are left.
func TestReportsEffectOfDeletion(t *testing.T) {
	const servers = "{status: {conditions: [{type: NoVirtualMachines, status: 'False', reason: ServersOnNodes, message: 2 virtual machines}]}}"
	for name, tc := range map[string]struct {
		reason, spec, resource, patch string
		wantPolicy, wantMachines      string
	}{
		"default": {"Data is kept.", full, "storage", "{}", "Retain", "TRUE Counted"},
		"data": {
			"A claim deletes its data.", strings.Replace(full, "{deviceSelector", "{deletionPolicy: Delete, deviceSelector", 1), "storage", "{}", "Delete", "TRUE Counted",
		},
		"not in force": {"The claim does not retain its data yet.", full, "storage", "{status: {deletionPolicy: Delete}}", "Delete", "TRUE Counted"},
		"servers":      {"They would run without management.", full, "pool-a", servers, "Retain", "FALSE ServersOnNodes"},
		"no pool":      {"There are no servers.", "{" + small + "}", "control-plane", "{}", "Retain", "TRUE Counted"},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, tc.spec)
			patch(t, w, tc.resource, tc.patch)
			rsp, _, err := w.Explain(New())
			if err != nil {
				t.Fatal(err)
			}
			c := conditionOf(rsp, noVirtualMachines)
			got := []string{rsp.Composite.Object.At("status", "deletionPolicy").Text(), strings.TrimPrefix(c.GetStatus().String(), "STATUS_CONDITION_") + " " + c.GetReason()}
			if diff := cmp.Diff([]string{tc.wantPolicy, tc.wantMachines}, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
