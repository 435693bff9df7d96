package databasesync

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob/batchjobtest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

const namespace = "team-a-prod-12345"

// start is the time at which a simulation starts.
var start = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

var scheme = faultinjection.NewScheme(appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme)

// cluster simulates the environment of the controller: a cluster that runs its Jobs, Crossplane, which rolls out the Deployment
// when the schema serves a release, and the database. It writes without the controller's client.
type cluster struct {
	*batchjobtest.Cluster

	events *events.FakeRecorder

	// exits returns the exit code of an attempt; nil: 0.
	exits func(r record) int32
	// podCount counts the pods of the service.
	podCount int
	// messages makes containers write their report into the termination message.
	messages bool
	// onPass is called after each pass.
	onPass func()

	// starts are the attempts whose pod has started, in order: expand/expand 2025.2 #1.
	starts []string
	// serves are the releases that the schema serves, and startedAttempts the releases to which it may have been upgraded,
	// the newest last.
	serves, startedAttempts []string
	// statusRemoved is set if the status was removed, so that records prove nothing.
	statusRemoved bool
}

func image1(release string) string { return "registry.example.com/keystone:" + release }

// keystone returns a DatabaseSync with steps of all phases.
func keystone(release string) *openstackv1.DatabaseSync {
	step := func(name string, codes ...int32) openstackv1.Step {
		return openstackv1.Step{
			Name: name, Command: openstackv1.Command{Command: []openstackv1.Argument{"keystone-manage", openstackv1.Argument(name)}},
			SuccessCodes: codes,
		}
	}
	check, online := step("upgrade-check", 0, 1), step("online")
	online.RepeatCodes = []int32{1}
	return &openstackv1.DatabaseSync{
		ObjectMeta: metav1.ObjectMeta{Name: "keystone", Namespace: namespace, UID: "sync-uid", Generation: 1},
		Spec: openstackv1.DatabaseSyncSpec{
			Release: release, Sync: []openstackv1.Step{step("db-sync")}, Expand: []openstackv1.Step{step("expand")},
			Contract: []openstackv1.Step{step("contract")}, OnlineMigrations: []openstackv1.Step{online}, UpgradeCheck: &check,
			Consumers: []openstackv1.Consumer{{Kind: "Deployment", Name: "keystone"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "schema"}},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name: "keystone", Image: image1(release), Args: []string{"none"},
						EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}}}},
					}},
				},
			},
		},
	}
}

// quiesced makes schema changes of a DatabaseSync require stopped consumers.
func quiesced(s *openstackv1.DatabaseSync) *openstackv1.DatabaseSync {
	for _, steps := range [][]openstackv1.Step{s.Spec.Sync, s.Spec.Expand, s.Spec.Contract} {
		steps[0].Quiesced = true
	}
	return s
}

func secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "database", Namespace: namespace}}
}

func newCluster(t batchjobtest.TB, objects ...client.Object) *cluster {
	statuses := []client.Object{&openstackv1.DatabaseSync{}, &batchv1.Job{}, &corev1.Pod{}, &appsv1.Deployment{}}
	c := &cluster{
		Cluster: batchjobtest.New(t, faultinjection.NewServer(scheme, statuses, objects...), start), events: events.NewFakeRecorder(100000),
		onPass: func() {}, exits: func(record) int32 { return 0 },
	}
	c.Run, c.Started = c.run, c.started
	c.Created = func(j *batchv1.Job, p *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, attemptAnnotation, j.Annotations[attemptAnnotation])
	}
	return c
}

// identified makes a DatabaseSync read the schema revision of the database.
func identified(s *openstackv1.DatabaseSync) *openstackv1.DatabaseSync {
	s.Spec.SchemaVersion = &openstackv1.SchemaVersion{
		Step: openstackv1.Step{Name: "db-version", Command: openstackv1.Command{Command: []openstackv1.Argument{"keystone-manage",
			"db_version"}}},
		Empty: "None",
		Revisions: []openstackv1.SchemaRevision{
			{Revision: "47147121", Releases: []string{"2025.1", "2025.2"}},
			{Revision: "e8725d6fa226", Releases: []string{"2026.1"}},
			{Revision: "742c857f1dfb", Releases: []string{"2026.1", "2026.2"}},
		},
	}
	return s
}

// toolOutput returns the output of the release's tool for the simulated database: its revision among log lines.
func (c *cluster) toolOutput(release string) (string, int32) {
	found, known := "None", true
	switch newest := c.newest(); {
	case newest >= "2026.1":
		found, known = "742c857f1dfb", release >= "2026.1"
	case newest != "":
		found = "47147121"
	}
	if !known {
		return "2026-03-02 12:00:00.000 8 CRITICAL keystone [-] Unhandled error: alembic.util.exc.CommandError: " +
			"Can't locate revision identified by '" + found + "'\n2026-03-02 12:00:00.000 8 ERROR keystone", 1
	}
	return "2026-03-02 12:00:00.000 8 INFO alembic.runtime.migration [-] Context impl MySQLImpl.\n" + found + "\n", 0
}

func (c *cluster) reconciler(api client.Client) *Reconciler {
	return &Reconciler{Client: api, Reader: api, Events: c.events, Clock: c.Clock, Output: func(_ context.Context, p *corev1.Pod,
		_ string) (string, error) {
		if r := attempt(p); phaseOf(&r) == versioning {
			text, _ := c.toolOutput(r.Release)
			return text, nil
		}
		return "step output\nmysql+pymysql://keystone:hunter2@db/keystone refused\nlast line", nil
	}}
}

func (c *cluster) sync() *openstackv1.DatabaseSync {
	s := &openstackv1.DatabaseSync{}
	c.Must(c.API.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "keystone"}, s))
	return s
}

// edit changes the spec.
func (c *cluster) edit(do func(*openstackv1.DatabaseSync)) {
	s := c.sync()
	do(s)
	s.Generation++
	c.Must(c.API.Update(context.Background(), s))
}

// order requests a release with its image, as Crossplane does.
func (c *cluster) order(release string) {
	c.edit(func(s *openstackv1.DatabaseSync) {
		s.Spec.Release, s.Spec.Template.Spec.Containers[0].Image = release, image1(release)
	})
}

func (c *cluster) stepPods() []corev1.Pod { return c.Pods(client.MatchingLabels{"app": "schema"}) }

func (c *cluster) servicePods() []corev1.Pod { return c.Pods(client.MatchingLabels{"app": "keystone"}) }

// pass reconciles once and, if the controller waits, runs the simulation. It returns the time until the next step; 0 if there
// is one now.
func (c *cluster) pass(r *Reconciler) time.Duration {
	result, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace,
		Name: "keystone"}})
	c.onPass()
	if err == nil && result.RequeueAfter > poll {
		return result.RequeueAfter
	}
	if err != nil || result.RequeueAfter == poll {
		c.Clock.SetTime(c.Clock.Now().Add(poll))
		c.tick()
	}
	return 0
}

// reconcileUntil reconciles until the condition holds. It fails the test if that does not happen.
func (c *cluster) reconcileUntil(r *Reconciler, goal string, holds func(*openstackv1.DatabaseSync) bool) {
	c.T.Helper()
	controllertest.ReconcileUntil(c.T, 400, goal, func() bool {
		if holds(c.sync()) {
			return true
		}
		if rest := c.pass(r); rest > 0 {
			c.Clock.SetTime(c.Clock.Now().Add(rest))
			c.tick()
		}
		return false
	}, func() string { return c.logText() + "\n" + strings.Join(c.starts, "\n") })
}

// finished reports whether all steps of the spec have run, and the status shows it.
func finished(s *openstackv1.DatabaseSync) bool {
	return s.Status.ObservedGeneration == s.Generation && s.Status.Phase == openstackv1.SyncPhaseDone &&
		meta.IsStatusConditionTrue(s.Status.Conditions, conditionContracted)
}

func (c *cluster) logText() string {
	s := c.sync()
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s, installed %s, previous %s, contracted %s\n", s.Status.Phase, s.Status.InstalledRelease, s.Status.PreviousRelease,
		s.Status.ContractedRelease)
	for _, condition := range s.Status.Conditions {
		fmt.Fprintf(text, "%s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	for _, r := range s.Status.History {
		fmt.Fprintf(text, "  %s %s #%d %s\n", r.Step, r.Release, r.Attempt, r.Result)
	}
	return text.String()
}

// check finds pods on a schema that does not serve them, and pods that use the database while a step requires that none do.
func (c *cluster) check() {
	for _, p := range c.servicePods() {
		if r := releaseOf(&p); consumer.Running(&p) && !slices.Contains(c.serves, r) {
			c.Violatedf("a pod of release %s runs on a schema that serves %v", r, c.serves)
		}
	}
	inUse := slices.ContainsFunc(c.servicePods(), func(p corev1.Pod) bool { return consumer.Running(&p) })
	for _, p := range c.stepPods() {
		if r := attempt(&p); inUse && r.Quiesced && p.Status.Phase == corev1.PodRunning {
			c.Violatedf("%s runs at the same time as pods that use the database", r.Step)
		}
	}
}

func releaseOf(p *corev1.Pod) string {
	_, tag, _ := strings.Cut(p.Spec.Containers[0].Image, ":")
	tag, _, _ = strings.Cut(tag, "-")
	return tag
}
