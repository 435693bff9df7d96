package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
)

const (
	// namespace is the namespace of the companion.
	namespace = "cloud"
	// writers is the number of concurrent writes while the fleet is created.
	writers = 16
	// poll is the interval at which states are compared.
	poll = 500 * time.Millisecond
)

// cluster is a Kubernetes with an API server, the controller of DaemonSets, and simulated nodes.
type cluster struct {
	*kubernetes.API
	client.Client

	processes *process.Group
	nodes     *nodes
	pools     []pool
}

// startCluster starts the programs of a cluster, and creates nodes with running pods of nova-compute. Some of the nodes are down.
func startCluster(ctx context.Context, program, dir string, count int) (*cluster, error) {
	c := &cluster{processes: &process.Group{Dir: dir}}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if err := c.processes.Link(name, program); err != nil {
			return c, err
		}
	}
	var err error
	if c.pools, err = composePools(); err != nil {
		return c, err
	}
	// Nothing creates service accounts, and nothing removes the taint of new nodes.
	const flag = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"
	if c.API, err = kubernetes.Start("fleet", filepath.Join(dir, "api"), c.processes, flag); err != nil {
		return c, err
	}
	if err := c.Serve(ctx, "daemonset-controller,garbage-collector-controller"); err != nil {
		return c, err
	}
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, openstackv1.AddToScheme)
	if err := kinds.AddToScheme(scheme); err != nil {
		return c, err
	}
	if c.Client, err = client.New(c.Config, client.Options{Scheme: scheme}); err != nil {
		return c, err
	}
	if err := c.createObjects(ctx, count); err != nil {
		return c, err
	}
	config := rest.CopyConfig(c.Config)
	config.ContentType = runtime.ContentTypeProtobuf
	set, err := clientset.NewForConfig(config)
	if err != nil {
		return c, err
	}
	if c.nodes, err = startNodes(ctx, set); err != nil {
		return c, err
	}
	if err := c.apply(ctx, func(p pool) *unstructured.Unstructured { return p.before }); err != nil {
		return c, err
	}
	if _, err := c.wait(ctx, c.count(count, func(int) bool { return true })); err != nil {
		return c, fmt.Errorf("nova-compute is not on each node: %w", err)
	}
	return c, c.nodes.fail(ctx, count)
}

// stop ends all programs.
func (c *cluster) stop() { c.processes.Stop() }

// createObjects creates the objects of the cluster that exist before nova-compute.
func (c *cluster) createObjects(ctx context.Context, count int) error {
	data, err := apis.Definition("openstack")
	if err != nil {
		return err
	}
	definitions, err := crds.Parse(data)
	if err != nil {
		return err
	}
	var objects []client.Object
	for _, d := range definitions {
		if d.Spec.Names.Kind == "ServiceCheck" {
			objects = append(objects, d)
		}
	}
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	for _, p := range c.pools {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}})
	}
	for _, o := range objects {
		if err := c.Create(ctx, o); err != nil {
			return err
		}
	}
	return parallel(count, func(i int) error { return c.Create(ctx, node(i, poolOf(i, count))) })
}

// apply applies nova-compute's DaemonSet of each pool.
func (c *cluster) apply(ctx context.Context, version func(pool) *unstructured.Unstructured) error {
	for _, p := range c.pools {
		o := client.ApplyConfigurationFromUnstructured(version(p).DeepCopy())
		if err := c.Apply(ctx, o, client.FieldOwner("fleet"), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

// poolOf returns the pool of a node.
func poolOf(i, count int) int { return i * pools / count }

// parallel calls a function for each number below count, and returns all errors.
func parallel(count int, do func(int) error) error {
	var group sync.WaitGroup
	errs, slots := make([]error, count), make(chan struct{}, writers)
	for i := range count {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// count returns the number of selected nodes of each pool, by its namespace.
func (c *cluster) count(nodes int, selected func(i int) bool) map[string]int32 {
	out := map[string]int32{}
	for i := range nodes {
		if selected(i) {
			out[c.pools[poolOf(i, nodes)].namespace]++
		}
	}
	return out
}

// wait waits until that many nodes of each pool have an available pod of the DaemonSet's current version. It returns the maximum number of
// these nodes, of all pools, without an available pod at a time.
func (c *cluster) wait(ctx context.Context, want map[string]int32) (unavailable int32, err error) {
	for {
		done, missing := 0, int32(0)
		var last []appsv1.DaemonSetStatus
		for _, p := range c.pools {
			set := &appsv1.DaemonSet{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: daemonSet}, set); err != nil {
				return 0, err
			}
			live, s := want[p.namespace], set.Status
			last = append(last, s)
			missing += max(live-s.NumberAvailable, 0)
			if s.ObservedGeneration == set.Generation && s.UpdatedNumberScheduled >= live && s.NumberAvailable >= live {
				done++
			}
		}
		unavailable = max(unavailable, missing)
		if done == len(c.pools) {
			return unavailable, nil
		}
		if err := errors.Join(c.processes.Failed(), c.nodes.failed()); err != nil {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the DaemonSets do not have the version on %v nodes in time: %w; the last status: %+v", want, ctx.Err(), last)
		case <-time.After(poll):
		}
	}
}

// rollout is the course of a rollout.
type rollout struct {
	duration time.Duration
	// live is the number of nodes that respond, which it has reached, and down the number of the others.
	live, down int32
	// unavailable is the maximum number of live nodes without an available pod at a time.
	unavailable int32
}

// roll changes nova-compute's DaemonSet of each pool, and waits until all live nodes have the new version.
func (c *cluster) roll(ctx context.Context, nodes int) (r rollout, err error) {
	started := time.Now()
	if err := c.apply(ctx, func(p pool) *unstructured.Unstructured { return p.after }); err != nil {
		return r, err
	}
	live := c.count(nodes, func(i int) bool { return !isDown(i) })
	for _, n := range live {
		r.live += n
	}
	r.down = int32(nodes) - r.live //nolint:gosec // It is small.
	r.unavailable, err = c.wait(ctx, live)
	r.duration = time.Since(started)
	return r, err
}

// check creates the companion's objects: credentials of OpenStack, and a ServiceCheck for each pool.
func (c *cluster) check(ctx context.Context, clouds, ca []byte) error {
	if err := c.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "clouds"}, Data: map[string][]byte{"clouds.yaml": clouds, "cacert": ca},
	}); err != nil {
		return err
	}
	for _, p := range c.pools {
		o := &openstackv1.ServiceCheck{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.namespace},
			Spec: openstackv1.ServiceCheckSpec{
				Service: "compute", IntervalSeconds: interval,
				Nodes: []openstackv1.CheckedNodes{{Namespace: common.NamespaceName(p.namespace), DaemonSet: daemonSet, EvictOnCordon: true}},
			},
		}
		o.Spec.CloudCredentialsRef = common.CloudCredentialsReference{SecretName: "clouds", CloudName: "admin"}
		if err := c.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// counted returns the number of checks that have counted all servers of their nodes, and the sum.
func (c *cluster) counted(ctx context.Context) (checks int, servers int64, err error) {
	list := &openstackv1.ServiceCheckList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return 0, 0, err
	}
	for _, o := range list.Items {
		if o.Status.Capacity != nil && meta.IsStatusConditionTrue(o.Status.Conditions, "Counted") {
			checks++
			servers += o.Status.Capacity.VirtualMachines
		}
	}
	return checks, servers, nil
}
