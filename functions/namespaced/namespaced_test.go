package namespaced

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// composite is a namespaced form as Crossplane stores it.
const composite = `
apiVersion: m.crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata:
  namespace: tenant-a
  name: cloud
  uid: 6f0d2c3a
  labels: {team: a, crossplane.io/composite: cloud, example.com/cost-center: "7"}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: "{}"
    example.com/ticket: "12"
spec:
  openStackRelease: "2025.2"
  services: {keystone: {replicas: 2}}
  compositionRevisionRef: {name: other-1}
  writeConnectionSecretToRef: {name: s}
  crossplane:
    compositionRef: {name: controlplane-namespaced}
    compositionRevisionSelector: {matchLabels: {crossplane.c5c3.io/channel: preview}}
    resourceRefs: [{apiVersion: crossplane.c5c3.io/v1alpha1, kind: ControlPlaneCluster, name: cloud}]
`

// claim is created for composite.
const claim = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata:
  namespace: tenant-a
  name: cloud
  labels: {team: a, example.com/cost-center: "7"}
  annotations: {example.com/ticket: "12"}
spec:
  openStackRelease: "2025.2"
  services: {keystone: {replicas: 2}}
  compositionRevisionSelector: {matchLabels: {crossplane.c5c3.io/channel: preview}}
`

// bound returns a stored claim with more YAML.
func bound(more string) string {
	return `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {namespace: tenant-a, name: cloud, generation: 3}
spec:
  openStackRelease: "2025.2"
  services: {keystone: {replicas: 2}}
  resourceRef: {apiVersion: crossplane.c5c3.io/v1alpha1, kind: XControlPlaneCluster, name: cloud-x7k2p}
  compositeDeletePolicy: Foreground
  compositionUpdatePolicy: Automatic
` + more
}

func parse(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	fields := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	out, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run runs the function, with a claim unless it is empty.
func run(t *testing.T, composite, observed string) *wire.Response {
	t.Helper()
	req := &wire.Request{Composite: parse(t, composite), Observed: map[string]encoded.Struct{}}
	if observed != "" {
		req.Observed["claim"] = encoded.Of(parse(t, observed))
	}
	return New(controlplanev1.GroupVersionKind).Run(req)
}

func TestComposesClaimOfSameName(t *testing.T) {
	rsp := run(t, composite, "")
	if len(rsp.Composed) != 1 {
		t.Fatalf("%d composed resources, want the claim only", len(rsp.Composed))
	}
	if diff := cmp.Diff(parse(t, claim), rsp.Composed["claim"].Object.Tree(), protocmp.Transform()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestCopiesStatusOfClaim(t *testing.T) {
	const status = `
status:
  phase: Ready
  instance: tenant-a-cloud
  lastValidSpec: {openStackRelease: "2025.2", services: {keystone: {replicas: 2}}}
  connectionDetails: {lastPublishedTime: "2026-01-01T00:00:00Z"}
  conditions:
  - {type: Synced, status: "True", reason: ReconcileSuccess}
  - {type: Ready, status: "True", reason: Available, observedGeneration: 3}
  - {type: Current, status: "True", reason: Current}
  - {type: NoVirtualMachines, status: "False", reason: VirtualMachines, message: 2 servers}
`
	type condition struct{ Status, Reason, Message string }
	for name, tc := range map[string]struct {
		reason, observed string
		ready            bool
		want             map[string]condition
	}{
		"Missing": {
			reason: "The first call only creates the claim.",
			want: map[string]condition{
				"Current": {"FALSE", "ClaimMissing", "ControlPlaneCluster.crossplane.c5c3.io cloud does not exist yet, or another object controls it; see the Events " +
					"of this resource"},
			},
		},
		"New": {
			reason:   "A claim without a status has reported nothing.",
			observed: bound(""),
			want:     map[string]condition{"Current": {"FALSE", "NotReported", "the claim has not reported the condition Current yet"}},
		},
		"Ready": {
			reason:   "The fields of Crossplane in a claim are no difference.",
			observed: bound(status), ready: true,
			want: map[string]condition{
				"Current": {Status: "TRUE", Reason: "Current"}, "NoVirtualMachines": {"FALSE", "VirtualMachines", "2 servers"},
			},
		},
		"OlderReady": {
			reason:   "The claim was ready at an earlier spec.",
			observed: bound("status: {conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}"),
			want:     map[string]condition{"Current": {"FALSE", "NotReported", "the claim has not reported the condition Current yet"}},
		},
		"Outdated": {
			reason: "Crossplane sets Ready of a claim before the last edit is composed.",
			observed: bound(`
status:
  lastValidSpec: {openStackRelease: "2025.2", services: {keystone: {replicas: 1}}}
  conditions:
  - {type: Ready, status: "True", reason: Available, observedGeneration: 3}
  - {type: Current, status: "True", reason: Current}
`),
			want: map[string]condition{"Current": {"FALSE", "Outdated", "the last change of the claim is not composed yet"}},
		},
		"Invalid": {
			reason: "The last valid spec is composed while the spec is invalid.",
			observed: bound(`
status:
  lastValidSpec: {openStackRelease: "2025.2"}
  conditions:
  - {type: Ready, status: "True", reason: Available, observedGeneration: 3}
  - {type: Current, status: "False", reason: InvalidSpec, message: "spec.size: unknown"}
`),
			want: map[string]condition{"Current": {"FALSE", "InvalidSpec", "spec.size: unknown"}},
		},
		"Different": {
			reason: "Another client has set a field of the claim.",
			observed: `
metadata: {namespace: tenant-a, name: cloud, generation: 3}
spec:
  openStackRelease: "2025.1"
  services: {keystone: {replicas: 2, domain: a}}` + status,
			want: map[string]condition{
				"Current": {"FALSE", "ClaimDiffers", "ControlPlaneCluster.crossplane.c5c3.io cloud does not have the values of this resource yet: " +
					"spec.openStackRelease, spec.services.keystone.domain; if this does not change, another client sets them: remove them from the claim"},
				"NoVirtualMachines": {"FALSE", "VirtualMachines", "2 servers"},
			},
		},
		"Deleted": {
			reason: "A user has deleted the claim.",
			observed: `
metadata: {namespace: tenant-a, name: cloud, generation: 3, deletionTimestamp: "2026-01-01T00:00:00Z"}
spec: {openStackRelease: "2025.2", services: {keystone: {replicas: 2}}}` + status,
			want: map[string]condition{
				"Current": {"FALSE", "ClaimDeleted", "ControlPlaneCluster.crossplane.c5c3.io cloud is being deleted; it is created again afterwards, " +
					"because this resource still exists"},
				"NoVirtualMachines": {"FALSE", "VirtualMachines", "2 servers"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rsp := run(t, composite, tc.observed)
			got := map[string]condition{}
			for _, c := range rsp.Conditions {
				got[c.GetType()] = condition{c.GetStatus().String()[len("STATUS_CONDITION_"):], c.GetReason(), c.GetMessage()}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: conditions: -want, +got:\n%s", tc.reason, diff)
			}
			if rsp.Composite.Ready != tc.ready || rsp.Composed["claim"].Ready != tc.ready {
				t.Errorf("%s: ready is %v and %v", tc.reason, rsp.Composite.Ready, rsp.Composed["claim"].Ready)
			}
			if _, composed := rsp.Composed["claim"]; !composed {
				t.Errorf("%s: the claim is not composed, and Crossplane deletes it", tc.reason)
			}
			want := &structpb.Struct{Fields: map[string]*structpb.Value{}}
			switch name {
			case "Outdated":
				want = parse(t, `{lastValidSpec: {openStackRelease: "2025.2", services: {keystone: {replicas: 1}}}}`)
			case "Invalid":
				want = parse(t, `{lastValidSpec: {openStackRelease: "2025.2"}}`)
			case "Ready", "Different", "Deleted":
				want = parse(t, `{phase: Ready, instance: tenant-a-cloud, lastValidSpec: {openStackRelease: "2025.2", services: {keystone: {replicas: 2}}}}`)
			}
			if diff := cmp.Diff(want, rsp.Composite.Object.Tree().GetFields()["status"].GetStructValue(), protocmp.Transform()); diff != "" {
				t.Errorf("%s: status: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConditionsOfEarlierClaimBecomeUnknown(t *testing.T) {
	rsp := run(t, composite+`
status:
  conditions:
  - {type: Synced, status: "True", reason: ReconcileSuccess}
  - {type: Current, status: "True", reason: Current}
  - {type: KeystoneReady, status: "True", reason: Ready}
`, "")
	got := map[string]string{}
	for _, c := range rsp.Conditions {
		got[c.GetType()] = c.GetStatus().String() + " " + c.GetReason()
	}
	want := map[string]string{
		"Current": "STATUS_CONDITION_FALSE ClaimMissing", "KeystoneReady": "STATUS_CONDITION_UNKNOWN NotReported",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestRejectsResourceWithoutName(t *testing.T) {
	rsp := run(t, "{metadata: {namespace: tenant-a}}", "")
	if len(rsp.Results) == 0 || rsp.Results[len(rsp.Results)-1].GetSeverity() != fnv1.Severity_SEVERITY_FATAL || rsp.Composed != nil {
		t.Errorf("results %v, composed %v", rsp.Results, rsp.Composed)
	}
}

func TestManyDifferencesAreCounted(t *testing.T) {
	more := "spec: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1}"
	got := differences(parse(t, more), parse(t, "spec: {}"))
	if diff := cmp.Diff([]string{"spec.a", "spec.b", "spec.c", "spec.d", "spec.e", "2 more"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
