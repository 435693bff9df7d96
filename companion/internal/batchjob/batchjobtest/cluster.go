// Package batchjobtest simulates the parts of a cluster that run Jobs, for tests of controllers that create them: the Job
// controller, kubelets, the garbage collector, and the work queue of the tested controller.
package batchjobtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
)

// Unpullable is an image that no node can pull.
const Unpullable = "unpullable"

// digest is the digest of all images.
const digest = "sha256:0123"

// TB contains the common methods of *testing.T and *rapid.T.
type TB interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Cluster runs Jobs with one pod. It writes without the controller's client. Each step of a pod takes one tick, so that other
// writes can happen in between: it is created and starts, and ends a tick later.
type Cluster struct {
	T     TB
	API   client.WithWatch
	Clock *clocktesting.FakePassiveClock

	// Run executes the command of a pod when it ends, and returns its exit code and its termination message.
	Run func(*corev1.Pod) (code int32, message string)
	// Created and Started are called when a pod is created and when it starts; nil: nothing is done.
	Created func(*batchv1.Job, *corev1.Pod)
	Started func(*corev1.Pod)
	// Owners returns the existing owners of Jobs: Jobs of other owners are deleted. nil: none are.
	Owners func() []types.UID

	// Unpullable is an image that no node can pull.
	Unpullable string
	// Outputs are the outputs of pods by name. LogsUnavailable is set if no output can be read.
	Outputs         map[string]string
	LogsUnavailable bool
	// Violations of invariants, such as two pods that run at a time.
	Violations []string

	podCount int
	// passes are the next passes of objects. The first pass of an object is due at once.
	passes map[client.ObjectKey]scheduledPass
}

// New returns a Cluster in which commands succeed without an effect.
func New(t TB, api client.WithWatch, start time.Time) *Cluster {
	return &Cluster{
		T: t, API: api, Clock: clocktesting.NewFakePassiveClock(start), Unpullable: Unpullable, Outputs: map[string]string{},
		Run: func(*corev1.Pod) (int32, string) { return 0, "" }, Created: func(*batchv1.Job, *corev1.Pod) {}, Started: func(*corev1.Pod) {},
		passes: map[client.ObjectKey]scheduledPass{},
	}
}

// Must fails the test if there is an error.
func (c *Cluster) Must(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
}

// Violatedf records a violation of an invariant.
func (c *Cluster) Violatedf(format string, args ...any) {
	c.Violations = append(c.Violations, c.Clock.Now().Format(time.DateTime)+": "+fmt.Sprintf(format, args...))
}

// Verify fails the test for each violation.
func (c *Cluster) Verify() {
	c.T.Helper()
	for _, v := range c.Violations {
		c.T.Error(v)
	}
}

// Output returns the output of a pod, for a controller's Env.
func (c *Cluster) Output(_ context.Context, p *corev1.Pod, _ string) (string, error) {
	text, exists := c.Outputs[p.Name]
	if c.LogsUnavailable || !exists {
		return "", errors.New("the node is gone")
	}
	return text, nil
}

// Jobs returns all Jobs.
func (c *Cluster) Jobs() []batchv1.Job {
	list := &batchv1.JobList{}
	c.Must(c.API.List(context.Background(), list))
	return list.Items
}

// Pods returns the pods with the given labels.
func (c *Cluster) Pods(labels client.MatchingLabels) []corev1.Pod {
	list := &corev1.PodList{}
	c.Must(c.API.List(context.Background(), list, labels))
	return list.Items
}

// JobPods returns the pods of Jobs, including deleted ones.
func (c *Cluster) JobPods() []corev1.Pod {
	var out []corev1.Pod
	for _, p := range c.Pods(nil) {
		if owner := metav1.GetControllerOf(&p); owner != nil && owner.Kind == "Job" {
			out = append(out, p)
		}
	}
	return out
}

// Tick executes one step of each part of the simulation.
func (c *Cluster) Tick() {
	c.collectGarbage()
	c.RunJobController()
	c.RunKubelets()
	c.RunJobController()
}

// RunJobController creates the pod of each released Job, deletes the pod of each suspended one, finishes a Job when its pod has
// ended, and deletes it after its TTL.
func (c *Cluster) RunJobController() {
	for _, j := range c.Jobs() {
		pods := batchjob.ListPods(&j, c.JobPods())
		switch finished := condition.FinishedCondition(&j); {
		case finished.Type != "":
			ttl := time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second
			if c.Clock.Now().Sub(finished.LastTransitionTime.Time) >= ttl {
				c.Must(c.API.Delete(context.Background(), &j))
			}
		case ptr.Deref(j.Spec.Suspend, false) && len(pods) == 0:
		case ptr.Deref(j.Spec.Suspend, false) && consumer.Running(&pods[0]):
			c.stop(&pods[0])
		case len(pods) == 0:
			c.createPod(&j)
		case !consumer.Running(&pods[0]):
			c.finish(&j, pods[0].Status.Phase)
		}
	}
}

func (c *Cluster) createPod(j *batchv1.Job) {
	c.podCount++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%03d", c.podCount), Namespace: j.Namespace, Labels: j.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: j.Spec.Template.Spec,
	}
	c.Created(j, pod)
	c.Must(c.API.Create(context.Background(), pod))
	j.Status.StartTime = &metav1.Time{Time: c.Clock.Now()}
	c.Must(c.API.Status().Update(context.Background(), j))
}

func (c *Cluster) finish(j *batchv1.Job, phase corev1.PodPhase) {
	result := batchv1.JobComplete
	if phase == corev1.PodFailed {
		result = batchv1.JobFailed
		j.Status.Failed = 1
	} else {
		j.Status.Succeeded = 1
	}
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
		Type: result, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: c.Clock.Now()}, Reason: "Ended",
	})
	c.Must(c.API.Status().Update(context.Background(), j))
}

// RunKubelets starts the pods of Jobs, and ends them a tick later.
func (c *Cluster) RunKubelets() {
	var running []string
	for _, p := range c.JobPods() {
		container := &p.Spec.Containers[0]
		status := corev1.ContainerStatus{Name: container.Name, ImageID: container.Image + "@" + digest}
		switch {
		case !consumer.Running(&p):
			continue
		case p.Status.Phase == corev1.PodRunning:
			code, message := c.Run(&p)
			if p.Status.Phase = corev1.PodSucceeded; code != 0 {
				p.Status.Phase = corev1.PodFailed
			}
			status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Message: message}
		case container.Image == c.Unpullable:
			p.Status.Phase = corev1.PodPending
			status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}
		default:
			p.Status.Phase = corev1.PodRunning
			status.State.Running = &corev1.ContainerStateRunning{}
			running = append(running, p.Name)
			c.Started(&p)
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		c.Must(c.API.Status().Update(context.Background(), &p))
	}
	if len(running) > 1 {
		c.Violatedf("several pods run at a time: %v", running)
	}
}

// collectGarbage deletes Jobs of deleted owners, and stops the pods of deleted Jobs.
func (c *Cluster) collectGarbage() {
	owners, jobs := map[types.UID]bool{}, map[types.UID]bool{}
	if c.Owners != nil {
		for _, uid := range c.Owners() {
			owners[uid] = true
		}
	}
	for _, j := range c.Jobs() {
		if owner := metav1.GetControllerOf(&j); c.Owners != nil && owner != nil && !owners[owner.UID] {
			c.Must(c.API.Delete(context.Background(), &j))
			continue
		}
		jobs[j.UID] = true
	}
	for _, p := range c.JobPods() {
		if !jobs[metav1.GetControllerOf(&p).UID] {
			c.stop(&p)
		}
	}
}

// stop deletes a pod. A pod that runs is deleted a tick later: until then, its command completes.
func (c *Cluster) stop(p *corev1.Pod) {
	const stopping = "stopping"
	if p.Status.Phase == corev1.PodRunning && p.Annotations[stopping] == "" {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, stopping, "true")
		c.Must(c.API.Update(context.Background(), p))
		return
	}
	c.Must(c.API.Delete(context.Background(), p))
}
