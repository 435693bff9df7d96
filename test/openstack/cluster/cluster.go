//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	ovnchassisv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovnchassis/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// tick is the interval of controllers.
const tick = 150 * time.Millisecond

// Cluster is a Kubernetes cluster.
type Cluster struct {
	// Client is its API.
	Client client.WithWatch
	// Images returns the files of an image on this machine.
	Images func(ref string) (Image, error)
	// Progress receives a line for each step.
	Progress io.Writer
	// Nodes are the labels of each node, by name, for the node selection of DaemonSets. They are set before any is
	// created.
	Nodes map[string]map[string]string

	// RootAuthority is the authority of the API server for pods, in PEM.
	RootAuthority []byte

	dir     string
	network *network
	cancel  context.CancelFunc
	done    sync.WaitGroup

	counted sync.Mutex // for changes, which are counted also by who holds mu
	changes map[schema.GroupKind]int64

	mu      sync.Mutex
	pods    map[types.UID]*pod
	stopped bool // nothing starts any more
	// nodes are the nodes whose network a pod has used, by name, off those without power, and retired those that were
	// removed from the cluster. All keep their addresses. Uplinks are bridges of this machine, by the interfaces of the
	// nodes that are in them.
	nodes     map[string]*node
	off       map[string]bool
	retired   map[string]bool
	addresses map[string]string
	uplinks   map[string]string
}

// Scheme contains the kinds with Go types.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	// The companion reads K-ORC's objects, for which there are no types.
	for _, kind := range []string{"Domain", "Endpoint", "Group", "Project", "Role", "Service", "User"} {
		s.AddKnownTypeWithName(schema.FromAPIVersionAndKind(korc.APIVersion, kind), &unstructured.Unstructured{})
	}
	// And it makes users of message queues.
	queues := schema.GroupVersion{Group: rabbitmq.Group, Version: rabbitmq.Version}
	for _, kind := range []string{"User", "Permission", "Vhost"} {
		s.AddKnownTypeWithName(queues.WithKind(kind), &unstructured.Unstructured{})
		s.AddKnownTypeWithName(queues.WithKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	return s, errors.Join(clientgoscheme.AddToScheme(s), openstackv1.AddToScheme(s), c5c3v1.AddToScheme(s), ovnchassisv1.AddToScheme(s))
}

// companionObjects returns an empty object of each kind of the companion.
func companionObjects(scheme *runtime.Scheme) ([]client.Object, error) {
	var out []client.Object
	for _, k := range kindregistry.OfCompanion() {
		empty, err := scheme.New(k.GroupVersionKind)
		if err != nil {
			return nil, err
		}
		if o, ok := empty.(client.Object); ok {
			out = append(out, o)
		}
	}
	return out, nil
}

// New creates a cluster with its files in a folder, and starts its controllers.
func New(dir string, images func(string) (Image, error), progress io.Writer) (*Cluster, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	companion, err := companionObjects(scheme)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Images: images, Progress: progress, dir: dir, network: newNetwork(),
		changes: map[schema.GroupKind]int64{}, pods: map[types.UID]*pod{},
		Nodes: map[string]map[string]string{firstNode: {}}, nodes: map[string]*node{}, off: map[string]bool{}, retired: map[string]bool{},
		addresses: map[string]string{}, uplinks: map[string]string{},
	}
	c.Client = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(companion...).
		WithStatusSubresource(&ovnchassisv1.OVNChassis{}, &certificatesv1.CertificateSigningRequest{},
			&appsv1.DaemonSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &batchv1.Job{}, &corev1.Pod{}).
		WithIndex(&certificatesv1.CertificateSigningRequest{}, "spec.signerName", func(o client.Object) []string {
			r, _ := o.(*certificatesv1.CertificateSigningRequest)
			return []string{r.Spec.SignerName}
		}).
		WithInterceptorFuncs(c.counting()).Build()
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	pod := &corev1.Pod{}
	c.Loop(ctx, tick, c.OnChange(c.deployments, &appsv1.Deployment{}, pod))
	c.Loop(ctx, tick, c.OnChange(c.statefulSets, &appsv1.StatefulSet{}, pod))
	c.Loop(ctx, tick, c.OnChange(c.daemonSets, &appsv1.DaemonSet{}, pod))
	c.Loop(ctx, tick, c.OnChange(c.jobs, &batchv1.Job{}, pod))
	c.Loop(ctx, tick, c.OnChange(c.refreshVolumes, &corev1.Secret{}, &corev1.ConfigMap{}, pod))
	return c, nil
}

// Changes returns the number of writes to objects of some kinds: as long as it stays the same, they have not changed.
func (c *Cluster) Changes(of ...client.Object) int64 {
	c.counted.Lock()
	defer c.counted.Unlock()
	sum := int64(0)
	for _, o := range of {
		sum += c.changes[c.kindOf(o)]
	}
	return sum
}

// kindOf returns the kind of an object; empty for an unknown one, which the cluster rejects.
func (c *Cluster) kindOf(o client.Object) schema.GroupKind {
	kind, _ := c.Client.GroupVersionKindFor(o)
	return kind.GroupKind()
}

// counting counts writes, and sets the fields of new objects that an API server sets, and the fake one does not.
func (c *Cluster) counting() interceptor.Funcs {
	count := func(o client.Object, err error) error {
		c.counted.Lock()
		defer c.counted.Unlock()
		c.changes[c.kindOf(o)]++
		return err
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, api client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetUID() == "" {
				o.SetUID(uuid.NewUUID())
			}
			o.SetGeneration(1)
			o.SetCreationTimestamp(metav1.Now())
			return count(o, api.Create(ctx, o, opts...))
		},
		Update: func(ctx context.Context, api client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return count(o, api.Update(ctx, o, opts...))
		},
		Patch: func(ctx context.Context, api client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return count(o, api.Patch(ctx, o, patch, opts...))
		},
		Delete: func(ctx context.Context, api client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return count(o, api.Delete(ctx, o, opts...))
		},
		SubResourceUpdate: func(
			ctx context.Context, api client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption,
		) error {
			return count(o, api.SubResource(sub).Update(ctx, o, opts...))
		},
		SubResourcePatch: func(
			ctx context.Context, api client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			return count(o, api.SubResource(sub).Patch(ctx, o, patch, opts...))
		},
	}
}

// quiet is the interval of a controller without writes: pods also start and end without one.
const quiet = time.Second

// OnChange calls a controller when an object of some kinds was written, or after some time without a write.
func (c *Cluster) OnChange(reconcile func(context.Context) error, of ...client.Object) func(context.Context) error {
	observed, last := int64(-1), time.Time{}
	return func(ctx context.Context) error {
		now := c.Changes(of...)
		if now == observed && time.Since(last) < quiet {
			return nil
		}
		if err := reconcile(ctx); err != nil {
			return err
		}
		observed, last = now, time.Now()
		return nil
	}
}

// Loop calls a function repeatedly until the cluster stops.
func (c *Cluster) Loop(ctx context.Context, pause time.Duration, f func(context.Context) error) {
	c.done.Go(func() {
		for ctx.Err() == nil {
			if err := f(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
				fmt.Fprintln(c.Progress, "cluster:", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	})
}

// Stop kills everything that runs.
func (c *Cluster) Stop() {
	c.cancel()
	c.mu.Lock()
	c.stopped = true
	pods := make([]*pod, 0, len(c.pods))
	for _, p := range c.pods {
		pods = append(pods, p)
	}
	c.mu.Unlock()
	for _, p := range pods {
		p.kill()
	}
	for _, n := range c.nodes {
		n.stop()
	}
	for _, bridge := range c.uplinks {
		if err := sandbox.RemoveBridge(bridge); err != nil {
			fmt.Fprintln(c.Progress, "cluster:", err)
		}
	}
	c.network.close()
	c.done.Wait()
}

// Kill ends a pod immediately, as a power loss of its node does: no hook runs, and no process gets a signal that it can
// handle. It returns when no process runs.
func (c *Cluster) Kill(namespace, name string) error {
	p, err := c.running(namespace, name)
	if err == nil {
		p.kill()
	}
	return err
}

// Crash kills the processes of a pod, as the kernel does when they exceed the memory limit: the pod exists, and detects
// it.
func (c *Cluster) Crash(namespace, name string) error {
	p, err := c.running(namespace, name)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, container := range p.containers[min(1, len(p.containers)):] { // The first one holds the network.
		if container != nil {
			container.Kill()
		}
	}
	return nil
}

// Evict stops a pod as Kubernetes does with a deleted one, and returns when it has ended.
func (c *Cluster) Evict(namespace, name string) error {
	p, err := c.running(namespace, name)
	if err != nil {
		return err
	}
	p.terminate()
	<-p.finished
	return nil
}

// Exec runs a command in the first container of a pod, and returns its output.
func (c *Cluster) Exec(ctx context.Context, namespace, name string, command ...string) (string, error) {
	p, err := c.running(namespace, name)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	containers := slices.Clone(p.containers) // the first one holds the network
	p.mu.Unlock()
	if len(containers) < 2 || containers[1] == nil || !containers[1].Running() {
		return "", fmt.Errorf("no container of pod %s runs", name)
	}
	out, err := containers[1].Exec(ctx, command...)
	return string(out), err
}

// running returns a pod that is not being stopped.
func (c *Cluster) running(namespace, name string) (*pod, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		if p.object.Namespace == namespace && p.object.Name == name && !p.stopping.Load() {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no pod %s runs", name)
}

// Apply creates or updates an object. Fields of other owners are kept: annotations of a pod template, and the status.
func (c *Cluster) Apply(ctx context.Context, desired client.Object) error {
	newAnnotations := templateAnnotations(desired)
	if template(desired) != nil {
		annotations := map[string]string{appliedAnnotation: strings.Join(slices.Sorted(maps.Keys(newAnnotations)), ",")}
		maps.Copy(annotations, desired.GetAnnotations())
		desired.SetAnnotations(annotations)
	}
	if s, ok := desired.(*corev1.Service); ok && s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		address, err := c.Address(domains(s.Name, s.Namespace)...)
		if err != nil {
			return err
		}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	}
	// As with server-side apply, concurrent writers cause no conflict.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return c.write(ctx, desired, newAnnotations) }); err != nil {
		return fmt.Errorf("cannot apply %s %s: %w", desired.GetObjectKind().GroupVersionKind().Kind, desired.GetName(), err)
	}
	if s, ok := desired.(*corev1.Service); ok {
		return c.serve(s)
	}
	return nil
}

// appliedAnnotation lists the annotations of a pod template that were applied last: one that is no longer applied is
// removed, as with server-side apply.
const appliedAnnotation = "applied-to-template"

// Delete removes an object, and stops the pods that it owns.
func (c *Cluster) Delete(ctx context.Context, u *unstructured.Unstructured) error {
	observed := u.DeepCopy()
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(u), observed); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.Client.Delete(ctx, observed); client.IgnoreNotFound(err) != nil {
		return err
	}
	running, _ := c.owned(observed.GetUID())
	for _, p := range running {
		p.terminate()
	}
	return nil
}

func (c *Cluster) write(ctx context.Context, desired client.Object, newAnnotations map[string]string) error {
	observed, ok := desired.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("it cannot be copied")
	}
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(desired), observed)
	if apierrors.IsNotFound(err) {
		return c.Client.Create(ctx, desired)
	} else if err != nil {
		return err
	}
	desired.SetResourceVersion(observed.GetResourceVersion())
	desired.SetUID(observed.GetUID())
	desired.SetCreationTimestamp(observed.GetCreationTimestamp())
	desired.SetGeneration(observed.GetGeneration() + 1)
	if t := template(desired); t != nil {
		t.Annotations = templateAnnotations(observed) // annotations of other owners stay
		for k := range strings.SplitSeq(observed.GetAnnotations()[appliedAnnotation], ",") {
			delete(t.Annotations, k)
		}
		for k, v := range newAnnotations {
			metav1.SetMetaDataAnnotation(&t.ObjectMeta, k, v)
		}
	}
	return c.Client.Update(ctx, desired)
}

// template returns the pod template of a workload that the companion restarts.
func template(o client.Object) *corev1.PodTemplateSpec {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	}
	return nil
}

func templateAnnotations(o client.Object) map[string]string {
	if t := template(o); t != nil {
		return maps.Clone(t.Annotations)
	}
	return nil
}

// Wait waits until a condition is true; the error contains its description.
func (c *Cluster) Wait(ctx context.Context, timeout time.Duration, description string, holds func(context.Context) (bool, error)) error {
	ctx, cancel := stopwatch.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		ok, err := holds(ctx)
		if ok || (err != nil && ctx.Err() == nil) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("timed out after %s waiting for %s%s", timeout, description, c.trouble())
		case <-time.After(tick):
		}
	}
}

// trouble returns the last log lines of pods that are not ready.
func (c *Cluster) trouble() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, p := range c.pods {
		if !p.ready.Load() {
			b.WriteString("\n" + p.object.Name + ":\n" + p.tail(20))
		}
	}
	return b.String()
}

// Patch reads an object, changes it, and writes it; it retries on a conflict.
func (c *Cluster) Patch(ctx context.Context, key client.ObjectKey, o client.Object, change func()) error {
	for {
		if err := c.Client.Get(ctx, key, o); err != nil {
			return fmt.Errorf("cannot read %s: %w", key.Name, err)
		}
		change()
		o.SetGeneration(o.GetGeneration() + 1)
		if err := c.Client.Update(ctx, o); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// setStatus changes the status of the current object. An unchanged status is not written, so that the object's version
// stays.
func setStatus[T client.Object](ctx context.Context, c *Cluster, o T, change func(T)) error {
	for {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		before := o.DeepCopyObject()
		change(o)
		if equality.Semantic.DeepEqual(before, o) {
			return nil
		}
		if err = c.Client.Status().Update(ctx, o); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// Log returns the file that a container of a pod writes to.
func (c *Cluster) Log(namespace, pod, container string) string {
	return filepath.Join(c.dir, "logs", namespace+"_"+pod+"_"+container+".log")
}

// Output returns the end of a container's output.
func (c *Cluster) Output(_ context.Context, p *corev1.Pod, container string) (string, error) {
	text, err := os.ReadFile(c.Log(p.Namespace, p.Name, container))
	if err != nil {
		return "", err
	}
	return lastLines(string(text), 50), nil
}
