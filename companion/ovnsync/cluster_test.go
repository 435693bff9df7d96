package ovnsync

import (
	"context"
	"fmt"
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

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob/batchjobtest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

const namespace = "team-a-prod-12345"

// start is the time at which a simulation starts.
var start = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

var scheme = faultinjection.NewScheme(batchv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme)

// cluster simulates the environment of the controller: a cluster that runs its Jobs, and Neutron's tool.
type cluster struct {
	*batchjobtest.Cluster

	events *events.FakeRecorder

	// missingPorts are ports missing in OVN, which a repair creates; stubborn are ports that it cannot create.
	missingPorts, stubborn int
	// exits returns the exit code of a run; 0 lets it run.
	exits func() int32
	// modes of the runs that have started, in order.
	modes  []string
	onPass func()
}

// object returns an OVNSync with a request.
func object(change ...func(*openstackv1.OVNSync)) *openstackv1.OVNSync {
	o := &openstackv1.OVNSync{
		ObjectMeta: metav1.ObjectMeta{Name: "neutron", Namespace: namespace, UID: "uid-of-neutron", Generation: 1},
		Spec: openstackv1.OVNSyncSpec{
			OVNSyncRequest: common.OVNSyncRequest{Request: "first"},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "schema"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "neutron", Image: "neutron:2025.2", Args: []string{"none"},
					EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}}}},
				}}},
			},
		},
	}
	for _, do := range change {
		do(o)
	}
	return o
}

func secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "database", Namespace: namespace}}
}

func newCluster(t testing.TB, objects ...client.Object) *cluster {
	t.Helper()
	api := faultinjection.NewServer(scheme, []client.Object{&openstackv1.OVNSync{}, &batchv1.Job{}, &corev1.Pod{}}, objects...)
	c := &cluster{
		Cluster: batchjobtest.New(t, api, start), events: events.NewFakeRecorder(100000), onPass: func() {}, exits: func() int32 { return 0 },
	}
	c.Run, c.Owners = c.run, func() []types.UID { return []types.UID{c.object().UID} }
	return c
}

// reconciler returns a Reconciler with a client. All objects are reconciled first.
func (c *cluster) reconciler(api client.Client) *Reconciler {
	c.Enqueue()
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: c.Clock, Started: c.Clock.Now(),
		Output: c.Output,
	}
}

func (c *cluster) sound() *Reconciler { return c.reconciler(c.API) }

func (c *cluster) object() *openstackv1.OVNSync {
	o := &openstackv1.OVNSync{}
	c.Must(c.API.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "neutron"}, o))
	return o
}

// edit changes a spec.
func (c *cluster) edit(do func(*openstackv1.OVNSync)) {
	o := c.object()
	do(o)
	o.Generation++
	c.Must(c.API.Update(context.Background(), o))
}

// setRequest sets another request.
func (c *cluster) setRequest(request string, mode common.OVNSyncMode) {
	c.edit(func(o *openstackv1.OVNSync) {
		o.Spec.OVNSyncRequest = common.OVNSyncRequest{Request: request, Mode: mode}
	})
}

// watched returns the state that triggers the controller: the spec and the Job.
func (c *cluster) watched(o *openstackv1.OVNSync) string {
	all := []string{string(o.UID), fmt.Sprint(o.Generation)}
	for _, j := range c.Jobs() {
		all = append(all, string(j.UID)+j.ResourceVersion)
	}
	return strings.Join(all, " ")
}

// pass reconciles the OVNSync if it is due, and runs the simulation.
func (c *cluster) pass(r *Reconciler) {
	c.T.Helper()
	o := c.object()
	c.ReconcileWhenTriggered(r, o, c.watched(o), c.onPass)
	c.Clock.SetTime(c.Clock.Now().Add(5 * time.Second))
	c.Tick()
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
	}, c.recordedText)
}

// isAnswered reports whether the current request is completed.
func (c *cluster) isAnswered() bool {
	o := c.object()
	a := ptr.Deref(o.Status.Answer, common.OVNSyncAnswer{})
	return a.Request == o.Spec.Request && a.Mode == modeOf(o.Spec.OVNSyncRequest) && o.Status.ObservedGeneration == o.Generation &&
		meta.IsStatusConditionTrue(o.Status.Conditions, conditionReady)
}

func (c *cluster) condition(name string) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(c.object().Status.Conditions, name), metav1.Condition{})
}

func (c *cluster) recordedText() string {
	o := c.object()
	text := &strings.Builder{}
	fmt.Fprintf(text, "generation %d, answer %+v, run %+v, modes %v\n", o.Generation, o.Status.Answer, o.Status.Run, c.modes)
	for _, condition := range o.Status.Conditions {
		fmt.Fprintf(text, "  %s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return text.String()
}

// run simulates Neutron's tool in the program that intercepts its warnings.
func (c *cluster) run(p *corev1.Pod) (code int32, message string) {
	command := p.Spec.Containers[0].Command
	if len(command) != 4 || command[0] != python || command[2] != program || p.Spec.Containers[0].Args != nil {
		c.Violatedf("runs %v", command)
		return 255, ""
	}
	mode := command[3]
	c.modes = append(c.modes, mode)
	if code := c.exits(); code != 0 {
		c.Outputs[p.Name] = "2026-03-02 12:00:00.000 8 ERROR neutron [-] mysql+pymysql://neutron:hunter2@mariadb refused\nlast line\n"
		return code, ""
	}
	ports := func(n int) string {
		if n == 0 {
			return "{}"
		}
		return fmt.Sprintf(`{"Port found in Neutron but not in OVN NB DB, port_id=%%s": {"count": [%d], "examples": ["Port found, port_id=1"]}}`, n)
	}
	text := fmt.Sprintf(`{"found": %s}`, ports(c.missingPorts+c.stubborn))
	if mode == "repair" {
		text = fmt.Sprintf(`{"repaired": %s, "found": %s}`, ports(c.missingPorts+c.stubborn), ports(c.stubborn))
		c.missingPorts = 0
	}
	c.Outputs[p.Name] = "2026-03-02 12:00:00.000 8 INFO neutron [-] something\n" + mark + " " + text + "\n"
	return 0, ""
}
