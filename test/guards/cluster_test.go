package guards

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/servicecheck"
)

// kubeNode is a node of Kubernetes, which stays in the model when it is removed.
type kubeNode struct {
	name string
	cell int
	// exists is set while Kubernetes has the Node; powered while its processes run.
	exists, powered bool
	// pool is the index of the pool whose labels it has, and pod the index of the pool of which it has a pod of nova-compute; -1: none. joined
	// is the time at which this pod was created.
	pool, pod int
	joined    time.Time
	cordoned  bool
	// cordonedAt is the time of the last change of cordoned.
	cordonedAt time.Time
}

// cluster is a model of Kubernetes: the API server, the controllers of DaemonSets, and kubelets.
type cluster struct {
	now   func() time.Time
	nodes map[string]*kubeNode
	// checks are the ServiceChecks of pools, each with its versions, the newest last.
	checks  [][]*openstackv1.ServiceCheck
	version int
	// recorded are the nodes of each pool that a status has contained, until their records in Nova are deleted, or they belong to another
	// pool: their servers count without a pod, too.
	recorded []map[string]bool
	cloud    *cloud
}

// daemonSet returns the DaemonSet of a pool. Its status has the number of nodes that it selects.
func (c *cluster) daemonSet(pool int) *appsv1.DaemonSet {
	key := daemonSetKey(pool)
	out := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, UID: types.UID(key.Namespace), Generation: 1},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nova-compute"}}},
		Status:     appsv1.DaemonSetStatus{ObservedGeneration: 1},
	}
	for _, n := range c.nodes {
		if n.exists && n.pool == pool {
			out.Status.DesiredNumberScheduled++
		}
		if n.pod == pool && n.pool != pool {
			out.Status.NumberMisscheduled++
		}
	}
	return out
}

func daemonSetKey(pool int) client.ObjectKey {
	n := pools[pool].check.Spec.Nodes[0]
	return client.ObjectKey{Namespace: string(n.Namespace), Name: string(n.DaemonSet)}
}

// pods returns the pods of nova-compute of a pool.
func (c *cluster) pods(pool int) (out []corev1.Pod) {
	set := c.daemonSet(pool)
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		if c.nodes[name].pod == pool {
			out = append(out, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: "nova-compute-" + name, Namespace: set.Namespace,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
				},
				Spec: corev1.PodSpec{NodeName: name},
			})
		}
	}
	return out
}

// runControllers runs the controllers: nodes of a pool get its pod, others lose theirs. The process of a node reports while it has a pod.
func (c *cluster) runControllers(n *kubeNode) {
	want := -1
	if n.exists {
		want = n.pool
	}
	if n.pod != want {
		n.pod, n.joined = want, c.now()
	}
	for pool := range c.recorded {
		if n.pod >= 0 && n.pod != pool {
			delete(c.recorded[pool], n.name)
		}
	}
	service := c.cloud.computes[n.name]
	switch {
	case n.pod >= 0 && n.powered && !c.cloud.cellDown[n.cell]:
		c.cloud.register(n.name, n.cell)
	case service != nil && (n.pod < 0 || !n.powered):
		service.up = false
	}
}

// A fault interrupts a request of a companion.
type fault int

const (
	// noFault serves the request. rejected, lost and hung return an error; the request is executed in the second case. crashed and
	// crashedAfter end the process, before or after the request is executed.
	noFault fault = iota
	rejected
	lost
	hung
	crashed
	crashedAfter
)

var errFault = errors.New("injected fault")

// companion is one process, which may be a leader or believe that it is.
type companion struct {
	scenario *scenario
	dead     bool
	// passStart is the time at which its current pass started.
	passStart  time.Time
	reconciler *servicecheck.Reconciler
}

func (w *scenario) start() *companion {
	p := &companion{scenario: w, reconciler: &servicecheck.Reconciler{}}
	api := &kubeClient{process: p}
	r := p.reconciler
	r.Client, r.Reader, r.Events, r.Clock = api, api, &events.FakeRecorder{}, w
	r.Transport = func([]byte) (http.RoundTripper, error) { return p, nil }
	return p
}

// pass runs a pass for the check of a pool.
func (p *companion) pass(pool int) {
	p.passStart = p.scenario.now
	key := client.ObjectKeyFromObject(pools[pool].check)
	_, _ = p.reconciler.Reconcile(context.Background(), reconcile.Request{NamespacedName: key}) // It is retried.
}

// call executes a request of a companion, unless it is interrupted.
func (p *companion) call(do func()) error {
	if p.dead {
		return errFault
	}
	f := p.scenario.interrupt(p)
	if f == noFault || f == lost || f == crashedAfter {
		do()
		p.scenario.verify()
	}
	switch f {
	case noFault:
		return nil
	case hung:
		const timeout = 90 * time.Second
		p.scenario.now = p.scenario.now.Add(timeout)
		return context.DeadlineExceeded
	case crashed, crashedAfter:
		p.dead = true
	case rejected, lost:
	}
	return errFault
}

// RoundTrip sends a request to OpenStack.
func (p *companion) RoundTrip(r *http.Request) (*http.Response, error) {
	var out *http.Response
	err := p.call(func() {
		c := p.scenario.cloud
		if r.Method != http.MethodGet { // A change is later than all earlier ones.
			p.scenario.now = p.scenario.now.Add(time.Second)
		}
		c.isStaleEnable = func(host string) bool {
			n := p.scenario.cluster.nodes[host]
			return n == nil || !n.cordoned || !n.cordonedAt.Before(p.passStart)
		}
		out = c.serve(r) //nolint:bodyclose // the client closes it
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// kubeClient is the client of a companion. Other methods are not used.
type kubeClient struct {
	client.Client

	process *companion
}

// Get reads an object.
func (k *kubeClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	var result error
	err := k.process.call(func() { result = k.process.scenario.cluster.get(key, into) })
	return errors.Join(err, result)
}

func (c *cluster) get(key client.ObjectKey, into client.Object) error {
	missing := apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	switch o := into.(type) {
	case *openstackv1.ServiceCheck:
		for _, versions := range c.checks {
			if last := versions[len(versions)-1]; client.ObjectKeyFromObject(last) == key {
				last.DeepCopyInto(o)
				return nil
			}
		}
	case *corev1.Secret:
		o.Data = map[string][]byte{"clouds.yaml": fmt.Appendf(nil, "clouds: {%s: {auth: {auth_url: '%s', username: admin, password: secret, "+
			"user_domain_name: Default, project_name: admin, project_domain_name: Default}}}",
			pools[0].check.Spec.CloudCredentialsRef.CloudName, identityAddress)}
		return nil
	case *corev1.Node:
		if n := c.nodes[key.Name]; n != nil && n.exists {
			o.Spec.Unschedulable = n.cordoned
			return nil
		}
	case *appsv1.DaemonSet:
		for pool := range c.checks {
			if daemonSetKey(pool) == key {
				c.daemonSet(pool).DeepCopyInto(o)
				return nil
			}
		}
	default:
		panic(fmt.Sprintf("%T is not in the model", into))
	}
	return missing
}

// List reads a list.
func (k *kubeClient) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	return k.process.call(func() {
		c := k.process.scenario.cluster
		switch list := into.(type) {
		case *openstackv1.CellMappingList: // They give cells a name in messages.
		case *openstackv1.ServiceCheckList:
			for _, versions := range c.checks {
				list.Items = append(list.Items, *versions[len(versions)-1].DeepCopy())
			}
		case *corev1.PodList:
			for pool := range c.checks {
				if daemonSetKey(pool).Namespace == o.Namespace {
					list.Items = c.pods(pool)
				}
			}
		default:
			panic(fmt.Sprintf("%T is not in the model", into))
		}
	})
}

// Status returns the client of statuses.
func (k *kubeClient) Status() client.SubResourceWriter { return statusWriter{process: k.process} }

// statusWriter writes the statuses of ServiceChecks.
type statusWriter struct {
	client.SubResourceWriter

	process *companion
}

// Update writes a status over the version that was read.
func (s statusWriter) Update(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	check, ok := o.(*openstackv1.ServiceCheck)
	if !ok {
		panic(fmt.Sprintf("%T is not in the model", o))
	}
	var result error
	err := s.process.call(func() { result = s.process.scenario.cluster.write(check) })
	return errors.Join(err, result)
}

func (c *cluster) write(o *openstackv1.ServiceCheck) error {
	for pool, versions := range c.checks {
		last := versions[len(versions)-1]
		if client.ObjectKeyFromObject(last) != client.ObjectKeyFromObject(o) {
			continue
		}
		if last.ResourceVersion != o.ResourceVersion {
			return apierrors.NewConflict(schema.GroupResource{}, o.Name, errors.New("it was changed"))
		}
		c.version++
		next := last.DeepCopy()
		next.ResourceVersion = fmt.Sprint(c.version)
		o.Status.DeepCopyInto(&next.Status)
		o.ResourceVersion = next.ResourceVersion
		c.checks[pool] = append(versions, next)
		for _, n := range next.Status.Nodes {
			if pod := c.nodes[n.Name].pod; (pod < 0 || pod == pool) && c.cloud.computes[n.Name] != nil {
				c.recorded[pool][n.Name] = true
			}
		}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, o.Name)
}
