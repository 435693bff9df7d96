package emitted

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// infrastructure are the apps without which no service works.
var infrastructure = map[string]bool{
	"companion": true, "keystone": true, "memcached": true, "ovn": true,
}

// unimportant are the apps whose pods may wait, and have no class.
var unimportant = map[string]string{
	"tempest": "Tests must not preempt the tested services.",
}

// classPaths are the fields of operators' kinds with the PriorityClass of their pods.
var classPaths = map[string][]string{
	"MariaDB": {"priorityClassName"}, "MaxScale": {"priorityClassName"}, "Valkey": {"priorityClassName"},
	"RabbitmqCluster": {"override", "statefulSet", "spec", "template", "spec", "priorityClassName"},
}

// TestPodsHavePriority checks that each pod has the PriorityClass of its importance. Pods on hypervisors have
// Kubernetes' classes.
func TestPodsHavePriority(t *testing.T) {
	observed := map[string]bool{}
	for _, o := range allComposed(t) {
		fields := o.fields
		if inside, ok, _ := unstructured.NestedMap(fields, "spec", "forProvider", "manifest"); ok { // An Object of provider-kubernetes.
			fields = inside
		}
		if path := classPaths[o.kind]; path != nil {
			class, _, _ := unstructured.NestedString(fields, append([]string{"spec"}, path...)...)
			if class != workload.PriorityInfrastructure {
				t.Errorf("%s: %s %s has the PriorityClass %q, want %q", o.from, o.kind, o.name, class, workload.PriorityInfrastructure)
			}
			observed[o.kind] = true
		}
		app := (&unstructured.Unstructured{Object: fields}).GetLabels()["app.kubernetes.io/name"]
		want := workload.PriorityService
		switch {
		case o.kind == "DaemonSet":
			want = "system-node-critical"
		case infrastructure[app]:
			want = workload.PriorityInfrastructure
		case unimportant[app] != "":
			want = ""
		}
		for _, p := range pods(fields) {
			observed[app] = true
			if p.PriorityClassName != want {
				t.Errorf("%s: %s %s of %q has the PriorityClass %q, want %q", o.from, o.kind, o.name, app, p.PriorityClassName, want)
			}
		}
	}
	for _, name := range []string{"MariaDB", "MaxScale", "Valkey", "RabbitmqCluster", "keystone", "memcached", "ovn", "companion", "nova", "tempest"} {
		if !observed[name] {
			t.Errorf("no pod of %s was looked at", name)
		}
	}
}
