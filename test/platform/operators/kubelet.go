package operators

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// kubelet simulates a node for a pod. The pod runs when all objects that it mounts or reads exist; a pod of a Job
// succeeds shortly after. A pod of a real program has the program's state.
func (o *Operators) kubelet(ctx context.Context, u *unstructured.Unstructured) error {
	client := o.client.Resource(pods).Namespace(u.GetNamespace())
	if u.GetDeletionTimestamp() != nil {
		at := int64(0)
		return ignoreNotFound(client.Delete(ctx, u.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &at}))
	}
	var pod corev1.Pod
	if err := into(u, &pod); err != nil {
		return err
	}
	before := pod.Status.DeepCopy()
	next, err := o.live(ctx, &pod)
	if err != nil {
		return err
	}
	if next > 0 {
		o.queue.AddAfter(item{resource: pods, namespace: pod.Namespace, name: pod.Name}, next)
	}
	if before.String() == pod.Status.String() {
		return nil
	}
	done, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod)
	if err != nil {
		return err
	}
	_, err = client.UpdateStatus(ctx, &unstructured.Unstructured{Object: done}, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// live updates a pod that is not deleted. It returns the time after which to check again; zero: when something changes.
func (o *Operators) live(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	const (
		delay   = 300 * time.Millisecond
		probing = time.Second
	)
	isReal, isJob := o.real.Runs(pod), controlledBy(pod, "Job")
	switch running := pod.Status.Phase == corev1.PodRunning; {
	case pod.Status.Phase == corev1.PodSucceeded, running && !isJob && !isReal:
		return 0, nil
	case running && isJob:
		requested, err := o.ofEmpty(ctx, pod)
		if err != nil {
			return 0, err
		}
		ended(pod, requested)
		return 0, nil
	}
	missing, err := o.missing(ctx, pod)
	switch {
	case err != nil:
		return 0, err
	case len(missing) > 0:
		setReady(pod, corev1.ConditionFalse, "CreateContainerConfigError", strings.Join(missing, ", ")+" not found")
		return delay, nil
	case isJob:
		started(pod, Running{})
		return delay, nil
	case !isReal:
		started(pod, Running{Ready: true})
		return 0, nil
	case o.stopped(pod.Namespace):
		return 0, nil
	}
	is, err := o.real.Run(ctx, pod)
	if err != nil {
		return 0, err
	}
	started(pod, is)
	if !is.Ready {
		return delay, nil
	}
	return probing, nil
}

// started sets the status of a pod with running containers.
func started(pod *corev1.Pod, is Running) {
	now := metav1.Now()
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = &now
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: digested(c.Image), Ready: is.Ready, Started: &is.Ready, RestartCount: is.Restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *pod.Status.StartTime}},
		})
	}
	if is.Ready {
		setReady(pod, corev1.ConditionTrue, "", "")
	} else {
		setReady(pod, corev1.ConditionFalse, "ContainersNotReady", "")
	}
}

// ofEmpty returns the output of a service's tool for an empty database, as in its DatabaseSync: there is no database
// here, so every one is empty. A pod without DatabaseSync prints nothing.
func (o *Operators) ofEmpty(ctx context.Context, pod *corev1.Pod) (string, error) {
	name := pod.Labels[openstackv1.GroupVersion.Group+"/database-sync"]
	if name == "" {
		return "", nil
	}
	resource := openstackv1.GroupVersion.WithResource("databasesyncs")
	sync, err := o.client.Resource(resource).Namespace(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", ignoreNotFound(err)
	}
	requested, _, err := unstructured.NestedString(sync.Object, "spec", "schemaVersion", "empty")
	return requested, err
}

// ended sets the status of a pod whose containers have succeeded. The output is in its termination message, because
// there are no logs.
func ended(pod *corev1.Pod, requested string) {
	now := metav1.Now()
	pod.Status.Phase = corev1.PodSucceeded
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		c.Ready, c.Started = false, new(false)
		c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Message: requested, Reason: "Completed", StartedAt: *pod.Status.StartTime, FinishedAt: now,
		}}
	}
	setReady(pod, corev1.ConditionFalse, "PodCompleted", "")
}

// digested returns an image as a node reports it: with a digest, which here is the digest of the name.
func digested(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name = name[:at]
	}
	return fmt.Sprintf("%s@sha256:%x", name, sha256.Sum256([]byte(image)))
}

func controlledBy(pod *corev1.Pod, kind string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == kind
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

// missing returns the ConfigMaps and Secrets that a pod requires to start and that do not exist, or lack a key.
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
