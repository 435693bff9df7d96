package ovnsync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/crash"
)

const namespace = "team-a-prod-12345"

// start is the time at which a simulation starts.
var start = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{batchv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// cluster simulates the environment of the controller: the Job controller, kubelets, the garbage collector, and Neutron's
// tool.
type cluster struct {
	t      testing.TB
	api    client.WithWatch
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder

	// missingPorts are ports missing in OVN, which a repair creates; stubborn are ports that it cannot create.
	missingPorts, stubborn int
	// exits returns the exit code of a run; 0 lets it run.
	exits func() int32
	// logsUnavailable is set if the output of pods cannot be read.
	logsUnavailable bool
	// outputs of pods by name.
	outputs  map[string]string
	podCount int
	// modes of the runs that have started, in order.
	modes      []string
	violations []string
	onPass     func()
	// rests is the time until which the OVNSync is not reconciled, and seen is its watched state at that time.
	rests         time.Time
	observedState string
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
	return &cluster{
		t: t, clock: clocktesting.NewFakePassiveClock(start), events: events.NewFakeRecorder(100000),
		outputs: map[string]string{}, onPass: func() {}, exits: func() int32 { return 0 },
		api: crash.NewServer(scheme, []client.Object{&openstackv1.OVNSync{}, &batchv1.Job{}, &corev1.Pod{}}, objects...),
	}
}

// reconciler returns a Reconciler with a client. All objects are reconciled first.
func (c *cluster) reconciler(api client.Client) *Reconciler {
	c.observedState = ""
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: c.clock, Started: c.clock.Now(),
		Output: func(_ context.Context, p *corev1.Pod, _ string) (string, error) {
			text, ok := c.outputs[p.Name]
			if c.logsUnavailable || !ok {
				return "", errors.New("the node is gone")
			}
			return text, nil
		},
	}
}

func (c *cluster) sound() *Reconciler { return c.reconciler(c.api) }

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) violatedf(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
}

func (c *cluster) verified() {
	c.t.Helper()
	for _, v := range c.violations {
		c.t.Error(v)
	}
}

func (c *cluster) object() *openstackv1.OVNSync {
	o := &openstackv1.OVNSync{}
	c.must(c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "neutron"}, o))
	return o
}

// edit changes a spec.
func (c *cluster) edit(do func(*openstackv1.OVNSync)) {
	o := c.object()
	do(o)
	o.Generation++
	c.must(c.api.Update(context.Background(), o))
}

// setRequest sets another request.
func (c *cluster) setRequest(request string, mode common.OVNSyncMode) {
	c.edit(func(o *openstackv1.OVNSync) {
		o.Spec.OVNSyncRequest = common.OVNSyncRequest{Request: request, Mode: mode}
	})
}

func (c *cluster) jobs() []batchv1.Job {
	list := &batchv1.JobList{}
	c.must(c.api.List(context.Background(), list))
	return list.Items
}

func (c *cluster) pods() []corev1.Pod {
	list := &corev1.PodList{}
	c.must(c.api.List(context.Background(), list))
	return list.Items
}

// watched returns the state that triggers the controller: the spec and the Job.
func (c *cluster) watched(o *openstackv1.OVNSync) string {
	all := []string{string(o.UID), fmt.Sprint(o.Generation)}
	for _, j := range c.jobs() {
		all = append(all, string(j.UID)+j.ResourceVersion)
	}
	return strings.Join(all, " ")
}

// pass reconciles the OVNSync if it is due, and runs the simulation.
func (c *cluster) pass(r *Reconciler) {
	c.t.Helper()
	if o := c.object(); !c.clock.Now().Before(c.rests) || c.observedState != c.watched(o) {
		c.observedState = c.watched(o)
		result, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		c.onPass()
		c.rests = c.clock.Now().Add(result.RequeueAfter)
		if err == nil && result.RequeueAfter == 0 {
			c.violatedf("the OVNSync is never looked at again")
		}
	}
	c.clock.SetTime(c.clock.Now().Add(5 * time.Second))
	c.tick()
}

// reconcileUntil reconciles until the condition holds. It fails the test if that does not happen.
func (c *cluster) reconcileUntil(r *Reconciler, label string, holds func() bool) {
	c.t.Helper()
	for range 600 {
		if holds() {
			return
		}
		c.pass(r)
	}
	c.t.Fatalf("does not come to %s: %s", label, c.recordedText())
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

// tick executes one step of each part of the simulation.
func (c *cluster) tick() {
	c.garbage()
	c.jobController()
	c.kubelets()
	c.jobController()
}

// jobController creates the pod of each released Job, and finishes the Job when the pod has ended.
func (c *cluster) jobController() {
	ctx := context.Background()
	for _, j := range c.jobs() {
		own := batchjob.ListPods(&j, c.pods())
		switch end := condition.FinishedCondition(&j); {
		case end.Type != "":
			if c.clock.Now().Sub(end.LastTransitionTime.Time) >= time.Duration(*j.Spec.TTLSecondsAfterFinished)*time.Second {
				c.must(c.api.Delete(ctx, &j))
			}
		case *j.Spec.Suspend:
		case len(own) == 0:
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%03d", c.podCount), Namespace: namespace, Labels: j.Spec.Template.Labels},
				Spec:       j.Spec.Template.Spec,
			}
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&j, batchv1.SchemeGroupVersion.WithKind("Job"))}
			c.podCount++
			c.must(c.api.Create(ctx, pod))
		case !consumer.Running(&own[0]):
			end := batchv1.JobComplete
			if own[0].Status.Phase == corev1.PodFailed {
				end = batchv1.JobFailed
			}
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
				Type: end, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: c.clock.Now()}, Reason: "Ended",
			})
			c.must(c.api.Status().Update(ctx, &j))
		}
	}
}

// kubelets start pods, and end them a step later, with their effect.
func (c *cluster) kubelets() {
	ctx := context.Background()
	var at []string
	for _, p := range c.pods() {
		status := corev1.ContainerStatus{Name: "neutron"}
		switch {
		case !consumer.Running(&p):
			continue
		case p.Status.Phase == corev1.PodRunning:
			code := c.run(&p)
			p.Status.Phase = map[bool]corev1.PodPhase{true: corev1.PodSucceeded, false: corev1.PodFailed}[code == 0]
			status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code}
		case p.Spec.Containers[0].Image == "unpullable":
			p.Status.Phase = corev1.PodPending
			status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}
		default:
			p.Status.Phase = corev1.PodRunning
			status.State.Running = &corev1.ContainerStateRunning{}
		}
		if p.Status.Phase == corev1.PodRunning {
			at = append(at, p.Name)
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		c.must(c.api.Status().Update(ctx, &p))
	}
	if len(at) > 1 {
		c.violatedf("at a time run %v", at)
	}
}

// run simulates Neutron's tool in the program that intercepts its warnings.
func (c *cluster) run(p *corev1.Pod) int32 {
	command := p.Spec.Containers[0].Command
	if len(command) != 4 || command[0] != python || command[2] != program || p.Spec.Containers[0].Args != nil {
		c.violatedf("runs %v", command)
		return 255
	}
	mode := command[3]
	c.modes = append(c.modes, mode)
	if code := c.exits(); code != 0 {
		c.outputs[p.Name] = "2026-03-02 12:00:00.000 8 ERROR neutron [-] mysql+pymysql://neutron:hunter2@mariadb refused\nlast line\n"
		return code
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
	c.outputs[p.Name] = "2026-03-02 12:00:00.000 8 INFO neutron [-] something\n" + mark + " " + text + "\n"
	return 0
}

// garbage ends the pods of deleted Jobs: running ones complete their run first.
func (c *cluster) garbage() {
	ctx := context.Background()
	alive := map[types.UID]bool{c.object().UID: true}
	for _, j := range c.jobs() {
		if owner := metav1.GetControllerOf(&j); owner != nil && !alive[owner.UID] {
			c.must(c.api.Delete(ctx, &j))
			continue
		}
		alive[j.UID] = true
	}
	for _, p := range c.pods() {
		owner := metav1.GetControllerOf(&p)
		switch {
		case owner == nil || alive[owner.UID]:
		case p.Status.Phase == corev1.PodRunning && p.Annotations["stopping"] == "":
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, "stopping", "true")
			c.must(c.api.Update(ctx, &p))
		default:
			if p.Status.Phase == corev1.PodRunning {
				c.run(&p)
			}
			c.must(c.api.Delete(ctx, &p))
		}
	}
}
