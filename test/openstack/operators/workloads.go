//go:build linux

package operators

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

func (o *Operators) statefulSet(ctx context.Context, u *unstructured.Unstructured) error {
	if err := o.apply(ctx, u); err != nil {
		return err
	}
	return o.WaitForStatefulSet(ctx, client.ObjectKeyFromObject(u))
}

// WaitForStatefulSet waits until all pods of a StatefulSet have its template and are ready.
func (o *Operators) WaitForStatefulSet(ctx context.Context, key client.ObjectKey) error {
	s := &appsv1.StatefulSet{}
	return o.Cluster.Wait(ctx, Timeout, "the pods of StatefulSet "+key.Name, func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, key, s)
		replicas := ptr.Deref(s.Spec.Replicas, 1)
		return s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == replicas && s.Status.ReadyReplicas == replicas, err
	})
}

func (o *Operators) daemonSet(ctx context.Context, u *unstructured.Unstructured) error {
	if err := o.apply(ctx, u); err != nil {
		return err
	}
	d, key := &appsv1.DaemonSet{}, client.ObjectKeyFromObject(u)
	return o.Cluster.Wait(ctx, Timeout, "the pods of DaemonSet "+key.Name, func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, key, d)
		s := d.Status
		updated := s.UpdatedNumberScheduled == s.DesiredNumberScheduled || d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
		return s.ObservedGeneration == d.Generation && s.NumberReady == s.DesiredNumberScheduled && updated, err
	})
}

// deployment runs a Deployment. The companion's is not run: its controllers run here.
func (o *Operators) deployment(ctx context.Context, u *unstructured.Unstructured) error {
	object, err := o.typed(u)
	if err != nil {
		return err
	}
	companion, err := release.ImageFor(release.Companion, "", release.Override{})
	if err != nil {
		return err
	}
	_, companion, _ = strings.Cut(companion, "/")
	pod := object.(*appsv1.Deployment).Spec.Template.Spec //nolint:forcetypeassert // of this kind
	if strings.HasSuffix(pod.Containers[0].Image, companion) {
		return nil
	}
	if err := o.Cluster.Apply(ctx, object); err != nil {
		return err
	}
	return o.WaitForDeployment(ctx, client.ObjectKeyFromObject(object))
}

// WaitForDeployment waits until all pods of a Deployment have its template and are ready, or, for a Deployment whose
// new pods are not available yet, until all of these are ready in addition to the earlier ones.
func (o *Operators) WaitForDeployment(ctx context.Context, key client.ObjectKey) error {
	d := &appsv1.Deployment{}
	return o.Cluster.Wait(ctx, Timeout, "the pods of Deployment "+key.Name, func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, key, d)
		s := d.Status
		surged := d.Spec.MinReadySeconds > 0 && s.ObservedGeneration == d.Generation && s.UpdatedReplicas == ptr.Deref(d.Spec.Replicas, 1) &&
			s.ReadyReplicas-s.AvailableReplicas == s.UpdatedReplicas
		return surged || RolledOut(d), err
	})
}

// RolledOut reports whether all pods of a Deployment have its template and are ready.
func RolledOut(d *appsv1.Deployment) bool {
	replicas := ptr.Deref(d.Spec.Replicas, 1)
	return d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == replicas && d.Status.UpdatedReplicas == replicas &&
		d.Status.ReadyReplicas == replicas
}

// job runs a Job to completion.
func (o *Operators) job(ctx context.Context, u *unstructured.Unstructured) error {
	object, err := o.typed(u)
	if err != nil {
		return err
	}
	return o.RunJob(ctx, object.(*batchv1.Job)) //nolint:forcetypeassert // of this kind
}

// RunJob runs a Job to completion. The error contains the end of its log.
func (o *Operators) RunJob(ctx context.Context, j *batchv1.Job) error {
	if err := o.Cluster.Apply(ctx, j); err != nil {
		return err
	}
	err := o.Cluster.Wait(ctx, Timeout, "the end of Job "+j.Name, func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(j), j)
		return len(j.Status.Conditions) > 0, err
	})
	if err != nil {
		return err
	}
	if j.Status.Conditions[0].Type == batchv1.JobFailed {
		return fmt.Errorf("job %s failed; the end of its log:\n%s", j.Name, o.jobLog(ctx, j))
	}
	return nil
}

func (o *Operators) jobLog(ctx context.Context, j *batchv1.Job) string {
	pods := &corev1.PodList{}
	err := o.Cluster.Client.List(ctx, pods, client.InNamespace(j.Namespace), client.MatchingLabels{batchv1.JobNameLabel: j.Name})
	if err != nil || len(pods.Items) == 0 {
		return fmt.Sprint("no pod: ", err)
	}
	last, out := &pods.Items[len(pods.Items)-1], ""
	for _, c := range slices.Concat(last.Spec.InitContainers, last.Spec.Containers) {
		if text, err := o.Cluster.Output(ctx, last, c.Name); err == nil { // else it never ran
			out += text
		}
	}
	return out + last.Status.Message
}
