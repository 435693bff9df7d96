package operators

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// kubelet plays a node for a pod: it runs when everything that it mounts or reads is there; that of a Job ends well at once.
func (o *Operators) kubelet(ctx context.Context, u *unstructured.Unstructured) error {
	client := o.client.Resource(pods).Namespace(u.GetNamespace())
	if u.GetDeletionTimestamp() != nil {
		now := int64(0)
		return ignoreNotFound(client.Delete(ctx, u.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
	var pod corev1.Pod
	if err := into(u, &pod); err != nil {
		return err
	}
	if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	missing, err := o.missing(ctx, &pod)
	if err != nil {
		return err
	}
	before := pod.Status.DeepCopy()
	if len(missing) > 0 {
		setReady(&pod, corev1.ConditionFalse, "CreateContainerConfigError", strings.Join(missing, ", ")+" not found")
		o.queue.AddAfter(item{resource: pods, namespace: pod.Namespace, name: pod.Name}, 300*time.Millisecond)
		if before.String() == pod.Status.String() {
			return nil
		}
	} else {
		o.runs(&pod)
	}
	done, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod)
	if err != nil {
		return err
	}
	_, err = client.UpdateStatus(ctx, &unstructured.Unstructured{Object: done}, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// runs lets a pod run, or have run.
func (o *Operators) runs(pod *corev1.Pod) {
	now := metav1.Now()
	pod.Status.StartTime = &now
	job := false
	for _, r := range pod.OwnerReferences {
		job = job || r.Kind == "Job"
	}
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: !job}
		if job {
			s.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}
		} else {
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
	}
	if job {
		pod.Status.Phase = corev1.PodSucceeded
		setReady(pod, corev1.ConditionFalse, "PodCompleted", "")
		return
	}
	pod.Status.Phase = corev1.PodRunning
	setReady(pod, corev1.ConditionTrue, "", "")
}

func setReady(pod *corev1.Pod, status corev1.ConditionStatus, reason, message string) {
	for i, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == status && c.Message == message {
			return
		} else if c.Type == corev1.PodReady {
			pod.Status.Conditions = append(pod.Status.Conditions[:i:i], pod.Status.Conditions[i+1:]...)
			break
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
	})
}

// missing are the ConfigMaps and Secrets that a pod cannot start without and that are not there, or lack a key.
func (o *Operators) missing(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	var out []string
	for _, r := range references(pod) {
		u, err := o.client.Resource(r.resource).Namespace(pod.Namespace).Get(ctx, r.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			out = append(out, fmt.Sprintf("%s %s", strings.TrimSuffix(r.resource.Resource, "s"), r.name))
		case err != nil:
			return nil, err
		default:
			for _, key := range r.keys {
				_, data, _ := unstructured.NestedFieldNoCopy(u.Object, "data", key)
				_, binary, _ := unstructured.NestedFieldNoCopy(u.Object, "binaryData", key)
				if !data && !binary {
					out = append(out, fmt.Sprintf("key %s of %s %s", key, strings.TrimSuffix(r.resource.Resource, "s"), r.name))
				}
			}
		}
	}
	return out, nil
}
