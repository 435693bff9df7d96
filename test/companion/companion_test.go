//go:build platform

package companion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/databasesync"
	"github.com/c5c3/crossplane-cobaltcore/companion/keyrepository"
	access "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

const namespace = "cloud"

// cluster is a control plane with a companion, and the test as its nodes.
type cluster struct {
	t   *testing.T
	api client.Client
	// companion is the API as the companion may use it.
	companion client.Client

	mu sync.Mutex
	// ran are the steps whose pods have started: contract 2025.2.
	ran []string
	// exits are exit codes by step. Held is a step that does not end.
	exits map[string]int32
	held  string
}

func TestCompanionRotatesKeysAndUpgrades(t *testing.T) {
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	c := start(t)
	c.create(&corev1.Secret{ObjectMeta: meta1("database")})
	c.create(&corev1.Secret{ObjectMeta: meta1("mariadb-root")})
	c.create(schemaOf("2025.1"))
	eventually(t, "the first sync", c.finished)
	c.bounded()

	// Its consumers run, with keys.
	c.create(deployment())
	c.create(repository())
	eventually(t, "a rotation that has reached every pod", func() bool {
		r := &openstackv1.KeyRepository{}
		c.get("keys", r)
		return r.Status.Primary > 1 && meta.IsStatusConditionTrue(r.Status.Conditions, "Distributed")
	})

	// An upgrade: contract fails once, and is repeated immediately on request.
	c.setExit("contract 2025.2", 3)
	c.order("2025.2")
	eventually(t, "the new schema", func() bool { return c.sync().Status.InstalledRelease == "2025.2" })
	if slices.Contains(c.all(), "contract 2025.2") {
		t.Error("contracted before the roll-out")
	}
	c.rollOut("2025.2")
	eventually(t, "a failure", func() bool { return c.last().Result == openstackv1.StepFailed })
	if r := c.last(); r.Step != "contract/contract" || r.ExitCode == nil || *r.ExitCode != 3 {
		t.Errorf("%+v", r)
	}
	c.setExit("contract 2025.2", 0)
	c.change(func(s *openstackv1.DatabaseSync) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, databasesync.RetryAnnotation, "1")
	})
	eventually(t, "the end of the upgrade", c.finished)

	// A Job that is deleted while it runs.
	c.hold("expand 2026.1")
	c.order("2026.1")
	eventually(t, "expand", func() bool { return slices.Contains(c.all(), "expand 2026.1") })
	if err := c.api.DeleteAllOf(t.Context(), &batchv1.Job{}, client.InNamespace(namespace), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the result", func() bool { return c.last().Step == "expand/expand" && c.last().Result == openstackv1.StepFailed })
	c.hold("")
	eventually(t, "the new schema", func() bool { return c.sync().Status.InstalledRelease == "2026.1" })
	c.rollOut("2026.1")
	eventually(t, "the end of the second upgrade", c.finished)
	want := []string{"db-version 2025.1", "db-sync 2025.1", "expand 2025.2", "contract 2025.2", "contract 2025.2", "expand 2026.1", "expand 2026.1", "contract 2026.1"}
	if got := c.all(); !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}
}

// empty is the reported revision of an empty database.
const empty = "None"

var consumers = []openstackv1.Consumer{{Kind: "Deployment", Name: "keystone"}}

func meta1(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

func image(release string) string { return "registry.example.com/keystone:" + release }

func schemaOf(release string) *openstackv1.DatabaseSync {
	step := func(name string) []openstackv1.Step {
		return []openstackv1.Step{{Name: name, Command: openstackv1.Command{Command: []openstackv1.Argument{"keystone-manage"}}}}
	}
	return &openstackv1.DatabaseSync{ObjectMeta: meta1("keystone"), Spec: openstackv1.DatabaseSyncSpec{
		SchemaVersion: &openstackv1.SchemaVersion{Step: step("db-version")[0], Empty: empty},
		Release:       release, Sync: step("db-sync"), Expand: step("expand"), Contract: step("contract"), Consumers: consumers,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "keystone", Image: image(release),
			EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}}}},
		}}}},
	}}
}

func repository() *openstackv1.KeyRepository {
	return &openstackv1.KeyRepository{ObjectMeta: meta1("keys"), Spec: openstackv1.KeyRepositorySpec{
		Type: openstackv1.KeyTypeFernet, SecretName: "keys", RotationSchedule: "* * * * *",
		Token: &openstackv1.TokenLifetime{ExpirationSeconds: 60}, Consumers: consumers,
	}}
}

// bounded checks that the companion can neither read nor change Secrets that its objects do not name.
func (c *cluster) bounded() {
	c.t.Helper()
	foreign := client.ObjectKey{Namespace: namespace, Name: "mariadb-root"}
	s := &corev1.Secret{ObjectMeta: meta1("mariadb-root")}
	var mine corev1.Secret
	for actor, err := range map[string]error{
		"reads another Secret":     c.companion.Get(c.t.Context(), foreign, s),
		"lists all Secrets":        c.companion.List(c.t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)),
		"writes another Secret":    c.companion.Update(c.t.Context(), s),
		"writes a Secret it reads": c.companion.Update(c.t.Context(), &corev1.Secret{ObjectMeta: meta1("database")}),
		"deletes a Secret":         c.companion.Delete(c.t.Context(), s),
		"reads another namespace":  c.companion.Get(c.t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "database"}, s),
	} {
		if !apierrors.IsForbidden(err) {
			c.t.Errorf("the companion %s: %v", actor, err)
		}
	}
	if err := c.companion.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: "database"}, &mine); err != nil {
		c.t.Errorf("objects of its namespace: %v", err)
	}
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "keystone"}
	pod := corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{
			Name: "keystone", Image: image("2025.1"),
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
	}
	return &appsv1.Deployment{ObjectMeta: meta1("keystone"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
	}}
}

// start starts Kubernetes and the companion, with the service account that a control plane creates for it.
func start(t *testing.T) *cluster {
	t.Helper()
	config := startKubernetes(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, openstackv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, api: api, exits: map[string]int32{}}
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})
	for _, o := range access.Access(workload.Workload{Name: "companion", Namespace: namespace, App: "companion", Instance: "cloud"}) {
		c.create(o.(client.Object))
	}
	role, binding := access.Grant(object.Meta{Name: "keystone-companion", Namespace: namespace}, schemaOf("2025.1"), repository())
	c.create(role.(client.Object))
	c.create(binding.(client.Object))
	c.definitions("../../apis/openstack/crd.yaml")
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":companion", Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	if c.companion, err = client.New(as, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: scheme, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range []func(ctrl.Manager) error{databasesync.Add, keyrepository.Add} {
		if err := add(mgr); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = mgr.Start(ctx) })
	running.Go(func() { c.kubelet(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return c
}

// definitions adds the CRDs of a file.
func (c *cluster) definitions(path string) {
	c.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for d := utilyaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		switch err := d.Decode(crd); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			c.t.Fatal(err)
		case crd.Name == "": // An empty document.
			continue
		}
		c.create(crd)
		eventually(c.t, crd.Name, func() bool {
			_ = c.api.Get(c.t.Context(), client.ObjectKeyFromObject(crd), crd)
			return slices.ContainsFunc(crd.Status.Conditions, func(x apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return x.Type == apiextensionsv1.Established && x.Status == apiextensionsv1.ConditionTrue
			})
		})
	}
}

func (c *cluster) create(o client.Object) {
	c.t.Helper()
	if err := c.api.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) get(name string, o client.Object) {
	c.t.Helper()
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) sync() *openstackv1.DatabaseSync {
	s := &openstackv1.DatabaseSync{}
	c.get("keystone", s)
	return s
}

func (c *cluster) last() openstackv1.StepRecord {
	if h := c.sync().Status.History; len(h) > 0 {
		return h[len(h)-1]
	}
	return openstackv1.StepRecord{}
}

func (c *cluster) finished() bool {
	s := c.sync()
	return s.Status.ObservedGeneration == s.Generation && meta.IsStatusConditionTrue(s.Status.Conditions, "Contracted")
}

func (c *cluster) change(do func(*openstackv1.DatabaseSync)) {
	eventually(c.t, "a change of the DatabaseSync", func() bool {
		s := c.sync()
		do(s)
		return c.api.Update(c.t.Context(), s) == nil
	})
}

func (c *cluster) order(release string) {
	c.change(func(s *openstackv1.DatabaseSync) {
		s.Spec.Release, s.Spec.Template.Spec.Containers[0].Image = release, image(release)
	})
}

func (c *cluster) rollOut(release string) {
	eventually(c.t, "a change of the Deployment", func() bool {
		d := &appsv1.Deployment{}
		c.get("keystone", d)
		d.Spec.Template.Spec.Containers[0].Image = image(release)
		return c.api.Update(c.t.Context(), d) == nil
	})
}

func (c *cluster) setExit(step string, code int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exits[step] = code
}

func (c *cluster) hold(step string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = step
}

func (c *cluster) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ran)
}

// kubelet simulates the nodes: pods start, pods of steps end, and deleted pods stop.
func (c *cluster) kubelet(ctx context.Context) {
	for ctx.Err() == nil {
		pods := &corev1.PodList{}
		if c.api.List(ctx, pods, client.InNamespace(namespace)) == nil {
			for i := range pods.Items {
				c.node(ctx, &pods.Items[i])
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *cluster) node(ctx context.Context, p *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, name, isStep := strings.Cut(p.Labels["openstack.c5c3.io/step"], ".")
	_, release, _ := strings.Cut(p.Spec.Containers[0].Image, ":")
	step := fmt.Sprintf("%s %s", name, release)
	state := corev1.ContainerStatus{Name: "keystone", Image: p.Spec.Containers[0].Image, ImageID: image(release) + "@sha256:0123", Ready: !isStep}
	switch {
	case p.DeletionTimestamp != nil:
		_ = c.api.Delete(ctx, p, client.GracePeriodSeconds(0))
		return
	case p.Status.Phase == corev1.PodPending:
		p.Status.Phase = corev1.PodRunning
		state.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
		if isStep {
			c.ran = append(c.ran, step)
		} else {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		}
	case isStep && p.Status.Phase == corev1.PodRunning && step != c.held:
		p.Status.Phase = corev1.PodSucceeded
		if c.exits[step] != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		state.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: c.exits[step], FinishedAt: metav1.Now()}
		if name == "db-version" {
			state.State.Terminated.Message = empty
		}
	default:
		return
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{state}
	_ = c.api.Status().Update(ctx, p)
}
