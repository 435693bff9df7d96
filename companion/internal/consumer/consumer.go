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

// rolloutComplete: the workload's controller has seen the template, and all pods are to be of it.
func (obs Workload) rolloutComplete() bool { return obs.observed && obs.updated == obs.total }

// String is kind and name.
func (obs Workload) String() string { return obs.kind + " " + obs.name }

// Template is what its pods are made of: nil if there is no such workload.
func (obs Workload) Template() *corev1.PodTemplateSpec { return obs.template }

// Named reports whether new pods are started with an annotation of that value.
func (obs Workload) Named(annotation, value string) bool {
	return obs.object != nil && obs.template.Annotations[annotation] == value
}

// NeverAnnotated reports whether nothing has ever been named to its pods, and so none was rolled for it.
func (obs Workload) NeverAnnotated(annotation string) bool {
	return obs.object != nil && obs.template.Annotations[annotation] == ""
}

// HasAnnotation reports whether the workload itself carries the annotation with that value (Mark), and its pods none.
func (obs Workload) HasAnnotation(annotation, value string) bool {
	return obs.NeverAnnotated(annotation) && obs.object.GetAnnotations()[annotation] == value
}

// Earlier is what an annotation named last, on the pods or on the workload: nothing if it is not there.
func (obs Workload) Earlier(annotation string) string {
	if obs.object == nil {
		return ""
	}
	if named := obs.template.Annotations[annotation]; named != "" {
		return named
	}
	return obs.object.GetAnnotations()[annotation]
}

// has reports whether a pod was started with an annotation of that value, or is one of a workload that was made later than what
// the annotation names. A pod that is older than the workload is another one's, of the same name.
func (obs Workload) has(p corev1.Pod, annotation, value string) bool {
	if named := p.Annotations[annotation]; named != "" {
		return named == value
	}
	created := obs.object.GetCreationTimestamp()
	return obs.HasAnnotation(annotation, value) && !p.CreationTimestamp.Before(&created)
}

// AnnotationPendingReason says why it is not proven that every pod was started with an annotation of that value: no words if it is. Pods that
// are stopping count: they still work. What names in the plural what the others have, such as "earlier keys".
func (obs Workload) AnnotationPendingReason(annotation, value, what string) string {
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
		return fmt.Sprintf("%d of %d pods of %s were started with %s", without, len(obs.pods), obs, what)
	case !obs.Named(annotation, value) && !obs.HasAnnotation(annotation, value) || !obs.rolloutComplete():
		return obs.String() + " rolls out"
	}
	return ""
}

// ImagePendingReason says why it is not proven that all of its pods run an image: no words if they do. A pod that is being stopped still works.
func (obs Workload) ImagePendingReason(image string) string {
	switch {
	case obs.object == nil:
		return obs.String() + " does not exist"
	case !hasImage(&obs.template.Spec, image):
		return fmt.Sprintf("%s is still of another image", obs)
	case !obs.observed:
		return fmt.Sprintf("%s has changed and its controller has not seen it yet", obs)
	case obs.updated != obs.replicas:
		return fmt.Sprintf("%d of %d pods of %s are of its current template", obs.updated, obs.replicas, obs)
	case obs.total != obs.replicas:
		return fmt.Sprintf("%d old pods of %s are still to be removed", obs.total-obs.replicas, obs)
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

// StopPendingReason says why it is not proven that none of its pods runs and that none is about to: no words if it is.
func (obs Workload) StopPendingReason() string {
	switch {
	case obs.object == nil:
		return ""
	case obs.replicas > 0:
		return obs.String() + " is not scaled to zero"
	case !obs.observed:
		return fmt.Sprintf("%s has changed and its controller has not seen it yet", obs)
	}
	for i := range obs.pods {
		if p := &obs.pods[i]; Running(p) {
			return fmt.Sprintf("Pod %s of %s still runs", p.Name, obs)
		}
	}
	return ""
}

// hasImage reports whether a pod has a container of an image.
func hasImage(pod *corev1.PodSpec, image string) bool {
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.Image == image })
}

// Running reports whether a pod may still do something: also one that has not started, or is being stopped.
func Running(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// RestartWithAnnotation makes the workload start pods with an annotation of that value, which replaces those that run. It writes over exactly
// the version that was observed.
func (obs Workload) RestartWithAnnotation(ctx context.Context, writer client.Writer, annotation, value string) error {
	if err := obs.patch(ctx, writer, func(o client.Object) {
		changed, _ := Workload{}.as(o)
		metav1.SetMetaDataAnnotation(&changed.template.ObjectMeta, annotation, value)
	}); err != nil {
		return fmt.Errorf("cannot roll %s: %w", obs, err)
	}
	return nil
}

// Mark notes on the workload that it was made after what the annotation names, and so all of its pods were. No pod is replaced. It
// writes over exactly the version that was observed; with the workload, the mark goes.
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
