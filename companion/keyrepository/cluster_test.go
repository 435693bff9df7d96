package keyrepository

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob/batchjobtest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

const (
	namespace  = "team-a-prod-12345"
	secretName = "keystone-keys"
)

var scheme = func() *runtime.Scheme {
	s := faultinjection.NewScheme(appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme)
	for _, k := range []struct{ gvk, list string }{{"PushSecret", "PushSecretList"}, {"ExternalSecret", "ExternalSecretList"}} {
		gvk := pushSecretKind
		if k.gvk == externalSecretKind.Kind {
			gvk = externalSecretKind
		}
		s.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
		gvk.Kind = k.list
		s.AddKnownTypeWithName(gvk, &unstructured.UnstructuredList{})
	}
	return s
}()

// sealed is an encrypted object, a token or a stored credential, and its key.
type sealed struct {
	key     keys.Key
	expires time.Time // zero: never
}

// cluster simulates the environment of the controller: a cluster that runs its Jobs, users, the Deployment's controller,
// kubelets and External Secrets with its store. It writes without the controller's client, and is as slow and unfavorable as
// possible: in every other pod, the kubelet never updates a mounted Secret.
type cluster struct {
	*batchjobtest.Cluster

	// random is the source of all random values including the keys, so that runs are deterministic.
	random *rand.ChaCha8
	events *events.FakeRecorder
	logs   bytes.Buffer

	// mounted contains the keys of each running pod.
	mounted map[string]keys.Set
	sealed  []sealed
	store   map[string]map[string][]byte
	// lifetime of tokens.
	lifetime time.Duration
	// storeDown makes the store unreachable.
	storeDown bool
	// jobFails makes migrations fail, noRollout stops the Deployment's controller.
	jobFails, noRollout bool
	// podCount counts the pods of the Deployment.
	podCount int
	jobRuns  map[string]int
	// primary of the Secret at the last check, to detect several rotations in one write.
	primary int
	// onPass is called after each pass.
	onPass func()
}

func newCluster(t testing.TB, repo *openstackv1.KeyRepository, more ...client.Object) *cluster {
	t.Helper()
	api := faultinjection.NewServer(scheme, []client.Object{&openstackv1.KeyRepository{}}, append([]client.Object{repo}, more...)...)
	c := &cluster{
		Cluster: batchjobtest.New(t, api, time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)),
		random:  rand.NewChaCha8([32]byte{1}), events: events.NewFakeRecorder(10000),
		mounted: map[string]keys.Set{}, store: map[string]map[string][]byte{}, jobRuns: map[string]int{},
		lifetime: 49 * time.Hour,
	}
	c.Run = c.migrate
	return c
}

func fernet() *openstackv1.KeyRepository {
	return &openstackv1.KeyRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "keystone-fernet-keys", Namespace: namespace, UID: "repo-uid", Generation: 1},
		Spec: openstackv1.KeyRepositorySpec{
			Type: openstackv1.KeyTypeFernet, SecretName: secretName, RotationSchedule: "0 0 * * 0",
			Token:     &openstackv1.TokenLifetime{ExpirationSeconds: 3600, AllowExpiredWindowSeconds: 172800},
			Consumers: []openstackv1.Consumer{{Kind: "Deployment", Name: "keystone"}},
		},
	}
}

func credential() *openstackv1.KeyRepository {
	r := fernet()
	r.Name = "keystone-credential-keys"
	r.Spec.Type, r.Spec.Token = openstackv1.KeyTypeCredential, nil
	r.Spec.Migrate = &openstackv1.Command{Command: []openstackv1.Argument{"keystone-manage", "credential_migrate"}}
	return r
}

func withBackup(r *openstackv1.KeyRepository) *openstackv1.KeyRepository {
	r.Spec.Backup = &openstackv1.Backup{SecretStoreRef: common.SecretStoreReference{Name: "vault"}, RemoteKey: "prod/keys"}
	return r
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "keystone"}
	replicas := int32(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "keystone", Namespace: namespace, UID: "deployment-uid"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{
						Name: "keystone", Image: "keystone:1", Command: []string{"uwsgi"},
						Env:           []corev1.EnvVar{{Name: "DATABASE_PASSWORD", Value: "x"}},
						Ports:         []corev1.ContainerPort{{ContainerPort: 5000}},
						LivenessProbe: &corev1.Probe{},
					},
					{Name: "proxy", Image: "proxy:1"},
				}},
			},
		},
	}
}

func (c *cluster) reconciler(writer client.Client, reader client.Reader) *Reconciler {
	return &Reconciler{Client: writer, Reader: reader, Events: c.events, Clock: c.Clock, Random: c.random}
}

func (c *cluster) repo() *openstackv1.KeyRepository {
	list := &openstackv1.KeyRepositoryList{}
	c.Must(c.API.List(context.Background(), list))
	return &list.Items[0]
}

func (c *cluster) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c.repo())}
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// secret returns nil if the Secret does not exist.
func (c *cluster) secret() *corev1.Secret {
	s := &corev1.Secret{}
	if c.API.Get(context.Background(), key(secretName), s) != nil {
		return nil
	}
	return s
}

// set returns the keys in the Secret: nil if it is missing or invalid.
func (c *cluster) set() keys.Set {
	s := c.secret()
	if s == nil {
		return nil
	}
	set, err := keys.Parse(s.Data)
	if err != nil {
		return nil
	}
	return set
}

// watch is called after every write of the controller.
func (c *cluster) watch() {
	set := c.set()
	if set == nil {
		return
	}
	if now := set.Primary(); now != c.primary {
		if c.primary != 0 && now != c.primary+1 {
			c.Violatedf("primary went from %d to %d", c.primary, now)
		}
		for pod, mounted := range c.mounted {
			if mounted.Primary() < c.primary {
				c.Violatedf("rotated to %d while pod %s was at %d", now, pod, mounted.Primary())
			}
		}
		c.primary = now
	}
	c.check()
}

// check finds data that a running or a new pod cannot decrypt.
func (c *cluster) check() {
	readers := maps.Clone(c.mounted)
	if set := c.set(); set != nil {
		readers["(new pod)"] = set
	}
	for _, s := range c.sealed {
		for name, set := range readers {
			if !containsKey(set, s.key) {
				c.Violatedf("%s: pod %s with keys %v cannot decrypt all data", c.Clock.Now().Format(time.DateTime), name, set.Indexes())
			}
		}
	}
}

func containsKey(set keys.Set, key keys.Key) bool {
	return slices.Contains(slices.Collect(maps.Values(set)), key)
}

// tick executes one step of each part of the simulation.
func (c *cluster) tick() {
	c.users()
	c.kubelets()
	c.deployments()
	c.Tick()
	c.externalSecrets()
	c.check()
}

// pass reconciles once and, if the controller waits, runs the simulation. It returns the time until the next step; 0 if there
// is one now.
func (c *cluster) pass(r *Reconciler) time.Duration {
	result, err := controllertest.ReconcileLogged(r, c.request().NamespacedName, &c.logs)
	c.watch()
	if c.onPass != nil {
		c.onPass()
	}
	if err == nil && result.RequeueAfter > controller.Poll {
		return result.RequeueAfter
	}
	if err != nil || result.RequeueAfter == controller.Poll {
		c.Clock.SetTime(c.Clock.Now().Add(controller.Poll))
		c.tick()
	}
	return 0
}

// removePods removes all pods, as after the deletion of a Deployment.
func (c *cluster) removePods() {
	pods := &corev1.PodList{}
	c.Must(c.API.List(context.Background(), pods))
	for i := range pods.Items {
		c.Must(c.API.Delete(context.Background(), &pods.Items[i]))
	}
	clear(c.mounted)
}

// run reconciles until only time is awaited. It fails the test if that does not happen.
func (c *cluster) run(r *Reconciler) {
	c.T.Helper()
	controllertest.ReconcileUntil(c.T, 100, "an idle controller", func() bool { return c.pass(r) > 0 }, c.conditions)
}

func (c *cluster) conditions() string {
	text := &strings.Builder{}
	for _, condition := range c.repo().Status.Conditions {
		fmt.Fprintf(text, "%s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return text.String()
}
