package live_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/live"
)

// objects are a claim whose Keystone has no pods.
const objects = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {name: prod, namespace: team-a, generation: 1}
spec: {resourceRef: {apiVersion: crossplane.c5c3.io/v1alpha1, kind: XControlPlaneCluster, name: prod-x7d2f}}
status:
  conditions:
  - {type: Synced, status: "True", observedGeneration: 1}
  - {type: Ready, status: "False", reason: Creating}
  - {type: Current, status: "False", reason: PodsNotAvailable, message: "keystone: api: Deployment keystone-api: 0 of 2 pods are available"}
  components:
  - {name: database, phase: Ready}
  - {name: keystone, phase: Progressing, reason: PodsNotAvailable, message: "api: Deployment keystone-api: 0 of 2 pods are available"}
---
apiVersion: crossplane.c5c3.io/v1alpha1
kind: XControlPlaneCluster
metadata: {name: prod-x7d2f}
spec: {resourceRefs: [{apiVersion: apps/v1, kind: Deployment, name: keystone-api, namespace: cloud}]}
status: {conditions: [{type: Synced, status: "True"}, {type: Ready, status: "False"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: keystone-api, namespace: cloud, generation: 1}
spec: {replicas: 2, selector: {matchLabels: {app: keystone}}}
status: {observedGeneration: 1, updatedReplicas: 2, replicas: 2}
---
apiVersion: v1
kind: Event
metadata: {name: e, namespace: cloud}
type: Warning
reason: FailedCreate
involvedObject: {kind: ReplicaSet, name: keystone-api-6d4f}
message: 'exceeded quota: compute, requested: limits.memory=1Gi'
---
apiVersion: v1
kind: Event
metadata: {name: normal, namespace: cloud}
type: Normal
reason: FailedCreate
involvedObject: {kind: ReplicaSet, name: keystone-api-6d4f}
message: "nothing"
`

// reader returns a reader of the objects without rights on some kinds.
func reader(t *testing.T, forbidden ...string) *live.Reader {
	t.Helper()
	refuse := func(kind, name string) error {
		if slices.Contains(forbidden, strings.TrimSuffix(kind, "List")) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, name, nil)
		}
		return nil
	}
	b := fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithIndex(&corev1.Event{}, "type", func(o client.Object) []string {
			if e, ok := o.(*corev1.Event); ok {
				return []string{e.Type}
			}
			typ, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "type")
			return []string{typ}
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if err := refuse(o.GetObjectKind().GroupVersionKind().Kind, key.Name); err != nil {
					return err
				}
				return c.Get(ctx, key, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if err := refuse(l.GetObjectKind().GroupVersionKind().Kind, ""); err != nil {
					return err
				}
				return c.List(ctx, l, opts...)
			},
		})
	for doc := range strings.SplitSeq(objects, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		b = b.WithObjects(o)
	}
	return live.New(b.Build(), func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) })
}

// TestDiagnosesWithRightsOfUser diagnoses the claim with the rights of an operator, of a tenant, and of an operator without events.
func TestDiagnosesWithRightsOfUser(t *testing.T) {
	cases := map[string]struct {
		reason        string
		forbidden     []string
		cause, object string
		message, next string
		note          string
	}{
		"operator": {
			"An operator sees the cause.", nil, "QuotaExceeded", "Deployment", "exceeded quota", "kubectl describe resourcequota compute -n cloud", "",
		},
		"tenant": {
			"A tenant sees the component, and the next step.", []string{"XControlPlaneCluster", "Function", "Provider", "Configuration"},
			"PodsNotAvailable", "ControlPlaneCluster", "keystone: api: Deployment keystone-api: 0 of 2 pods",
			"ask the platform team to run: cobaltcore doctor controlplanecluster/prod -n team-a",
			"missing right: get xcontrolplanecluster.crossplane.c5c3.io in the whole cluster",
		},
		"without events": {
			"The diagnosis continues without a right.", []string{"Event"}, "PodsNotAvailable", "Deployment", "0 of 2 pods", "kubectl describe deployment.apps",
			"missing right: list event in namespace cloud",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kind, _ := doctor.KindOf("controlplaneclusters")
			report, _, err := doctor.Diagnose(t.Context(), reader(t, tc.forbidden...), kind, "team-a", "prod", doctor.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Causes) == 0 {
				t.Fatalf("%s\nno causes, notes %q", tc.reason, report.Notes)
			}
			first := report.Causes[0]
			if first.Reason != tc.cause || first.Object.Kind != tc.object || !strings.Contains(first.Message, tc.message) ||
				!strings.Contains(strings.Join(first.Next, "\n"), tc.next) {
				t.Errorf("%s\ngot %+v", tc.reason, first)
			}
			if tc.note != "" && !slices.Contains(report.Notes, tc.note) {
				t.Errorf("notes: %q, want %q", report.Notes, tc.note)
			}
			if tc.note == "" && len(report.Notes) > 0 {
				t.Errorf("notes: %q", report.Notes)
			}
		})
	}
}

// TestReportsUnreadableClaims tests the errors for a claim that cannot be read.
func TestReportsUnreadableClaims(t *testing.T) {
	cases := map[string]struct {
		reason, name string
		forbidden    []string
		want         string
	}{
		"missing":   {"The name is wrong.", "prd", nil, "ControlPlaneCluster prd in namespace team-a does not exist; list"},
		"forbidden": {"A right is missing.", "prod", []string{"ControlPlaneCluster"}, "missing right: get controlplanecluster.crossplane.c5c3.io in namespace team-a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kind, _ := doctor.KindOf("controlplanecluster")
			_, _, err := doctor.Diagnose(t.Context(), reader(t, tc.forbidden...), kind, "team-a", tc.name, doctor.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}
