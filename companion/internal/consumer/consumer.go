// Package consumer restarts workloads that read a Secret, and proves that each pod was started after the Secret was written:
// an annotation of the pod template identifies the content of the Secret, so a pod with the annotation is newer than the
// write. A workload that was created after the write has the annotation itself: all of its pods are newer, and none has to be
// replaced.
package consumer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// Annotation returns the annotation for pods that read a Secret: prefix, which ends with a slash, and the Secret's name,
// which is hashed if it exceeds 63 characters.
func Annotation(prefix, secretName string) string { return prefix + names.Bounded(secretName) }

// Workload is the observed state of a Deployment, StatefulSet or DaemonSet.
type Workload struct {
	kind, name string
	// object is nil if the workload does not exist.
	object   client.Object
	template *corev1.PodTemplateSpec
	// observed is set if the workload's controller has observed the last change.
	observed bool
	// replicas is the desired number of pods; total, updated and available are the numbers of all pods, of pods with the
	// current template, and of available pods.
	replicas, total, updated, available int32
	pods                                []corev1.Pod
}

// Observe reads a workload and its pods. A missing workload is not an error.
func Observe(ctx context.Context, reader client.Reader, kind string, key client.ObjectKey) (Workload, error) {
	w := Workload{kind: kind, name: key.Name}
	empty := map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "DaemonSet": &appsv1.DaemonSet{},
	}[kind]
	if empty == nil {
		return w, fmt.Errorf("cannot read %s: consumers are Deployments, StatefulSets and DaemonSets", w)
	}
	object, err := apireader.Get(ctx, reader, kind, key, empty)
	if err != nil || object == nil {
		return w, err
	}
	w, selector := w.as(object)
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return w, fmt.Errorf("cannot read the selector of %s: %w", w, err)
	}
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: matches}); err != nil {
		return w, fmt.Errorf("cannot list the pods of %s: %w", w, err)
	}
	w.pods = list.Items
	return w, nil
}

// as returns the workload with the common fields of all kinds, and the selector of its pods.
func (obs Workload) as(object client.Object) (Workload, *metav1.LabelSelector) {
	obs.object = object
	generation := object.GetGeneration()
	switch o := object.(type) {
	case *appsv1.Deployment:
		s := o.Status
		obs.template = &o.Spec.Template
		obs.observed, obs.replicas, obs.total = s.ObservedGeneration >= generation, ptr.Deref(o.Spec.Replicas, 1), s.Replicas
		obs.updated, obs.available = s.UpdatedReplicas, s.AvailableReplicas
		return obs, o.Spec.Selector
	case *appsv1.StatefulSet:
		s := o.Status
		obs.template = &o.Spec.Template
		obs.observed, obs.replicas, obs.total = s.ObservedGeneration >= generation, ptr.Deref(o.Spec.Replicas, 1), s.Replicas
		obs.updated, obs.available = s.UpdatedReplicas, s.AvailableReplicas
		return obs, o.Spec.Selector
	case *appsv1.DaemonSet:
		s := o.Status
		obs.template = &o.Spec.Template
		obs.observed, obs.replicas, obs.total = s.ObservedGeneration >= generation, s.DesiredNumberScheduled, s.DesiredNumberScheduled
		obs.updated, obs.available = s.UpdatedNumberScheduled, s.NumberAvailable
		return obs, o.Spec.Selector
	}
	return obs, nil
}

// rolloutComplete reports whether the workload's controller has observed the template, and all pods use it.
func (obs Workload) rolloutComplete() bool { return obs.observed && obs.updated == obs.total }

// String returns the kind and the name.
func (obs Workload) String() string { return obs.kind + " " + obs.name }

// Template returns the pod template; nil if the workload does not exist.
func (obs Workload) Template() *corev1.PodTemplateSpec { return obs.template }

// Named reports whether new pods are started with the annotation and value.
func (obs Workload) Named(annotation, value string) bool {
	return obs.object != nil && obs.template.Annotations[annotation] == value
}

// Missing returns the workloads that do not exist, except workloads in known.
func Missing(workloads []Workload, known []string) []string {
	var out []string
	for _, w := range workloads {
		if w.Template() == nil && !slices.Contains(known, w.String()) {
			out = append(out, w.String())
		}
	}
	return out
}

// FirstCreated returns the first workload that was missing, exists now, and needs a mark (Mark), because no pods were restarted for it.
func FirstCreated(workloads []Workload, annotation, value string, missing []string) (Workload, bool) {
	i := slices.IndexFunc(workloads, func(w Workload) bool {
		return w.NeverAnnotated(annotation) && !w.HasAnnotation(annotation, value) && slices.Contains(missing, w.String())
	})
	if i < 0 {
		return Workload{}, false
	}
	return workloads[i], true
}

// NeverAnnotated reports whether the pod template has no such annotation, so that no pods were restarted for it.
func (obs Workload) NeverAnnotated(annotation string) bool {
	return obs.object != nil && obs.template.Annotations[annotation] == ""
}

// HasAnnotation reports whether the workload itself, but not its pods, has the annotation with the value (Mark).
func (obs Workload) HasAnnotation(annotation, value string) bool {
	return obs.NeverAnnotated(annotation) && obs.object.GetAnnotations()[annotation] == value
}

// Earlier returns the last value of the annotation, on the pods or on the workload; "" if none exists.
func (obs Workload) Earlier(annotation string) string {
	if obs.object == nil {
		return ""
	}
	if named := obs.template.Annotations[annotation]; named != "" {
		return named
	}
	return obs.object.GetAnnotations()[annotation]
}

// has reports whether a pod was started with the annotation and value, or belongs to a workload that was created after the
// content that the annotation identifies. A pod that is older than the workload belongs to an earlier workload with the same
// name.
func (obs Workload) has(p corev1.Pod, annotation, value string) bool {
	if named := p.Annotations[annotation]; named != "" {
		return named == value
	}
	created := obs.object.GetCreationTimestamp()
	return obs.HasAnnotation(annotation, value) && !p.CreationTimestamp.Before(&created)
}

// AnnotationPendingReason returns why not every pod is proven to be started with the annotation and value; "" if all are.
// Terminating pods count, because they still work. what describes the content of the other pods in the plural, such as
// "earlier keys".
func (obs Workload) AnnotationPendingReason(annotation, value, content string) string {
	if obs.object == nil {
		return obs.String() + " does not exist"
	}
	without := 0
	for _, p := range obs.pods {
		if Running(&p) && !obs.has(p, annotation, value) {
			without++
		}
	}
	switch {
	case without > 0:
		return fmt.Sprintf("%d of %d pods of %s were started with %s", without, len(obs.pods), obs, content)
	case !obs.Named(annotation, value) && !obs.HasAnnotation(annotation, value) || !obs.rolloutComplete():
		return obs.String() + " is rolling out"
	}
	return ""
}

// ImagePendingReason returns why not all pods are proven to run the image; "" if all do. A terminating pod still works.
func (obs Workload) ImagePendingReason(image string) string {
	switch {
	case obs.object == nil:
		return obs.String() + " does not exist"
	case !hasImage(&obs.template.Spec, image):
		return fmt.Sprintf("%s still uses another image", obs)
	case !obs.observed:
		return fmt.Sprintf("%s changed and its controller has not observed it yet", obs)
	case obs.updated != obs.replicas:
		return fmt.Sprintf("%d of %d pods of %s use its current template", obs.updated, obs.replicas, obs)
	case obs.total != obs.replicas:
		return fmt.Sprintf("%d old pods of %s have not been removed yet", obs.total-obs.replicas, obs)
	case obs.available != obs.replicas:
		return fmt.Sprintf("%d of %d pods of %s are available", obs.available, obs.replicas, obs)
	}
	for i := range obs.pods {
		if p := &obs.pods[i]; Running(p) && !hasImage(&p.Spec, image) {
			return fmt.Sprintf("Pod %s of %s still runs another image", p.Name, obs)
		}
	}
	return ""
}

// StopPendingReason returns why it is not proven that no pod runs or is about to start; "" if it is.
func (obs Workload) StopPendingReason() string {
	switch {
	case obs.object == nil:
		return ""
	case obs.replicas > 0:
		return obs.String() + " is not scaled to zero"
	case !obs.observed:
		return fmt.Sprintf("%s changed and its controller has not observed it yet", obs)
	}
	for i := range obs.pods {
		if p := &obs.pods[i]; Running(p) {
			return fmt.Sprintf("Pod %s of %s still runs", p.Name, obs)
		}
	}
	return ""
}

// hasImage reports whether a pod has a container with the image.
func hasImage(pod *corev1.PodSpec, image string) bool {
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.Image == image })
}

// Running reports whether a pod may still run: also if it has not started, or is terminating.
func Running(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// RestartWithAnnotation sets the annotation in the pod template, which replaces the pods with a rollout. It patches exactly
// the version that was observed.
func (obs Workload) RestartWithAnnotation(ctx context.Context, writer client.Writer, annotation, value string) error {
	if err := obs.patch(ctx, writer, func(o client.Object) {
		changed, _ := Workload{}.as(o)
		metav1.SetMetaDataAnnotation(&changed.template.ObjectMeta, annotation, value)
	}); err != nil {
		return fmt.Errorf("cannot restart %s: %w", obs, err)
	}
	return nil
}

// Mark annotates the workload itself, because it, and therefore all of its pods, were created after the content that the
// annotation identifies. No pod is replaced. It patches exactly the version that was observed. The annotation is deleted with
// the workload.
func (obs Workload) Mark(ctx context.Context, writer client.Writer, annotation, value string) error {
	if err := obs.patch(ctx, writer, func(o client.Object) {
		all := maps.Clone(o.GetAnnotations())
		if all == nil {
			all = map[string]string{}
		}
		all[annotation] = value
		o.SetAnnotations(all)
	}); err != nil {
		return fmt.Errorf("cannot annotate %s: %w", obs, err)
	}
	return nil
}

func (obs Workload) patch(ctx context.Context, writer client.Writer, change func(client.Object)) error {
	changed, ok := obs.object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("cannot copy %s", obs)
	}
	change(changed)
	return writer.Patch(ctx, changed, client.MergeFromWithOptions(obs.object, client.MergeFromWithOptimisticLock{}))
}
