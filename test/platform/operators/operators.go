// Package operators fakes the components of a cluster other than Kubernetes' controllers: the operators of other
// projects, and the kubelet. The statuses of ready objects are recorded in internal/offline/fake, for the observed
// generation; and the fakes create the Secrets that others wait for. A kind that is not in the table never becomes
// ready. Deployments, StatefulSets, Jobs and namespaces are not faked: Kubernetes' controllers handle them, with pods
// that only appear to run.
//
// The companion is faked only as far as it is not Real: with a real one, pods of its Deployments are processes, and it
// handles its own kinds.
package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
)

// Operators are the fakes of one cluster.
type Operators struct {
	client  dynamic.Interface
	config  *rest.Config
	log     io.Writer
	queue   workqueue.TypedRateLimitingInterface[item]
	kinds   map[schema.GroupVersionResource]schema.GroupKind
	caches  map[schema.GroupVersionResource]cache.GenericLister
	real    RealOperator
	store   *Store
	writing sync.Mutex // the log

	mu      sync.Mutex
	held    map[pausedOwners]bool
	written map[types.UID]string // version that was written last, by object
}

// item identifies an object to reconcile.
type item struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// pausedOwners identifies the objects of a paused owner.
type pausedOwners struct {
	kind      schema.GroupKind
	namespace string
}

// realOwners are the groups of kinds that have a real owner here: Kubernetes' controllers, or Crossplane.
var realOwners = func() []string {
	out := []string{
		"", "apps", "batch", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "protection.crossplane.io",
		"kubernetes.crossplane.io", "kubernetes.m.crossplane.io",
	}
	for _, k := range kindregistry.Composites() {
		out = append(out, k.Group)
	}
	return out
}()

// Resources of Kubernetes that are read or written by name.
var (
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// Start runs the fakes until the context ends. They log their actions and errors. Real operators are not faked; nil:
// everything is. Secrets are kept in the store. The kinds of the fakes have to exist, except kinds of this project that
// an upgrade may add; otherwise Start returns an error.
func Start(
	ctx context.Context, config *rest.Config, mapper meta.RESTMapper, companion RealOperator, store *Store, log io.Writer,
) (*Operators, error) {
	if companion == nil {
		companion = noRealOperator{}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	o := &Operators{
		client: client,
		config: config,
		real:   companion,
		store:  store,
		log:    log,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[item](100*time.Millisecond, 5*time.Second)),
		kinds:  map[schema.GroupVersionResource]schema.GroupKind{pods: {Kind: "Pod"}, secrets: {Kind: "Secret"}},
		caches: map[schema.GroupVersionResource]cache.GenericLister{},
		held:   map[pausedOwners]bool{}, written: map[types.UID]string{},
	}
	for _, kind := range fake.Kinds() {
		if slices.Contains(realOwners, kind.Group) || companion.Owns(kind) {
			continue
		}
		m, err := mapper.RESTMapping(kind)
		switch {
		case err == nil:
			o.kinds[m.Resource] = kind
		case meta.IsNoMatchError(err) && strings.HasSuffix(kind.Group, "c5c3.io"):
			later, _ := meta.UnsafeGuessKindToResource(kind.WithVersion("v1alpha1"))
			o.kinds[later] = kind
		default:
			return nil, fmt.Errorf("cannot fake the operator of %s: %w", kind, err)
		}
	}
	return o, o.watch(ctx)
}

// watch adds changed objects to the queue, which workers process.
func (o *Operators) watch(ctx context.Context) error {
	// Waiting objects are checked anyway; this is for removed objects, such as a Secret. Real operators check as
	// seldom, and with a hundred control planes more checks would load the API server more than the measured
	// components.
	const next = 5 * time.Minute
	factory := dynamicinformer.NewDynamicSharedInformerFactory(o.client, next)
	for resource := range o.kinds {
		informer := factory.ForResource(resource)
		o.caches[resource] = informer.Lister()
		enqueue := func(obj any) {
			if u, ok := obj.(*unstructured.Unstructured); ok && (resource != secrets || isGuarded(u)) {
				o.queue.Add(item{resource: resource, namespace: u.GetNamespace(), name: u.GetName()})
			}
		}
		if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
			DeleteFunc: func(obj any) {
				if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					obj = last.Obj
				}
				enqueue(obj)
			},
		}); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	const workers = 4
	for range workers {
		go func() {
			for o.next(ctx) {
			}
		}()
	}
	go func() {
		<-ctx.Done()
		o.queue.ShutDown()
	}()
	return nil
}

// next reconciles one object.
func (o *Operators) next(ctx context.Context) bool {
	i, shut := o.queue.Get()
	if shut {
		return false
	}
	defer o.queue.Done(i)
	if err := o.reconcile(ctx, i); err != nil && ctx.Err() == nil {
		if !apierrors.IsConflict(err) {
			o.sayf("%s %s/%s: %v", o.kinds[i.resource].Kind, i.namespace, i.name, err)
		}
		o.queue.AddRateLimited(i)
		return true
	}
	o.queue.Forget(i)
	return true
}

func (o *Operators) sayf(format string, args ...any) {
	o.writing.Lock()
	defer o.writing.Unlock()
	fmt.Fprintf(o.log, time.Now().Format("15:04:05.000")+" "+format+"\n", args...)
}

// first performs the first action of an owner, if there is one, and reports whether that was all.
func (o *Operators) first(ctx context.Context, i item, u *unstructured.Unstructured) (done bool, err error) {
	switch kind := o.kinds[i.resource]; {
	case kind.Group == korcGroup:
		return o.korc(ctx, i, u)
	case kind.Kind == "PushSecret":
		return o.finalize(ctx, i, u)
	}
	return false, nil
}

// reconcile fakes the owner of an object.
func (o *Operators) reconcile(ctx context.Context, i item) error {
	var lister cache.GenericNamespaceLister = o.caches[i.resource]
	if i.namespace != "" {
		lister = o.caches[i.resource].ByNamespace(i.namespace)
	}
	kind := o.kinds[i.resource]
	obj, err := lister.Get(i.name)
	switch {
	case apierrors.IsNotFound(err) && i.resource == pods:
		return o.endProgram(i)
	case apierrors.IsNotFound(err) && kind.Group == korcGroup:
		return o.unguardAll(i.namespace)
	case err != nil:
		return ignoreNotFound(err)
	}
	u, _ := obj.(*unstructured.Unstructured)
	u = u.DeepCopy()
	switch {
	case o.isHeld(kind, i.namespace):
		return nil
	case i.resource == pods:
		return o.kubelet(ctx, u)
	case i.resource == secrets:
		return o.unguard(ctx, i, u)
	}
	if done, err := o.first(ctx, i, u); done || err != nil {
		return err
	}
	if u.GetDeletionTimestamp() != nil {
		return nil
	}
	reason := ""
	switch entry := entryOf(u); {
	case kind.Group != korcGroup && text(u, "spec", "cloudCredentialsRef", "secretName") != "":
		err = o.keystone(ctx, u)
	case kind.Kind == "PushSecret":
		var next time.Duration
		if next, err = o.push(ctx, u); next > 0 {
			o.queue.AddAfter(i, next)
		}
	case kind.Kind == "ExternalSecret" && entry != "":
		reason, err = o.pull(ctx, u, entry)
	case reads(u):
		if err = o.copied(ctx, u); errors.Is(err, errUnreadable) {
			err = errors.Join(err, o.reportUnreadable(ctx, i, u))
		}
	}
	if err != nil {
		return err
	}
	for _, s := range secretsOf(u) {
		if err := o.make(ctx, u, s); err != nil {
			return err
		}
	}
	if err := o.makeConfigMaps(ctx, u); err != nil {
		return err
	}
	return o.finish(ctx, i, u, kind, reason)
}

// finish writes the status of a finished object, with a reason if others read it.
func (o *Operators) finish(ctx context.Context, i item, u *unstructured.Unstructured, kind schema.GroupKind, reason string) error {
	done := u.DeepCopy()
	if err := fake.Finish(done.Object, now()); err != nil {
		return err
	}
	explain(done, reason)
	// Some CRDs lack fields that an owner of another version writes, so the written status is remembered by its
	// version.
	if equality.Semantic.DeepEqual(u.Object["status"], done.Object["status"]) || o.wrote(u, u.GetResourceVersion(), false) {
		return nil
	}
	after, err := o.client.Resource(i.resource).Namespace(i.namespace).UpdateStatus(ctx, done, metav1.UpdateOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	if after.GetResourceVersion() != u.GetResourceVersion() {
		o.sayf("%s %s/%s is ready at generation %d", kind.Kind, i.namespace, i.name, u.GetGeneration())
	}
	o.wrote(u, after.GetResourceVersion(), true)
	return nil
}

// wrote reports whether a version of an object is the last written one, or (remember) remembers it as such.
func (o *Operators) wrote(u *unstructured.Unstructured, version string, remember bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if remember {
		o.written[u.GetUID()] = version
	}
	return o.written[u.GetUID()] == version
}

// explain sets the reason of conditions, if there is one.
func explain(u *unstructured.Unstructured, reason string) {
	if reason == "" {
		return
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		m, _ := c.(map[string]any)
		m["reason"] = reason
	}
	_ = unstructured.SetNestedSlice(u.Object, list, "status", "conditions") // it was a list before
}

// PauseOwner stops the owner of a kind in a namespace, as if it were busy or missing: its reports stay. A real one is
// stopped.
func (o *Operators) PauseOwner(kind schema.GroupKind, namespace string) {
	o.mu.Lock()
	o.held[pausedOwners{kind, namespace}] = true
	o.mu.Unlock()
	const pause = 50 * time.Millisecond
	for o.real.Owns(kind) && !o.real.Keep(namespace, nil) {
		time.Sleep(pause)
	}
}

// Release resumes the owner of a kind in a namespace, including events from the meantime.
func (o *Operators) Release(kind schema.GroupKind, namespace string) {
	o.mu.Lock()
	delete(o.held, pausedOwners{kind, namespace})
	o.mu.Unlock()
	for resource, k := range o.kinds {
		if k != kind && (resource != pods || !o.real.Owns(kind)) {
			continue
		}
		all, err := o.caches[resource].ByNamespace(namespace).List(labels.Everything())
		if err != nil {
			o.sayf("cannot look at %s again: %v", kind, err)
		}
		for _, u := range asObjects(all) {
			o.queue.Add(item{resource: resource, namespace: u.GetNamespace(), name: u.GetName()})
		}
	}
}

func (o *Operators) isHeld(kind schema.GroupKind, namespace string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held[pausedOwners{kind, namespace}]
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// text returns a text field of an object, or an empty string.
func text(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// asObjects converts the results of a lister.
func asObjects(all []runtime.Object) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, obj := range all {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			out = append(out, u)
		}
	}
	return out
}

// into decodes an object into its Go type.
func into(u *unstructured.Unstructured, typed any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed)
}

func lower(kind string) string { return strings.ToLower(kind) }
