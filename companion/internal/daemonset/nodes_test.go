package daemonset_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/daemonset"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

// TestNodes: the nodes of a DaemonSet are found by its pods, and they are complete only if each selected node has a pod.
func TestNodes(t *testing.T) {
	set := func(desired, misscheduled int32) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: "nova-compute", Namespace: "pool", UID: "of-the-set", Generation: 2},
			Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nova-compute"}}},
			Status: appsv1.DaemonSetStatus{
				ObservedGeneration: 2, DesiredNumberScheduled: desired, NumberMisscheduled: misscheduled,
			},
		}
	}
	old := set(2, 0)
	old.Status.ObservedGeneration = 1
	pod := func(node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "nova-compute-" + node, Namespace: "pool", Labels: map[string]string{"app": "nova-compute"},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set(0, 0), appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
			},
			Spec: corev1.PodSpec{NodeName: node},
		}
	}
	pending := func(node string) *corev1.Pod {
		p := pod(node)
		p.Spec.NodeName = ""
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{
					Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node},
				}},
			}}},
		}}
		return p
	}
	for name, tc := range map[string]struct {
		reason       string
		set          *appsv1.DaemonSet
		pods         []*corev1.Pod
		want         []string
		wantComplete bool
	}{
		"complete":         {"Each node has a pod.", set(2, 0), []*corev1.Pod{pod("a"), pod("b")}, []string{"a", "b"}, true},
		"missing":          {"A pod is being replaced.", set(2, 0), []*corev1.Pod{pod("b")}, []string{"b"}, false},
		"misscheduled":     {"The pod of a node that is not selected does not count for another.", set(2, 1), []*corev1.Pod{pod("b"), pod("c")}, []string{"b", "c"}, false},
		"misscheduled too": {"All selected nodes have pods.", set(2, 1), []*corev1.Pod{pod("a"), pod("b"), pod("c")}, []string{"a", "b", "c"}, true},
		"pending":          {"The node of a pod that waits for room.", set(2, 0), []*corev1.Pod{pending("a"), pod("b")}, []string{"a", "b"}, true},
		"replaced":         {"A node with two pods for a moment counts once.", set(2, 0), []*corev1.Pod{pod("b"), pending("b")}, []string{"b"}, false},
		"old status":       {"The numbers are of the previous template.", old, []*corev1.Pod{pod("a"), pod("b")}, []string{"a", "b"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{tc.set}
			for i, p := range tc.pods {
				p.Name += string(rune('a' + i))
				objects = append(objects, p)
			}
			api := faultinjection.NewServer(faultinjection.NewScheme(appsv1.AddToScheme, corev1.AddToScheme), nil, objects...)
			got, complete, err := daemonset.Nodes(t.Context(), api, client.ObjectKeyFromObject(tc.set))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(got)); diff != "" || complete != tc.wantComplete {
				t.Errorf("%s Complete %t (-want +got):\n%s", tc.reason, complete, diff)
			}
		})
	}
}

func names(nodes []daemonset.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

// TestNodesHaveRevisionAndCreationTime: a node has the revision and the creation time of its pod.
func TestNodesHaveRevisionAndCreationTime(t *testing.T) {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "nova-compute", Namespace: "pool", UID: "of-the-set"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nova-compute"}}},
	}
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "pool", Labels: map[string]string{"app": "nova-compute", "controller-revision-hash": "7d9f8c"},
			CreationTimestamp: metav1.Time{Time: at},
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
		},
		Spec: corev1.PodSpec{NodeName: "a"},
	}
	api := faultinjection.NewServer(faultinjection.NewScheme(appsv1.AddToScheme, corev1.AddToScheme), nil, set, pod)
	got, _, err := daemonset.Nodes(t.Context(), api, client.ObjectKeyFromObject(set))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]daemonset.Node{{Name: "a", Revision: "7d9f8c", CreatedAt: at}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFindsNodesOfAllPages: the nodes of all pages of pods are found.
func TestFindsNodesOfAllPages(t *testing.T) {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "nova-compute", Namespace: "pool", UID: "of-the-set"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nova-compute"}}},
		Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: 3},
	}
	api := faultinjection.NewServer(faultinjection.NewScheme(appsv1.AddToScheme, corev1.AddToScheme), nil, set)
	var limits []int64
	paged := interceptor.NewClient(api, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			options := (&client.ListOptions{}).ApplyOptions(opts)
			limits = append(limits, options.Limit)
			pods, _ := l.(*corev1.PodList)
			pods.Continue = map[string]string{"": "b", "b": "c"}[options.Continue]
			node := options.Continue
			if node == "" {
				node = "a"
			}
			pods.Items = []corev1.Pod{{
				ObjectMeta: metav1.ObjectMeta{
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
				},
				Spec: corev1.PodSpec{NodeName: node},
			}}
			return nil
		},
	})
	got, complete, err := daemonset.Nodes(t.Context(), paged, client.ObjectKeyFromObject(set))
	if diff := cmp.Diff([]string{"a", "b", "c"}, names(got)); diff != "" || !complete || err != nil {
		t.Errorf("complete %t, %v (-want +got):\n%s", complete, err, diff)
	}
	if diff := cmp.Diff([]int64{250, 250, 250}, limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}
