package keyrepository

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/names"
)

// podAnnotationPrefix and the name of a Secret make the annotation of a pod template that names the keys in it. A changed
// annotation rolls the pods, and a pod that carries it was started after the keys were written.
const podAnnotationPrefix = "keys.openstack.c5c3.io/"

// podAnnotation of the pods that read a Secret. The part after the slash has at most 63 characters.
func podAnnotation(secretName string) string {
	const limit, digits = 63, 10
	if len(secretName) > limit {
		secretName = secretName[:limit-digits-1] + "-" + names.Hash(digits, secretName)
	}
	return podAnnotationPrefix + secretName
}

// consumer is a workload that reads the keys, as it is now.
type consumer struct {
	openstackv1.Consumer

	// object is nil if there is no such workload.
	object   client.Object
	template *corev1.PodTemplateSpec
	// settled is set when the workload's controller has seen the template and all pods are to be of it.
	settled bool
	pods    []corev1.Pod
}

// observeConsumer reads a workload and its pods.
func observeConsumer(ctx context.Context, reader client.Reader, namespace string, ref openstackv1.Consumer) (consumer, error) {
	c := consumer{Consumer: ref}
	var selector *metav1.LabelSelector
	key := client.ObjectKey{Namespace: namespace, Name: string(ref.Name)}
	switch ref.Kind {
	case "Deployment":
		d := &appsv1.Deployment{}
		if err := reader.Get(ctx, key, d); err != nil {
			return c, ignoreNotFound(err, c)
		}
		c.object, c.template, selector = d, &d.Spec.Template, d.Spec.Selector
		c.settled = d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == d.Status.Replicas
	case "StatefulSet":
		s := &appsv1.StatefulSet{}
		if err := reader.Get(ctx, key, s); err != nil {
			return c, ignoreNotFound(err, c)
		}
		c.object, c.template, selector = s, &s.Spec.Template, s.Spec.Selector
		c.settled = s.Status.ObservedGeneration >= s.Generation && s.Status.UpdatedReplicas == s.Status.Replicas
	default:
		return c, fmt.Errorf("cannot read %s: consumers are Deployments and StatefulSets", c)
	}
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return c, fmt.Errorf("cannot read the selector of %s: %w", c, err)
	}
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matches}); err != nil {
		return c, fmt.Errorf("cannot list the pods of %s: %w", c, err)
	}
	c.pods = list.Items
	return c, nil
}

func (c consumer) String() string { return c.Kind + " " + string(c.Name) }

// named reports whether new pods are started with an annotation that names these keys.
func (c consumer) named(annotation, hash string) bool {
	return c.object != nil && c.template.Annotations[annotation] == hash
}

// waitsFor says why it is not proven that every pod has the keys: no words if it is. Pods that are stopping count: they still
// answer requests.
func (c consumer) waitsFor(annotation, hash string) string {
	if c.object == nil {
		return c.String() + " does not exist"
	}
	without := 0
	for _, p := range c.pods {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && p.Annotations[annotation] != hash {
			without++
		}
	}
	switch {
	case without > 0:
		return fmt.Sprintf("%d of %d pods of %s were started with earlier keys", without, len(c.pods), c)
	case !c.named(annotation, hash) || !c.settled:
		return c.String() + " rolls out"
	}
	return ""
}

// name makes the workload start pods with an annotation that names the keys, which rolls those that run.
func (c consumer) name(ctx context.Context, writer client.Writer, annotation, hash string) error {
	changed, ok := c.object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("cannot copy %s", c)
	}
	template := templateOf(changed)
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	template.Annotations[annotation] = hash
	patch := client.MergeFromWithOptions(c.object, client.MergeFromWithOptimisticLock{})
	if err := writer.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("cannot roll %s: %w", c, err)
	}
	return nil
}

func templateOf(o client.Object) *corev1.PodTemplateSpec {
	switch w := o.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Template
	case *appsv1.StatefulSet:
		return &w.Spec.Template
	}
	return &corev1.PodTemplateSpec{}
}

func ignoreNotFound(err error, what fmt.Stringer) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("cannot read %s: %w", what, err)
}
