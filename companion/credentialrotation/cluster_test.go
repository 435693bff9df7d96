package credentialrotation

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/crash"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// Keys of the Secrets of Keystone's two targets.
const (
	idKey       = "application_credential_id"
	secretKey   = "application_credential_secret"
	passwordKey = "password"
)

const (
	namespace  = "team-a-prod-12345"
	secretName = "glance-credential"
	copyName   = "glance-copy"
	cloudsName = "glance-clouds"
	userName   = "glance"
	first      = "correct-horse-battery" // The user's first password.
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, c5c3v1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	for _, kind := range []string{"User", "Permission", "Vhost"} {
		s.AddKnownTypeWithName(brokerKind(kind), &unstructured.Unstructured{})
		s.AddKnownTypeWithName(brokerKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	return s
}()

// cluster fakes what is around the controller: a Deployment's controller and its pods, which keep the credential that they were started
// with and log in by it all the time, Keystone, and a message queue with its operator.
type cluster struct {
	t        testing.TB
	api      client.WithWatch
	keystone *identitytest.Keystone
	broker   *broker
	clock    *clocktesting.FakePassiveClock
	// random of everything: a run is the same each time.
	random *rand.ChaCha8
	events *events.FakeRecorder
	logs   *bytes.Buffer

	// loaded is what each running pod has.
	loaded    map[string]loaded
	podCount  int
	noRollout bool
	// noCopy stops the SecretAggregate's controller.
	noCopy bool
	// inUse counts the credentials that were in use.
	inUse map[string]bool
	// onPass is called after each pass.
	onPass     func()
	violations []string
}

// loaded is a credential as a pod has it.
type loaded struct{ id, value string }

func newCluster(t testing.TB, rotation *c5c3v1.CredentialRotation, more ...client.Object) *cluster {
	t.Helper()
	c := &cluster{
		t: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)),
		random: rand.NewChaCha8([32]byte{1}), events: events.NewFakeRecorder(10000), logs: &bytes.Buffer{},
		loaded: map[string]loaded{}, inUse: map[string]bool{},
		keystone: identitytest.New(map[string]string{userName: first, "nova": "x"}), broker: newBroker(),
	}
	objects := []client.Object{rotation, clouds()}
	if rotation.Spec.Target == password {
		objects = append(objects, initial())
	}
	c.api = crash.NewServer(scheme, []client.Object{&c5c3v1.CredentialRotation{}}, append(objects, more...)...)
	return c
}

func clouds() *corev1.Secret {
	text := `clouds:
  glance:
    auth:
      auth_url: https://keystone.cloud.svc:5000/v3
      username: glance
      password: "` + first + `"
      project_name: service
      user_domain_name: Default
      project_domain_name: Default
`
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: cloudsName, Namespace: namespace}, Data: map[string][]byte{"clouds.yaml": []byte(text)}}
}

// initial is the Secret with the first password, as External Secrets generated it.
func initial() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace, Labels: map[string]string{"theirs": "x"}},
		Data:       map[string][]byte{"username": []byte(userName), "password": []byte(first)},
	}
}

func rotationOf(target string) *c5c3v1.CredentialRotation {
	r := &c5c3v1.CredentialRotation{
		ObjectMeta: metav1.ObjectMeta{Name: "glance", Namespace: namespace, UID: "rotation-uid", Generation: 1},
		Spec: c5c3v1.CredentialRotationSpec{
			Target: target, SecretName: secretName,
			IntervalDays: 90, PreRotationDays: new(int32(7)), GracePeriodDays: new(int32(1)),
			Consumers: []c5c3v1.Consumer{{Kind: "Deployment", Name: "glance"}},
		},
	}
	if target == queueUser {
		r.Spec.Queue = &c5c3v1.QueueUser{Permissions: []c5c3v1.QueuePermission{permissionIn("glance")}}
		return r
	}
	r.Spec.UserName = userName
	r.Spec.CloudCredentialsRef = &common.CloudCredentialsReference{SecretName: cloudsName, CloudName: "glance"}
	return r
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "glance"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "glance", Namespace: namespace, UID: "deployment-uid"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
	}
}

// reconciler talks to the API server by a client, and to Keystone by a way.
func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: c.clock, Random: c.random,
		Transport: func([]byte) (http.RoundTripper, error) { return way, nil },
	}
}

func (c *cluster) sound() *Reconciler { return c.reconciler(c.api, c.keystone) }

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (c *cluster) rotation() *c5c3v1.CredentialRotation {
	r := &c5c3v1.CredentialRotation{}
	c.must(c.api.Get(context.Background(), key("glance"), r))
	return r
}

func (c *cluster) edit(change func(*c5c3v1.CredentialRotation)) {
	c.t.Helper()
	r := c.rotation()
	change(r)
	c.must(c.api.Update(context.Background(), r))
}

// secret returns nil if there is none.
func (c *cluster) secret() *corev1.Secret {
	s := &corev1.Secret{}
	if c.api.Get(context.Background(), key(secretName), s) != nil {
		return nil
	}
	return s
}

func (c *cluster) editSecret(change func(*corev1.Secret)) {
	c.t.Helper()
	s := c.secret()
	change(s)
	c.must(c.api.Update(context.Background(), s))
}

func (c *cluster) condition(name string) metav1.Condition {
	c.t.Helper()
	if condition := meta.FindStatusCondition(c.rotation().Status.Conditions, name); condition != nil {
		return *condition
	}
	c.t.Fatalf("no condition %s", name)
	return metav1.Condition{}
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) violatedf(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
}

// nextCredential is what a pod that starts now would get: nothing if there is no credential yet.
func (c *cluster) nextCredential() (loaded, bool) {
	s := c.secret()
	if c.rotation().Spec.Target == password {
		l := loaded{value: text(s, passwordKey)}
		return l, l.value != ""
	}
	idKey, valueKey := targets[c.rotation().Spec.Target]().keys()
	l := loaded{id: text(s, idKey), value: text(s, valueKey)}
	return l, l.id != "" && l.value != ""
}

func (c *cluster) accepts(l loaded) bool {
	if c.rotation().Spec.Target == password {
		return c.keystone.AcceptsPassword(userName, l.value)
	}
	if c.rotation().Spec.Target == queueUser {
		return c.broker.accepts(l)
	}
	return c.keystone.AcceptsCredential(l.id, l.value)
}

// check is called after every write and every step of the world.
func (c *cluster) check() {
	at := c.clock.Now().Format(time.DateTime)
	offered, ok := c.nextCredential()
	if ok {
		c.inUse[offered.value] = true
	}
	if c.rotation().Spec.Target == password {
		// Whatever happens, someone knows the password.
		if !c.accepts(offered) && !c.accepts(loaded{value: text(c.secret(), stagedPrefix+passwordKey)}) {
			c.violatedf("%s: Keystone accepts no password that anybody knows", at)
		}
		return
	}
	// Before anybody has one, a queue user may be offered that is to get its rights yet: nobody starts by it.
	early := c.rotation().Spec.Target == queueUser && len(c.loaded) == 0
	if ok && !c.accepts(offered) && !early {
		c.violatedf("%s: the Secret holds a credential that is not accepted", at)
	}
	for _, pod := range slices.Sorted(maps.Keys(c.loaded)) {
		if !c.accepts(c.loaded[pod]) {
			c.violatedf("%s: pod %s is left with a revoked credential", at, pod)
		}
	}
	if s, l := c.copyOf(); s != nil && !c.accepts(l) {
		c.violatedf("%s: the SecretAggregate's Secret holds a revoked credential", at)
	}
}

// copied adds a SecretAggregate to a rotation's consumers.
func copied(r *c5c3v1.CredentialRotation) *c5c3v1.CredentialRotation {
	r.Spec.Consumers = append(r.Spec.Consumers, c5c3v1.Consumer{Kind: aggregateKind, Name: copyName})
	return r
}

func aggregate() *c5c3v1.SecretAggregate {
	return &c5c3v1.SecretAggregate{
		ObjectMeta: metav1.ObjectMeta{Name: copyName, Namespace: namespace},
		Spec:       c5c3v1.SecretAggregateSpec{TargetSecretName: copyName},
	}
}

// copyOf is what the SecretAggregate's Secret holds.
func (c *cluster) copyOf() (*corev1.Secret, loaded) {
	s := &corev1.Secret{}
	if c.api.Get(context.Background(), key(copyName), s) != nil {
		return nil, loaded{}
	}
	id, value, _ := strings.Cut(text(s, "login"), " ")
	return s, loaded{id: id, value: value}
}

// aggregates copy the credential, if there is a SecretAggregate.
func (c *cluster) aggregates() {
	ctx := context.Background()
	offered, ok := c.nextCredential()
	if c.noCopy || !ok || c.api.Get(ctx, key(copyName), &c5c3v1.SecretAggregate{}) != nil {
		return
	}
	s, has := c.copyOf()
	data := map[string][]byte{"login": []byte(offered.id + " " + offered.value)}
	switch {
	case s == nil:
		c.must(c.api.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: copyName, Namespace: namespace}, Data: data}))
	case has != offered:
		s.Data = data
		c.must(c.api.Update(ctx, s))
	}
}

// deployments replace one pod at a time, the new one first.
func (c *cluster) deployments() {
	ctx := context.Background()
	d := &appsv1.Deployment{}
	if c.noRollout || c.api.Get(ctx, key("glance"), d) != nil {
		return
	}
	pods := &corev1.PodList{}
	c.must(c.api.List(ctx, pods, client.MatchingLabels(d.Spec.Selector.MatchLabels)))
	annotation := podAnnotationPrefix + secretName
	var updated, old []corev1.Pod
	for _, p := range pods.Items {
		if p.Annotations[annotation] == d.Spec.Template.Annotations[annotation] {
			updated = append(updated, p)
		} else {
			old = append(old, p)
		}
	}
	credential, ok := c.nextCredential()
	if c.rotation().Spec.Target == queueUser && len(c.loaded) == 0 { // Who composes them holds them back until then.
		ok = ok && meta.IsStatusConditionTrue(c.rotation().Status.Conditions, conditionReady)
	}
	switch {
	case len(pods.Items) > int(*d.Spec.Replicas):
		c.must(c.api.Delete(ctx, &old[0]))
		delete(c.loaded, old[0].Name)
		old = old[1:]
	case len(updated) < int(*d.Spec.Replicas) && ok:
		c.podCount++
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("glance-%03d", c.podCount), Namespace: namespace,
				Labels: d.Spec.Template.Labels, Annotations: maps.Clone(d.Spec.Template.Annotations),
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		c.must(c.api.Create(ctx, &pod))
		c.loaded[pod.Name] = credential
		updated = append(updated, pod)
	}
	if n := int32(len(updated) + len(old)); d.Status.Replicas != n || d.Status.UpdatedReplicas != int32(len(updated)) {
		d.Status.Replicas, d.Status.UpdatedReplicas = n, int32(len(updated))
		c.must(c.api.Update(ctx, d))
	}
}

// pass reconciles once and, if that waits for something, lets the simulated world go on. It returns how long nothing is left to do: zero
// if there is.
func (c *cluster) pass(r *Reconciler) time.Duration {
	ctx := log.IntoContext(context.Background(), zap.New(zap.WriteTo(c.logs), zap.UseDevMode(true)))
	result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: key("glance")})
	if err != nil {
		log.FromContext(ctx).Error(err, "Reconciler error")
	}
	c.check()
	if c.onPass != nil {
		c.onPass()
	}
	if err == nil && result.RequeueAfter > poll {
		return result.RequeueAfter
	}
	if err != nil || result.RequeueAfter > controller.MinRequeueInterval {
		c.clock.SetTime(c.clock.Now().Add(max(result.RequeueAfter, time.Second)))
		c.deployments()
		c.aggregates()
		c.operator()
		c.check()
	}
	return 0
}

// run reconciles until nothing is left to do but wait for a time. It fails the test if that does not happen.
func (c *cluster) run(r *Reconciler) {
	c.t.Helper()
	const passes = 100
	for range passes {
		if c.pass(r) > 0 {
			return
		}
	}
	c.t.Fatalf("does not converge: %s", c.conditions())
}

// days lets time pass.
func (c *cluster) days(r *Reconciler, n float64) {
	c.t.Helper()
	c.clock.SetTime(c.clock.Now().Add(time.Duration(n * float64(day))))
	c.run(r)
}

// untilRotation lets time pass until the credential was replaced once, and what was before is revoked.
func (c *cluster) untilRotation(r *Reconciler) {
	c.t.Helper()
	from := len(c.inUse)
	for range 20 {
		step := 0.99
		if next := c.rotation().Status.NextRotation; next != nil && len(c.inUse) == from {
			step = max(step, next.Sub(c.clock.Now()).Hours()/24-1)
		}
		c.days(r, step)
		if len(c.inUse) > from && meta.IsStatusConditionTrue(c.rotation().Status.Conditions, conditionRevoked) {
			return
		}
	}
	c.t.Fatalf("does not rotate: %s", c.conditions())
}

func (c *cluster) conditions() string {
	out := &strings.Builder{}
	for _, condition := range c.rotation().Status.Conditions {
		fmt.Fprintf(out, "%s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return out.String()
}

// start runs a rotation with its consumer until it rests, and what was before is revoked.
func start(t testing.TB, rotation *c5c3v1.CredentialRotation, more ...client.Object) (*cluster, *Reconciler) {
	t.Helper()
	c := newCluster(t, rotation, more...)
	r := c.sound()
	c.place(r)
	return c, r
}

// place brings the consumer, and its pods when there is something to start them with.
func (c *cluster) place(r *Reconciler) {
	c.t.Helper()
	c.must(c.api.Create(context.Background(), deployment()))
	for len(c.loaded) < 2 {
		c.pass(r)
		c.operator()
		c.deployments()
	}
	c.run(r)
}

// said is everything that leaves the controller but for the Secret.
func (c *cluster) said() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%+v %s", c.rotation().Status, c.logs)
	for len(c.events.Events) > 0 {
		out.WriteString(<-c.events.Events)
	}
	return out.String()
}

// checkSaid fails the test if a secret was revealed.
func (c *cluster) checkSaid() {
	c.t.Helper()
	requested := c.said()
	for value := range c.inUse {
		if strings.Contains(requested, value) {
			c.t.Errorf("a secret is told: %s", requested)
		}
	}
}
