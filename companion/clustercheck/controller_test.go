package clustercheck

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

const instance = "west-12345"

var scheme = faultinjection.NewScheme(c5c3v1.AddToScheme, corev1.AddToScheme, storagev1.AddToScheme)

var now = time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC)

// cluster is a cluster with one object of each kind that is read.
type cluster struct {
	clusterIP string
	objects   []client.Object
	// podSecurity: invalid levels are rejected. noGateways: the Gateway API is not installed.
	podSecurity, noGateways bool
	// webhook is the error of a webhook for the dry run.
	webhook error
	// broken is the kind that cannot be read, and err the error.
	broken string
	err    error
}

func node(name, architecture string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		NodeInfo:   corev1.NodeSystemInfo{Architecture: architecture},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
	}}
}

func storageClass(name string, annotations map[string]string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Provisioner: "csi.example.com"}
}

func other(apiVersion, kind, name string, rest map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: rest}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	return o
}

func conditions(kind, status string) map[string]any {
	return map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status}}}
}

func crd(name, established string, served bool, labels map[string]any) *unstructured.Unstructured {
	return other("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec":     map[string]any{"versions": []any{map[string]any{"name": "v1", "served": served}}},
		"status":   conditions("Established", established),
	})
}

// client returns a client of the cluster. The client of the test has no admission plugins and serves all kinds.
func (c cluster) client(check *c5c3v1.ClusterCheck) client.Client {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}, Spec: corev1.ServiceSpec{ClusterIP: c.clusterIP}}
	api := faultinjection.NewServer(scheme, []client.Object{check}, append(c.objects, service, check)...)
	fails := func(kind string) error {
		if kind == c.broken {
			return c.err
		}
		return nil
	}
	return interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := fails(o.GetObjectKind().GroupVersionKind().Kind); err != nil {
				return err
			}
			return api.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			kind := fmt.Sprintf("%T", list)
			if u, ok := list.(*unstructured.UnstructuredList); ok {
				kind = u.GetKind()
				if c.noGateways {
					return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: kind}}
				}
			}
			if err := fails(kind); err != nil {
				return err
			}
			return api.List(ctx, list, opts...)
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			options := &client.PatchOptions{}
			for _, opt := range opts {
				opt.ApplyToPatch(options)
			}
			if data, err := patch.Data(o); o.GetName() != instance || err != nil || string(data) != unknownLevel || len(options.DryRun) != 1 {
				return fmt.Errorf("unexpected patch of %s", o.GetName())
			}
			if c.podSecurity {
				label := field.NewPath("metadata", "labels").Key("pod-security.kubernetes.io/enforce")
				return apierrors.NewInvalid(schema.GroupKind{Kind: "Namespace"}, instance, field.ErrorList{field.Invalid(label, "cobaltcore-check", "no level")})
			}
			return c.webhook
		},
	})
}

// TestReport checks the report of a cluster.
func TestReport(t *testing.T) {
	operators := []c5c3v1.CheckedOperator{{Name: "operator", Definitions: []c5c3v1.CheckedDefinition{
		{Name: "a.example.com", Version: "v1"}, {Name: "b.example.com", Version: "v1"}, {Name: "c.example.com", Version: "v1"},
		{Name: "d.example.com", Version: "v2"}, {Name: "e.example.com", Version: "v1"},
	}}}
	last := common.ClusterReport{KubernetesVersion: "v1.34.0"}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no role"))
	for name, tc := range map[string]struct {
		reason  string
		cluster cluster
		want    common.ClusterReport
		message string
		after   time.Duration
		// fresh: the report has a new time.
		fresh bool
	}{
		"Full": {
			reason: "Everything is reported, in the order of names.",
			cluster: cluster{clusterIP: "10.96.0.1", podSecurity: true, objects: []client.Object{
				node("b", "arm64", corev1.ConditionTrue), node("a", "amd64", corev1.ConditionTrue), node("c", "amd64", corev1.ConditionUnknown),
				storageClass("slow", nil), storageClass("fast", map[string]string{defaultClass: "true"}),
				other("gateway.networking.k8s.io/v1", "GatewayClass", "public", map[string]any{"status": conditions("Accepted", "True")}),
				other("gateway.networking.k8s.io/v1", "GatewayClass", "old", map[string]any{"status": conditions("Accepted", "Unknown")}),
				crd("a.example.com", "True", true, map[string]any{"app.kubernetes.io/version": "v1.2.3"}), crd("b.example.com", "False", true, nil),
				crd("c.example.com", "True", false, nil), crd("d.example.com", "True", true, nil),
			}},
			want: common.ClusterReport{
				KubernetesVersion: "v1.35.3", IPFamily: "IPv4", PodSecurity: new(true),
				Nodes:          common.NodeReport{Total: 3, Ready: 2, Architectures: []string{"amd64", "arm64"}},
				StorageClasses: []common.StorageClassReport{{Name: "fast", Provisioner: "csi.example.com", Default: true}, {Name: "slow", Provisioner: "csi.example.com"}},
				GatewayClasses: []common.GatewayClassReport{{Name: "old"}, {Name: "public", Accepted: true}},
				Operators: []common.OperatorReport{{Name: "operator", Version: "v1.2.3", Missing: []string{
					"b.example.com v1", "c.example.com v1", "d.example.com v2", "e.example.com v1",
				}}},
			},
			message: "Ready True Observed: the properties of the cluster were read", after: 5 * time.Minute, fresh: true,
		},
		"Empty": {
			reason:  "A cluster without the Gateway API and without Pod Security Admission has a report.",
			cluster: cluster{clusterIP: "fd00::1", noGateways: true},
			want: common.ClusterReport{KubernetesVersion: "v1.35.3", IPFamily: "IPv6", PodSecurity: new(false), Operators: []common.OperatorReport{{Name: "operator", Missing: []string{
				"a.example.com v1", "b.example.com v1", "c.example.com v1", "d.example.com v2", "e.example.com v1",
			}}}},
			message: "Ready True Observed: the properties of the cluster were read", after: 5 * time.Minute, fresh: true,
		},
		"Webhook": {
			reason:  "A webhook rejects the dry run. The rest is reported.",
			cluster: cluster{clusterIP: "10.96.0.1", webhook: apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, instance, errors.New("no dry runs"))},
			want: common.ClusterReport{KubernetesVersion: "v1.35.3", IPFamily: "IPv4", Operators: []common.OperatorReport{{Name: "operator", Missing: []string{
				"a.example.com v1", "b.example.com v1", "c.example.com v1", "d.example.com v2", "e.example.com v1",
			}}}},
			message: "Ready True Observed: the properties of the cluster were read, except the enforcement of Pod Security levels: cannot check Pod Security " +
				`Admission in a dry run: namespaces "west-12345" is forbidden: no dry runs`,
			after: 5 * time.Minute, fresh: true,
		},
		"Policy": {
			reason:  "A policy of the cluster is not Pod Security Admission.",
			cluster: cluster{clusterIP: "10.96.0.1", webhook: apierrors.NewInvalid(schema.GroupKind{Kind: "Namespace"}, instance, nil)},
			want: common.ClusterReport{KubernetesVersion: "v1.35.3", IPFamily: "IPv4", Operators: []common.OperatorReport{{Name: "operator", Missing: []string{
				"a.example.com v1", "b.example.com v1", "c.example.com v1", "d.example.com v2", "e.example.com v1",
			}}}},
			message: "Ready True Observed: the properties of the cluster were read, except the enforcement of Pod Security levels: cannot check Pod Security " +
				`Admission in a dry run: Namespace "west-12345" is invalid`,
			after: 5 * time.Minute, fresh: true,
		},
		"Unreachable webhook": {
			reason:  "A temporary error is not a property of the cluster.",
			cluster: cluster{clusterIP: "10.96.0.1", webhook: apierrors.NewInternalError(errors.New("timeout"))}, want: last,
			message: "Ready False ReadFailed: cannot check Pod Security Admission in a dry run: Internal error occurred: timeout", after: 10 * time.Second,
		},
		"Forbidden": {
			reason:  "Without the ClusterRole, the last report keeps its age, and the sentence names the chart.",
			cluster: cluster{clusterIP: "10.96.0.1", broken: "*v1.NodeList", err: forbidden}, want: last,
			message: "Ready False Forbidden: cannot list the nodes: nodes is forbidden: no role; install the chart with mode workload in this " +
				"version, which has the ClusterRole cobaltcore:cluster-check",
			after: 10 * time.Second,
		},
		"Broken": {
			reason:  "An error of the API server is not a missing definition.",
			cluster: cluster{clusterIP: "10.96.0.1", broken: "CustomResourceDefinition", err: errors.New("etcd is full")}, want: last,
			message: "Ready False ReadFailed: cannot read CustomResourceDefinition a.example.com: etcd is full", after: 10 * time.Second,
		},
		"NoFamily": {
			reason: "A headless Service has no address.", cluster: cluster{clusterIP: "None"}, want: last,
			message: `Ready False ReadFailed: cannot read the address of Service kubernetes in namespace default: ParseAddr("None"): unable to parse IP`,
			after:   10 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := &c5c3v1.ClusterCheck{
				ObjectMeta: metav1.ObjectMeta{Namespace: instance, Name: "west", Generation: 3},
				Spec:       c5c3v1.ClusterCheckSpec{Operators: operators}, Status: c5c3v1.ClusterCheckStatus{Cluster: last},
			}
			api := tc.cluster.client(check)
			r := &Reconciler{
				Client: api, Reader: api, Events: events.NewFakeRecorder(10), Clock: clocktesting.NewFakePassiveClock(now),
				Version: func(context.Context) (string, error) { return "v1.35.3", nil },
			}
			key := client.ObjectKeyFromObject(check)
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			if err != nil {
				t.Fatal(err)
			}
			got := &c5c3v1.ClusterCheck{}
			if err := api.Get(t.Context(), key, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Status.Cluster, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			c := got.Status.Conditions[0]
			if diff := cmp.Diff(tc.message, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if result.RequeueAfter != tc.after || (got.Status.LastObservationTime != nil) != tc.fresh {
				t.Errorf("%s\nrequeued after %s, observed at %v", tc.reason, result.RequeueAfter, got.Status.LastObservationTime)
			}
		})
	}
}

// TestReportsFailedVersionRequest checks that a failed request for the version is a sentence in the status.
func TestReportsFailedVersionRequest(t *testing.T) {
	check := &c5c3v1.ClusterCheck{ObjectMeta: metav1.ObjectMeta{Namespace: instance, Name: "west"}}
	api := cluster{clusterIP: "10.96.0.1"}.client(check)
	r := &Reconciler{
		Client: api, Reader: api, Events: events.NewFakeRecorder(10), Clock: clocktesting.NewFakePassiveClock(now),
		Version: func(context.Context) (string, error) { return "", errors.New("it is down") },
	}
	key := client.ObjectKeyFromObject(check)
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	got := &c5c3v1.ClusterCheck{}
	if err := api.Get(t.Context(), key, got); err != nil {
		t.Fatal(err)
	}
	if want := "cannot read the version of the API server: it is down"; got.Status.Conditions[0].Message != want {
		t.Errorf("condition %v, want %s", got.Status.Conditions[0], want)
	}
}
