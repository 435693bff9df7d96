package databasesync

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
)

// tick executes one step of each part of the simulation.
func (c *cluster) tick() {
	c.garbage()
	c.jobController()
	c.kubelets()
	c.jobController()
	c.crossplane()
	c.deployments()
	c.check()
}

// jobController creates the pod of each released Job, finishes the Job when the pod has ended, and deletes it after its TTL.
func (c *cluster) jobController() {
	ctx := context.Background()
	for _, j := range c.jobs() {
		own := batchjob.ListPods(&j, c.stepPods())
		switch end := condition.FinishedCondition(&j); {
		case end.Type != "":
			if ttl := time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second; c.clock.Now().Sub(end.LastTransitionTime.Time) >= ttl {
				c.must(c.api.Delete(ctx, &j))
			}
		case ptr.Deref(j.Spec.Suspend, false) && len(own) == 0:
		case ptr.Deref(j.Spec.Suspend, false) && consumer.Running(&own[0]):
			c.stop(&own[0])
		case len(own) == 0:
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("%s-%03d", j.Name[:20], c.podCount), Namespace: namespace, Labels: j.Spec.Template.Labels,
					Annotations: map[string]string{attemptAnnotation: j.Annotations[attemptAnnotation]},
				},
				Spec: j.Spec.Template.Spec,
			}
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&j, batchv1.SchemeGroupVersion.WithKind("Job"))}
			c.podCount++
			c.must(c.api.Create(ctx, pod))
			now := metav1.Time{Time: c.clock.Now()}
			j.Status.StartTime = &now
			c.must(c.api.Status().Update(ctx, &j))
		case !consumer.Running(&own[0]):
			condition := batchv1.JobComplete
			if own[0].Status.Phase == corev1.PodFailed {
				condition = batchv1.JobFailed
				j.Status.Failed = 1
			} else {
				j.Status.Succeeded = 1
			}
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
				Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: c.clock.Now()}, Reason: "Ended",
			})
			c.must(c.api.Status().Update(ctx, &j))
		}
	}
}

// kubelets start pods, and end them a step later.
func (c *cluster) kubelets() {
	ctx := context.Background()
	for _, p := range c.stepPods() {
		r := attempt(&p)
		status := corev1.ContainerStatus{Name: "keystone", ImageID: "registry.example.com/keystone@sha256:0123"}
		switch {
		case p.Status.Phase == corev1.PodRunning:
			code := c.exits(r)
			if phaseOf(&r) == versioning && code == 0 {
				_, code = c.toolOutput(r.Release)
			}
			if len(c.serves) > 0 && phaseOf(&r) == syncing && r.Release < c.newest() {
				code = 1 // The service's own tool rejects a schema that is newer.
			}
			p.Status.Phase = corev1.PodSucceeded
			if code != 0 {
				p.Status.Phase = corev1.PodFailed
			}
			status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code}
			if c.messages && phaseOf(&r) == versioning {
				status.State.Terminated.Message, _ = c.toolOutput(r.Release)
			}
			c.podFinished(r, code)
		case !consumer.Running(&p):
			continue
		case p.Spec.Containers[0].Image == c.unpullable:
			p.Status.Phase = corev1.PodPending
			status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}
		default:
			p.Status.Phase = corev1.PodRunning
			status.State.Running = &corev1.ContainerStateRunning{}
			c.started(&p, r)
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		c.must(c.api.Status().Update(ctx, &p))
	}
}

func attempt(p *corev1.Pod) record {
	r, _ := attemptOf(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Annotations: p.Annotations}})
	return r
}

// started applies the effect of a starting pod on the database.
func (c *cluster) started(p *corev1.Pod, r record) {
	name := fmt.Sprintf("%s %s #%d", r.Step, r.Release, r.Attempt)
	c.starts = append(c.starts, name)
	history := c.sync().Status.History
	if current := open(history); !c.statusRemoved && (current == nil || current.Hash != r.Hash || current.Attempt != r.Attempt) {
		c.violatedf("%s runs and is not recorded", name)
	}
	ph := phaseOf(&r)
	if ph != syncing && ph != versioning && r.Release < c.newest() {
		c.violatedf("%s meets a schema of release %s", name, c.newest())
	}
	switch {
	case ph.changesSchema():
		c.startedAttempts = append(c.startedAttempts, r.Release)
	case ph.afterRollout():
		c.serves = []string{r.Release}
		for _, pod := range c.servicePods() {
			if consumer.Running(&pod) && pod.Spec.Containers[0].Image != p.Spec.Containers[0].Image {
				c.violatedf("%s runs at the same time as a pod of image %s", name, pod.Spec.Containers[0].Image)
			}
		}
	}
}

// newest returns the newest release to which the schema may have been upgraded; "" without a schema.
func (c *cluster) newest() string {
	if len(c.startedAttempts) == 0 {
		return ""
	}
	return slices.Max(c.startedAttempts)
}

// podFinished applies the effect of a finished pod on the database.
func (c *cluster) podFinished(r record, code int32) {
	if code != 0 {
		return
	}
	switch ph := phaseOf(&r); {
	case ph == syncing: // Interrupted attempts for another release no longer count.
		c.serves, c.startedAttempts = []string{r.Release}, []string{r.Release}
	case ph == expanding && !slices.Contains(c.serves, r.Release):
		c.serves = append(c.serves, r.Release)
	}
}

// garbage stops the pods of deleted Jobs, which takes one step if they run, and deletes them.
func (c *cluster) garbage() {
	alive := map[string]bool{}
	for _, j := range c.jobs() {
		alive[string(j.UID)] = true
	}
	for _, p := range c.stepPods() {
		owner := metav1.GetControllerOf(&p)
		if owner != nil && !alive[string(owner.UID)] {
			c.stop(&p)
		}
	}
}

// stop deletes a pod, which takes one step if it runs.
func (c *cluster) stop(p *corev1.Pod) {
	if p.Status.Phase == corev1.PodRunning && p.Annotations["stopping"] == "" {
		p.Annotations["stopping"] = "true"
		c.must(c.api.Update(context.Background(), p))
		return
	}
	c.must(c.api.Delete(context.Background(), p))
}

// crossplane runs the release that the schema serves: the composition function also uses the installed release.
func (c *cluster) crossplane() {
	ctx := context.Background()
	list := &openstackv1.DatabaseSyncList{}
	c.must(c.api.List(ctx, list))
	if len(list.Items) == 0 {
		return
	}
	replicas := int32(2)
	if list.Items[0].Status.Quiesce {
		replicas = 0
	}
	c.scale(replicas)
	if list.Items[0].Status.InstalledRelease != list.Items[0].Spec.Release {
		return
	}
	want := list.Items[0].Spec.Template.Spec.Containers[0].Image
	d := &appsv1.Deployment{}
	if c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "keystone"}, d) != nil {
		labels := map[string]string{"app": "keystone"}
		c.must(c.api.Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "keystone", Namespace: namespace, Generation: 1},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "keystone", Image: want}}},
				},
			},
		}))
		return
	}
	if d.Spec.Template.Spec.Containers[0].Image != want {
		d.Spec.Template.Spec.Containers[0].Image = want
		d.Generation++
		c.must(c.api.Update(ctx, d))
	}
}

// scale sets the Deployment's replicas, if it exists.
func (c *cluster) scale(replicas int32) {
	d := &appsv1.Deployment{}
	if c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "keystone"}, d) != nil {
		return
	}
	if *d.Spec.Replicas != replicas {
		d.Spec.Replicas = &replicas
		d.Generation++
		c.must(c.api.Update(context.Background(), d))
	}
}

// deployments replace one pod at a time, the new one first.
func (c *cluster) deployments() {
	ctx := context.Background()
	d := &appsv1.Deployment{}
	if c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "keystone"}, d) != nil {
		return
	}
	want := d.Spec.Template.Spec.Containers[0].Image
	var updated, old []corev1.Pod
	for _, p := range c.servicePods() {
		if p.Spec.Containers[0].Image == want {
			updated = append(updated, p)
		} else {
			old = append(old, p)
		}
	}
	switch {
	case len(updated)+len(old) > int(*d.Spec.Replicas) && len(old) > 0:
		c.must(c.api.Delete(ctx, &old[0]))
		old = old[1:]
	case len(updated) > int(*d.Spec.Replicas):
		c.must(c.api.Delete(ctx, &updated[0]))
		updated = updated[1:]
	case len(updated) < int(*d.Spec.Replicas):
		c.podCount++
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("keystone-%03d", c.podCount), Namespace: namespace, Labels: d.Spec.Template.Labels},
			Spec:       d.Spec.Template.Spec,
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}
		c.must(c.api.Create(ctx, &pod))
		updated = append(updated, pod)
	}
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: int32(len(updated) + len(old)),
		UpdatedReplicas: int32(len(updated)), AvailableReplicas: int32(len(updated) + len(old)),
	}
	if d.Status.ObservedGeneration != status.ObservedGeneration || d.Status.Replicas != status.Replicas ||
		d.Status.UpdatedReplicas != status.UpdatedReplicas {
		d.Status = status
		c.must(c.api.Status().Update(ctx, d))
	}
}
