// Package workload builds the Kubernetes objects of a service's processes: pods that comply with the restricted Pod Security
// Standard, their Deployments, StatefulSets, DaemonSets, Jobs and Services, disruption budgets and network policies.
package workload

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Workload is a group of identical pods.
type Workload struct {
	// Name of the workload's objects, and their namespace.
	Name, Namespace string
	// App that the workload belongs to (keystone), its instance (the composite resource's name) and the component (api).
	App, Instance, Component string
	// Headless is the name of the headless Service for the pods of a StatefulSet. Empty: the name of the workload.
	Headless string
	// Replicas is the number of pods.
	Replicas int32
	// Resources of the main container.
	Resources *common.Resources
	// Placement of the pods.
	Placement common.Placement
	// Priority is the name of the pods' PriorityClass. Empty: the default of the cluster.
	Priority string
	// PullSecrets of the images.
	PullSecrets []common.ObjectName
}

// Labels returns the labels of the workload's objects
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/).
func (w Workload) Labels() map[string]string {
	l := w.Selector()
	l["app.kubernetes.io/part-of"] = "openstack"
	l["app.kubernetes.io/managed-by"] = "crossplane-cobaltcore"
	return l
}

// Selector returns the labels that select the workload's pods. They must never change: a Deployment's selector is immutable.
func (w Workload) Selector() map[string]string {
	l := map[string]string{"app.kubernetes.io/name": w.App, "app.kubernetes.io/instance": w.Instance}
	if w.Component != "" {
		l["app.kubernetes.io/component"] = w.Component
	}
	return l
}

// Meta returns the metadata of the workload's objects.
func (w Workload) Meta() object.Meta {
	return object.Meta{Name: w.Name, Namespace: w.Namespace, Labels: w.Labels()}
}

func (w Workload) objectMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace, Labels: w.Labels()}
}

// headless returns the name of the headless Service.
func (w Workload) headless() string { return cmp.Or(w.Headless, w.Name) }

// With returns a workload of the same service with another name and component.
func (w Workload) With(name, component string) Workload {
	w.Name, w.Component = name, component
	return w
}

// Requirements converts resources to Kubernetes' type.
func Requirements(r *common.Resources) corev1.ResourceRequirements {
	if r == nil {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Requests: resourceList(r.Requests), Limits: resourceList(r.Limits)}
}

// MergeRequirements returns the requested resources, completed with defaults. If the resulting request exceeds the limit, the value that
// was requested wins.
func MergeRequirements(requested, defaults *common.Resources) corev1.ResourceRequirements {
	queried, out := Requirements(requested), corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for _, r := range []corev1.ResourceRequirements{Requirements(defaults), queried} {
		maps.Copy(out.Requests, r.Requests)
		maps.Copy(out.Limits, r.Limits)
	}
	for name, limit := range out.Limits {
		request := out.Requests[name]
		if request.Cmp(limit) <= 0 {
			continue
		}
		if _, ok := queried.Requests[name]; ok {
			out.Limits[name] = request
		} else {
			out.Requests[name] = limit
		}
	}
	return out
}

// Resources returns requests of CPU and memory and a limit of memory. CPU has no limit: throttling costs more than it saves.
func Resources(cpu, memory, memoryLimit string) *common.Resources {
	return &common.Resources{
		Requests: &common.ResourceAmounts{CPU: new(resource.MustParse(cpu)), Memory: new(resource.MustParse(memory))},
		Limits:   &common.ResourceAmounts{Memory: new(resource.MustParse(memoryLimit))},
	}
}

func resourceList(a *common.ResourceAmounts) corev1.ResourceList {
	if a == nil {
		return nil
	}
	out := corev1.ResourceList{}
	for name, q := range map[corev1.ResourceName]*resource.Quantity{
		corev1.ResourceCPU: a.CPU, corev1.ResourceMemory: a.Memory, corev1.ResourceEphemeralStorage: a.EphemeralStorage,
	} {
		if q != nil {
			out[name] = *q
		}
	}
	return out
}
