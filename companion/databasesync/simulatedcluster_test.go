package databasesync

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer/consumertest"
)

// tick executes one step of each part of the simulation.
func (c *cluster) tick() {
	c.Tick()
	c.crossplane()
	c.deployments()
	c.check()
}

// run executes the command of a pod with its effect on the database.
func (c *cluster) run(p *corev1.Pod) (code int32, message string) {
	r := attempt(p)
	code = c.exits(r)
	if phaseOf(&r) == versioning {
		text, toolCode := c.toolOutput(r.Release)
		if code == 0 {
			code = toolCode
		}
		if c.messages {
			message = text
		}
	}
	if len(c.serves) > 0 && phaseOf(&r) == syncing && r.Release < c.newest() {
		code = 1 // The service's own tool rejects a schema that is newer.
	}
	c.podFinished(r, code)
	return code, message
}

func attempt(p *corev1.Pod) record {
	r, _ := attemptOf(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Annotations: p.Annotations}})
	return r
}

// started applies the effect of a starting pod on the database.
func (c *cluster) started(p *corev1.Pod) {
	r := attempt(p)
	name := fmt.Sprintf("%s %s #%d", r.Step, r.Release, r.Attempt)
	c.starts = append(c.starts, name)
	history := c.sync().Status.History
	if current := open(history); !c.statusRemoved && (current == nil || current.Hash != r.Hash || current.Attempt != r.Attempt) {
		c.Violatedf("%s runs and is not recorded", name)
	}
	ph := phaseOf(&r)
	if ph != syncing && ph != versioning && r.Release < c.newest() {
		c.Violatedf("%s meets a schema of release %s", name, c.newest())
	}
	switch {
	case ph.changesSchema():
		c.startedAttempts = append(c.startedAttempts, r.Release)
	case ph.afterRollout():
		c.serves = []string{r.Release}
		for _, pod := range c.servicePods() {
			if consumer.Running(&pod) && pod.Spec.Containers[0].Image != p.Spec.Containers[0].Image {
				c.Violatedf("%s runs at the same time as a pod of image %s", name, pod.Spec.Containers[0].Image)
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

// crossplane runs the release that the schema serves: the composition function also uses the installed release.
func (c *cluster) crossplane() {
	ctx := context.Background()
	list := &openstackv1.DatabaseSyncList{}
	c.Must(c.API.List(ctx, list))
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
	if c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "keystone"}, d) != nil {
		labels := map[string]string{"app": "keystone"}
		c.Must(c.API.Create(ctx, &appsv1.Deployment{
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
		c.Must(c.API.Update(ctx, d))
	}
}

// scale sets the Deployment's replicas, if it exists.
func (c *cluster) scale(replicas int32) {
	d := &appsv1.Deployment{}
	if c.API.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "keystone"}, d) != nil {
		return
	}
	if *d.Spec.Replicas != replicas {
		d.Spec.Replicas = &replicas
		d.Generation++
		c.Must(c.API.Update(context.Background(), d))
	}
}

// deployments replace one pod at a time, the new one first.
func (c *cluster) deployments() {
	c.Must((&consumertest.Rollout{
		API: c.API, CanStart: true, PodCount: &c.podCount, IsUpdated: func(d *appsv1.Deployment, p *corev1.Pod) bool {
			return p.Spec.Containers[0].Image == d.Spec.Template.Spec.Containers[0].Image
		},
	}).Step(context.Background(), client.ObjectKey{Namespace: namespace, Name: "keystone"}))
}
