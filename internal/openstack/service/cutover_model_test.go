package service

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestCutoverServesAllReplicas checks that, for any sequence of edits, at least as many ready pods as replicas are selected by the
// Service.
//
// It uses a model: the function sees each object with a delay, its desired state is written with a delay, and a Deployment
// rolls out like in Kubernetes (reconcileOldReplicaSets in
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/controller/deployment/rolling.go).
func TestCutoverServesAllReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRollout(rapid.Int32Range(1, 3).Draw(t, "replicas"), rapid.SampledFrom([]string{"", "2025.1"}).Draw(t, "release"))
		actions := map[string]func(){
			"function": r.function, "writeDeployment": r.writeDeployment, "writeService": r.writeService,
			"seeDeployment": r.seeDeployment, "seeService": r.seeService, "controller": r.controller,
			"release": func() { r.target = rapid.SampledFrom([]release.Release{"2025.1", "2025.2", "2026.1"}).Draw(t, "to") },
			"config":  func() { r.config++ },
			"ready":   func() { r.starts(rapid.IntRange(0, 5).Draw(t, "pod")) },
		}
		names := []string{
			"config", "controller", "function", "ready", "release", "seeDeployment", "seeService", "writeDeployment", "writeService",
		}
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "step")
			actions[name]()
			if served := r.served(); served < r.replicas {
				t.Fatalf("after %s, %d pods serve, want %d: %s", name, served, r.replicas, r)
			}
		}
		for range 30 {
			for _, f := range []func(){
				r.seeService, r.seeDeployment, r.function, r.writeService, r.writeDeployment, r.controller, r.controller, r.controller,
			} {
				f()
				for i := range r.pods {
					r.pods[i].ready = true
				}
			}
			if served := r.served(); served < r.replicas {
				t.Fatalf("%d pods serve in the end, want %d: %s", served, r.replicas, r)
			}
		}
		if selected := r.active.Spec.Selector[releaseLabel]; selected != string(r.target) || len(r.pods) != int(r.replicas) ||
			r.deployment.Spec.MinReadySeconds != 0 {
			t.Fatalf("the rollout to %s does not complete: %s", r.target, r)
		}
	})
}

// rollout is a Deployment and its Service.
type rollout struct {
	replicas   int32
	target     release.Release
	config     int
	deployment *appsv1.Deployment
	active     *corev1.Service
	pods       []modelPod
	minReady   map[string]int32 // of the ReplicaSets, by template
	// observed contains the last observed state of each object, desiredActiveService and the others the desired state.
	observed             map[string]encoded.Struct
	desired              *appsv1.Deployment
	desiredActiveService *corev1.Service
	// An object is not written again unless it is desired again.
	podsWritten, activeWritten bool
}

type modelPod struct {
	template, release string
	ready             bool
}

func newRollout(replicas int32, of string) *rollout {
	r := &rollout{replicas: replicas, target: "2025.1", minReady: map[string]int32{}, observed: map[string]encoded.Struct{}}
	r.desired, r.desiredActiveService = r.builds()
	if of == "" { // without a cutover label, as created by earlier versions
		r.desired.Spec.Template.Labels = map[string]string{}
	} else {
		cutover{to: of, serving: of}.roll(r.desired, r.desiredActiveService)
	}
	r.writeDeployment()
	r.writeService()
	for range 5 {
		r.controller()
		for i := range r.pods {
			r.pods[i].ready = true
		}
	}
	r.controller()
	r.seeDeployment()
	r.seeService()
	return r
}

func (r *rollout) builds() (*appsv1.Deployment, *corev1.Service) {
	w := workload.Workload{Name: "nova", Namespace: "cloud", App: "nova", Instance: "nova", Replicas: r.replicas}
	return w.Deployment(workload.Pod{Annotations: map[string]string{"config": fmt.Sprint(r.config)}}), w.Service()
}

// function runs the function with the observed objects and its last desired state.
func (r *rollout) function() {
	objects := map[string]encoded.Struct{}
	for resource, o := range map[string]runtime.Object{"deployment": r.desired, serviceResource: r.desiredActiveService} {
		w := wrapper.Wrapper{Name: resource, Desired: structOf(o)}
		objects[resource] = wrapper.WithObserved(w.Struct(), r.observed[resource])
	}
	state, err := observe.New(objects)
	if err != nil {
		panic(err)
	}
	s := Base{Definition: &Definition{NeedsCutover: true}, Effective: r.target}
	if err := s.deriveCutover(state); err != nil {
		panic(err)
	}
	r.desired, r.desiredActiveService = r.builds()
	s.cutover.roll(r.desired, r.desiredActiveService)
	r.desired.Annotations = map[string]string{compose.HashAnnotation: names.Hash(10, structOf(r.desired).Hash())}
	r.podsWritten, r.activeWritten = false, false
}

func (r *rollout) writeDeployment() {
	if r.podsWritten {
		return
	}
	r.podsWritten = true
	next := r.desired.DeepCopy()
	next.Generation = 1
	if r.deployment != nil {
		next.Generation, next.Status = r.deployment.Generation+1, r.deployment.Status
	}
	r.deployment = next
}

func (r *rollout) writeService() {
	if !r.activeWritten {
		r.activeWritten, r.active = true, r.desiredActiveService.DeepCopy()
	}
}

func (r *rollout) seeDeployment() { r.observed["deployment"] = structOf(r.deployment) }
func (r *rollout) seeService()    { r.observed[serviceResource] = structOf(r.active) }

func structOf(o runtime.Object) encoded.Struct {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err)
	}
	out, err := encode.Struct(m)
	if err != nil {
		panic(err)
	}
	return out
}

// template returns the name of the Deployment's current ReplicaSet.
func (r *rollout) template() (name, of string) {
	t := r.deployment.Spec.Template
	return t.Labels[releaseLabel] + "/" + t.Annotations["config"], t.Labels[releaseLabel]
}

// controller runs one pass of the Deployment controller.
func (r *rollout) controller() {
	d := r.deployment
	now, of := r.template()
	r.minReady[now] = d.Spec.MinReadySeconds
	defer r.status(now)
	surge, err := intstr.GetScaledValueFromIntOrPercent(d.Spec.Strategy.RollingUpdate.MaxSurge, int(r.replicas), true)
	if err != nil {
		panic(err)
	}
	count := func(which func(modelPod) bool) (n int) {
		for _, p := range r.pods {
			if which(p) {
				n++
			}
		}
		return n
	}
	all := func(modelPod) bool { return true }
	current := func(p modelPod) bool { return p.template == now }
	if n := min(int(r.replicas)-count(current), int(r.replicas)+surge-len(r.pods)); n > 0 {
		for range n {
			r.pods = append(r.pods, modelPod{template: now, release: of})
		}
		return
	}
	if n := count(current) - int(r.replicas); n > 0 {
		r.remove(n, current)
		return
	}
	down := len(r.pods) - int(r.replicas) - count(func(p modelPod) bool { return current(p) && !r.available(p) })
	if down <= 0 {
		return
	}
	r.remove(down, func(p modelPod) bool { return !current(p) && !r.available(p) })
	r.remove(count(func(p modelPod) bool { return all(p) && r.available(p) })-int(r.replicas), func(p modelPod) bool { return !current(p) })
}

func (r *rollout) available(p modelPod) bool { return p.ready && r.minReady[p.template] == 0 }

func (r *rollout) remove(n int, which func(modelPod) bool) {
	r.pods = slices.DeleteFunc(r.pods, func(p modelPod) bool {
		if n <= 0 || !which(p) {
			return false
		}
		n--
		return true
	})
}

func (r *rollout) status(now string) {
	s := &r.deployment.Status
	*s = appsv1.DeploymentStatus{ObservedGeneration: r.deployment.Generation, Replicas: int32(len(r.pods))}
	for _, p := range r.pods {
		if p.template == now {
			s.UpdatedReplicas++
		}
		if p.ready {
			s.ReadyReplicas++
		}
		if r.available(p) {
			s.AvailableReplicas++
		}
	}
}

func (r *rollout) starts(pod int) {
	if pod < len(r.pods) {
		r.pods[pod].ready = true
	}
}

// served returns the number of pods that serve requests.
func (r *rollout) served() (n int32) {
	selected, labeled := r.active.Spec.Selector[releaseLabel]
	for _, p := range r.pods {
		if p.ready && (!labeled || p.release == selected) {
			n++
		}
	}
	return n
}

func (r *rollout) String() string {
	return fmt.Sprintf("%s of %v, the Service selects %q, %d s, pods %v", r.target, r.config, r.active.Spec.Selector[releaseLabel],
		r.deployment.Spec.MinReadySeconds, r.pods)
}
