// Package consumer rolls workloads that read a Secret, and proves that every pod was started after it was written: an
// annotation of the pod template names what is in the Secret, so a pod that carries it is later than the write. A workload that
// was made after the write carries the annotation itself: all of its pods are later, and none has to be replaced.
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

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// Annotation of the pods that read a Secret: prefix, which ends in a slash, and the Secret's name, of which at most 63
// characters fit.
func Annotation(prefix, secretName string) string {
	const limit, digits = 63, 10
	if len(secretName) > limit {
		secretName = secretName[:limit-digits-1] + "-" + names.Hash(digits, secretName)
	}
	return prefix + secretName
}

// Workload is a Deployment, StatefulSet or DaemonSet as it is now.
type Workload struct {
	kind, name string
	// object is nil if there is no such workload.
	object   client.Object
	template *corev1.PodTemplateSpec
	// observed is set when the workload's controller has seen its last change.
	observed bool
	// replicas that are wanted, and how many there are at all, of the current template, and available.
	replicas, total, updated, available int32
	pods                                []corev1.Pod
}

// Observe reads a workload and its pods. One that does not exist is none of the errors.
func Observe(ctx context.Context, reader client.Reader, kind string, key client.ObjectKey) (Workload, error) {
	w := Workload{kind: kind, name: key.Name}
	empty := map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "DaemonSet": &appsv1.DaemonSet{},
	}[kind]
	if empty == nil {
		return w, fmt.Errorf("cannot read %s: consumers are Deployments, StatefulSets and DaemonSets", w)
	}
	object, err := live.Get(ctx, reader, kind, key, empty)
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

// as is the workload with what the kinds have in common, and the selector of its pods.
func (w Workload) as(object client.Object) (Workload, *metav1.LabelSelector) {
	w.object = object
	generation := object.GetGeneration()
	switch o := object.(type) {
	case *appsv1.Deployment:
		s := o.Status
		w.template = &o.Spec.Template
		w.observed, w.replicas, w.total = s.ObservedGeneration >= generation, ptr.Deref(o.Spec.Replicas, 1), s.Replicas
		w.updated, w.available = s.UpdatedReplicas, s.AvailableReplicas
		return w, o.Spec.Selector
	case *appsv1.StatefulSet:
		s := o.Status
		w.template = &o.Spec.Template
		w.observed, w.replicas, w.total = s.ObservedGeneration >= generation, ptr.Deref(o.Spec.Replicas, 1), s.Replicas
		w.updated, w.available = s.UpdatedReplicas, s.AvailableReplicas
		return w, o.Spec.Selector
	case *appsv1.DaemonSet:
		s := o.Status
		w.template = &o.Spec.Template
		w.observed, w.replicas, w.total = s.ObservedGeneration >= generation, s.DesiredNumberScheduled, s.DesiredNumberScheduled
		w.updated, w.available = s.UpdatedNumberScheduled, s.NumberAvailable
		return w, o.Spec.Selector
	}
	return w, nil
}

// settled: the workload's controller has seen the template, and all pods are to be of it.
func (w Workload) settled() bool { return w.observed && w.updated == w.total }

// String is kind and name.
func (w Workload) String() string { return w.kind + " " + w.name }

// Template is what its pods are made of: nil if there is no such workload.
func (w Workload) Template() *corev1.PodTemplateSpec { return w.template }

// Named reports whether new pods are started with an annotation of that value.
func (w Workload) Named(annotation, value string) bool {
	return w.object != nil && w.template.Annotations[annotation] == value
}

// Unnamed reports whether nothing has ever been named to its pods, and so none was rolled for it.
func (w Workload) Unnamed(annotation string) bool {
	return w.object != nil && w.template.Annotations[annotation] == ""
}

// Marked reports whether the workload itself carries the annotation with that value (Mark), and its pods none.
func (w Workload) Marked(annotation, value string) bool {
	return w.Unnamed(annotation) && w.object.GetAnnotations()[annotation] == value
}

// Earlier is what an annotation named last, on the pods or on the workload: nothing if it is not there.
func (w Workload) Earlier(annotation string) string {
	if w.object == nil {
		return ""
	}
	if named := w.template.Annotations[annotation]; named != "" {
		return named
	}
	return w.object.GetAnnotations()[annotation]
}

// has reports whether a pod was started with an annotation of that value, or is one of a workload that was made later than what
// the annotation names. A pod that is older than the workload is another one's, of the same name.
func (w Workload) has(p corev1.Pod, annotation, value string) bool {
	if named := p.Annotations[annotation]; named != "" {
		return named == value
	}
	made := w.object.GetCreationTimestamp()
	return w.Marked(annotation, value) && !p.CreationTimestamp.Before(&made)
}

// WaitsFor says why it is not proven that every pod was started with an annotation of that value: no words if it is. Pods that
// are stopping count: they still work. What names in the plural what the others have, such as "earlier keys".
func (w Workload) WaitsFor(annotation, value, what string) string {
	if w.object == nil {
		return w.String() + " does not exist"
	}
	without := 0
	for _, p := range w.pods {
		if Running(&p) && !w.has(p, annotation, value) {
			without++
		}
	}
	switch {
	case without > 0:
		return fmt.Sprintf("%d of %d pods of %s were started with %s", without, len(w.pods), w, what)
	case !w.Named(annotation, value) && !w.Marked(annotation, value) || !w.settled():
		return w.String() + " rolls out"
	}
	return ""
}

// WaitsForImage says why it is not proven that all of its pods run an image: no words if they do. A pod that is being stopped still works.
func (w Workload) WaitsForImage(image string) string {
	switch {
	case w.object == nil:
		return w.String() + " does not exist"
	case !runs(&w.template.Spec, image):
		return fmt.Sprintf("%s is still of another image", w)
	case !w.observed:
		return fmt.Sprintf("%s has changed and its controller has not seen it yet", w)
	case w.updated != w.replicas:
		return fmt.Sprintf("%d of %d pods of %s are of its current template", w.updated, w.replicas, w)
	case w.total != w.replicas:
		return fmt.Sprintf("%d old pods of %s are still to be removed", w.total-w.replicas, w)
	case w.available != w.replicas:
		return fmt.Sprintf("%d of %d pods of %s are available", w.available, w.replicas, w)
	}
	for i := range w.pods {
		if p := &w.pods[i]; Running(p) && !runs(&p.Spec, image) {
			return fmt.Sprintf("Pod %s of %s still runs another image", p.Name, w)
		}
	}
	return ""
}

// WaitsForStop says why it is not proven that none of its pods runs and that none is about to: no words if it is.
func (w Workload) WaitsForStop() string {
	switch {
	case w.object == nil:
		return ""
	case w.replicas > 0:
		return w.String() + " is not scaled to zero"
	case !w.observed:
		return fmt.Sprintf("%s has changed and its controller has not seen it yet", w)
	}
	for i := range w.pods {
		if p := &w.pods[i]; Running(p) {
			return fmt.Sprintf("Pod %s of %s still runs", p.Name, w)
		}
	}
	return ""
}

// runs reports whether a pod has a container of an image.
func runs(pod *corev1.PodSpec, image string) bool {
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.Image == image })
}

// Running reports whether a pod may still do something: also one that has not started, or is being stopped.
func Running(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Roll makes the workload start pods with an annotation of that value, which replaces those that run. It writes over exactly
// the version that was observed.
func (w Workload) Roll(ctx context.Context, writer client.Writer, annotation, value string) error {
	if err := w.patch(ctx, writer, func(o client.Object) {
		changed, _ := Workload{}.as(o)
		metav1.SetMetaDataAnnotation(&changed.template.ObjectMeta, annotation, value)
	}); err != nil {
		return fmt.Errorf("cannot roll %s: %w", w, err)
	}
	return nil
}

// Mark notes on the workload that it was made after what the annotation names, and so all of its pods were. No pod is replaced. It
// writes over exactly the version that was observed; with the workload, the mark goes.
func (w Workload) Mark(ctx context.Context, writer client.Writer, annotation, value string) error {
	if err := w.patch(ctx, writer, func(o client.Object) {
		all := maps.Clone(o.GetAnnotations())
		if all == nil {
			all = map[string]string{}
		}
		all[annotation] = value
		o.SetAnnotations(all)
	}); err != nil {
		return fmt.Errorf("cannot annotate %s: %w", w, err)
	}
	return nil
}

func (w Workload) patch(ctx context.Context, writer client.Writer, change func(client.Object)) error {
	changed, ok := w.object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("cannot copy %s", w)
	}
	change(changed)
	return writer.Patch(ctx, changed, client.MergeFromWithOptions(w.object, client.MergeFromWithOptimisticLock{}))
}
