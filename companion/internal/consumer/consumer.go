// Package consumer rolls workloads that read a Secret, and proves that every pod was started after it was written: an
// annotation of the pod template names what is in the Secret, so a pod that carries it is later than the write. A workload that
// was made after the write carries the annotation itself: all of its pods are later, and none has to be replaced.
package consumer

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/names"
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
	// settled is set when the workload's controller has seen the template and all pods are to be of it.
	settled bool
	pods    []corev1.Pod
}

// Observe reads a workload and its pods. One that does not exist is none of the errors.
func Observe(ctx context.Context, reader client.Reader, kind string, key client.ObjectKey) (Workload, error) {
	w := Workload{kind: kind, name: key.Name}
	object := map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "DaemonSet": &appsv1.DaemonSet{},
	}[kind]
	if object == nil {
		return w, fmt.Errorf("cannot read %s: consumers are Deployments, StatefulSets and DaemonSets", w)
	}
	switch err := reader.Get(ctx, key, object); {
	case apierrors.IsNotFound(err):
		return w, nil
	case err != nil:
		return w, fmt.Errorf("cannot read %s: %w", w, err)
	}
	w.object, w.template = object, templateOf(object)
	var selector *metav1.LabelSelector
	switch o := object.(type) {
	case *appsv1.Deployment:
		selector = o.Spec.Selector
		w.settled = o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas
	case *appsv1.StatefulSet:
		selector = o.Spec.Selector
		w.settled = o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas
	case *appsv1.DaemonSet:
		selector = o.Spec.Selector
		w.settled = o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedNumberScheduled == o.Status.DesiredNumberScheduled
	}
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

// String is kind and name.
func (w Workload) String() string { return w.kind + " " + w.name }

// Exists reports whether there is such a workload.
func (w Workload) Exists() bool { return w.object != nil }

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
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && !w.has(p, annotation, value) {
			without++
		}
	}
	switch {
	case without > 0:
		return fmt.Sprintf("%d of %d pods of %s were started with %s", without, len(w.pods), w, what)
	case !w.Named(annotation, value) && !w.Marked(annotation, value) || !w.settled:
		return w.String() + " rolls out"
	}
	return ""
}

// Roll makes the workload start pods with an annotation of that value, which replaces those that run. It writes over exactly
// the version that was observed.
func (w Workload) Roll(ctx context.Context, writer client.Writer, annotation, value string) error {
	if err := w.patch(ctx, writer, func(o client.Object) {
		metav1.SetMetaDataAnnotation(&templateOf(o).ObjectMeta, annotation, value)
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

func templateOf(o client.Object) *corev1.PodTemplateSpec {
	switch w := o.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Template
	case *appsv1.StatefulSet:
		return &w.Spec.Template
	case *appsv1.DaemonSet:
		return &w.Spec.Template
	}
	return &corev1.PodTemplateSpec{}
}
