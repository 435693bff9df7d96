package platform

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	composed "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestCompanionRunsWithComposedArguments checks that the process gets the arguments of the composed Deployment's pods.
func TestCompanionRunsWithComposedArguments(t *testing.T) {
	d, _ := composed.Deployment(workload.Workload{Name: "companion", Namespace: "cloud"}, "companion:1").(*appsv1.Deployment)
	pod := &corev1.Pod{Spec: d.Spec.Template.Spec}
	pod.Namespace = "cloud"
	if !(&companions{}).Runs(pod) {
		t.Error("the pod is not recognized as a companion's")
	}
	c := &pod.Spec.Containers[0]
	variables := environmentOf(c, pod)
	if diff := cmp.Diff(map[string]string{"NAMESPACE": "cloud"}, variables); diff != "" {
		t.Errorf("environment: -want, +got:\n%s", diff)
	}
	var args []string
	for _, a := range c.Args {
		args = append(args, expanded(a, variables))
	}
	if diff := cmp.Diff([]string{"--namespace=cloud", "--leader-elect"}, args); diff != "" {
		t.Errorf("arguments: -want, +got:\n%s", diff)
	}
}
