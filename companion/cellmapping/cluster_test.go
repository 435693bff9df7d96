package cellmapping

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob/batchjobtest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const (
	namespace = "team-a-prod-12345"
	password  = "correct-horse-battery" // Must never be revealed.
)

// start is the time at which a simulation starts.
var start = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

var scheme = faultinjection.NewScheme(batchv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme)

// cluster simulates the environment of the controller: a cluster that runs its Jobs, and Nova.
type cluster struct {
	*batchjobtest.Cluster

	events *events.FakeRecorder
	nova   *nova
	web    *computetest.Nova

	// exits returns the exit code of a command before it has any effect; 0 lets it run.
	exits func(command []string) int32
	// commands that have started, in order: create_cell cell1.
	commands []string
	onPass   func()
}

func mapping(name string, change ...func(*openstackv1.CellMapping)) *openstackv1.CellMapping {
	c := &openstackv1.CellMapping{
		ObjectMeta: metav1.ObjectMeta{
			Name: "nova-" + name, Namespace: namespace, UID: types.UID("uid-of-" + name), Generation: 1, CreationTimestamp: metav1.Time{Time: start},
		},
		Spec: openstackv1.CellMappingSpec{
			NovaName: "nova", Cell: name, DatabaseConnection: "mysql+pymysql://{username}:{password}@mariadb:3306/nova_" + name,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "cells"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "nova", Image: "nova:2025.2", Args: []string{"none"},
					EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}}}},
				}}},
			},
		},
	}
	if name != cell0 {
		c.Spec.TransportURL = "rabbit://{username}:{password}@rabbitmq:5671/nova_" + name
		c.Spec.CloudCredentialsRef = &common.CloudCredentialsReference{SecretName: "clouds", CloudName: "admin"}
	}
	for _, do := range change {
		do(c)
	}
	return c
}

func secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "database", Namespace: namespace}}
}

func clouds() client.Object { return identitytest.Clouds(namespace, "clouds", password) }

func newCluster(t testing.TB, objects ...client.Object) *cluster {
	t.Helper()
	api := faultinjection.NewServer(scheme, []client.Object{&openstackv1.CellMapping{}, &batchv1.Job{}, &corev1.Pod{}}, objects...)
	c := &cluster{
		Cluster: batchjobtest.New(t, api, start), events: events.NewFakeRecorder(100000), nova: &nova{},
		web:    computetest.New(identitytest.New(map[string]string{"admin": password})),
		onPass: func() {}, exits: func([]string) int32 { return 0 },
	}
	c.Run, c.Owners = c.run, func() (out []types.UID) {
		for _, o := range c.cells() {
			out = append(out, o.UID)
		}
		return out
	}
	return c
}

// reconciler returns a Reconciler with a client and a transport to Keystone and Nova. All objects are reconciled first.
func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	c.Enqueue()
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: c.Clock, Started: c.Clock.Now(),
		Transport: func([]byte) (http.RoundTripper, error) { return way, nil },
		Output:    c.Output,
	}
}

func (c *cluster) sound() *Reconciler { return c.reconciler(c.API, c.web) }

func (c *cluster) cells() []openstackv1.CellMapping {
	list := &openstackv1.CellMappingList{}
	c.Must(c.API.List(context.Background(), list))
	return list.Items
}

func (c *cluster) cell(name string) *openstackv1.CellMapping {
	o := &openstackv1.CellMapping{}
	c.Must(c.API.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "nova-" + name}, o))
	return o
}

// edit changes a spec.
func (c *cluster) edit(name string, do func(*openstackv1.CellMapping)) {
	o := c.cell(name)
	do(o)
	o.Generation++
	c.Must(c.API.Update(context.Background(), o))
}

// watched returns the state that triggers the controller: the spec and the Job.
func (c *cluster) watched(o *openstackv1.CellMapping) string {
	all := []string{fmt.Sprint(o.Generation)}
	for _, j := range c.Jobs() {
		if metav1.IsControlledBy(&j, o) {
			all = append(all, string(j.UID)+j.ResourceVersion)
		}
	}
	return strings.Join(all, " ")
}

// pass reconciles all due CellMappings once, and runs the simulation.
func (c *cluster) pass(r *Reconciler) {
	c.T.Helper()
	for _, o := range c.cells() {
		c.ReconcileWhenTriggered(r, &o, c.watched(&o), c.onPass)
	}
	c.Clock.SetTime(c.Clock.Now().Add(5 * time.Second))
	c.tick()
}

// reconcileUntil reconciles until the condition holds. It fails the test if that does not happen.
func (c *cluster) reconcileUntil(r *Reconciler, goal string, holds func() bool) {
	c.T.Helper()
	controllertest.ReconcileUntil(c.T, 600, goal, func() bool {
		if holds() {
			return true
		}
		c.pass(r)
		return false
	}, func() string { return c.recordedText() + "\n" + strings.Join(c.commands, "\n") })
}

// ready reports whether all cells and all hosts are recorded.
func (c *cluster) ready() bool {
	for _, o := range c.cells() {
		s := o.Status
		if s.ObservedGeneration != o.Generation || !meta.IsStatusConditionTrue(s.Conditions, conditionReady) || s.Run.Result == "" ||
			s.Run.Generation != o.Generation || s.Search != nil && s.Search.Time == nil {
			return false
		}
		if hosts := meta.FindStatusCondition(s.Conditions, conditionHosts); o.Spec.Cell != cell0 && (hosts == nil ||
			hosts.Status != metav1.ConditionTrue) {
			return false
		}
	}
	return true
}

func (c *cluster) condition(cell, name string) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(c.cell(cell).Status.Conditions, name), metav1.Condition{})
}

func (c *cluster) recordedText() string {
	text := &strings.Builder{}
	for _, o := range c.cells() {
		fmt.Fprintf(text, "%s generation %d, uuid %s, applied %s, hosts %v, run %+v, search %+v\n",
			o.Name, o.Generation, o.Status.UUID, o.Status.AppliedHash, o.Status.Hosts, o.Status.Run, o.Status.Search)
		for _, condition := range o.Status.Conditions {
			fmt.Fprintf(text, "  %s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
	}
	return text.String()
}

func (c *cluster) noted() string {
	return strings.Join(controllertest.Events(c.events), "\n")
}

// tick executes one step of each part of the simulation.
func (c *cluster) tick() {
	c.Tick()
	c.web.Set(c.nova.services()...)
}

// run executes the command of a pod.
func (c *cluster) run(p *corev1.Pod) (code int32, message string) {
	command := slices.Clone(p.Spec.Containers[0].Command)
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "$$", "$") // As the kubelet does.
	}
	if command[0] == python { // It is nova-manage with an additional output line.
		command = slices.Concat([]string{"nova-manage"}, command[3:])
	}
	c.commands = append(c.commands, command[2]+c.nova.about(command))
	if code := c.exits(command); code != 0 {
		c.Outputs[p.Name] = "An error has occurred:\nmysql+pymysql://nova:hunter2@mariadb refused\nlast line\n"
		return code, ""
	}
	code, text := c.nova.manage(command)
	c.Outputs[p.Name] = "2026-03-02 12:00:00.000 8 WARNING oslo_config [-] | something |\n" + text
	return code, ""
}

func reconcileRequest(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}
