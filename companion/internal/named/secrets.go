// Package named watches Secrets one by one. The companion's rights name the Secrets that it has to do with, so it can neither list
// nor watch all of a namespace.
package named

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Source are a source of a controller: they wake each object whose Secrets have changed. Only metadata is watched and kept: no value
// stays in memory. A nil one wakes nobody.
type Source struct {
	client metadata.Interface

	mu sync.Mutex
	// done and queue are there from when the controller has started. Watches that begin later end with it.
	done  <-chan struct{}
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// watchedNames are the names of the Secrets of each object; watches are those that run, by the name of the Secret.
	watchedNames map[types.NamespacedName][]string
	watches      map[types.NamespacedName]chan struct{}
}

// New watches by a manager's configuration.
func New(mgr ctrl.Manager) (*Source, error) {
	c, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for metadata: %w", err)
	}
	return with(c), nil
}

func with(c metadata.Interface) *Source {
	return &Source{client: c, watchedNames: map[types.NamespacedName][]string{}, watches: map[types.NamespacedName]chan struct{}{}}
}

// Start lets the controller's queue be filled. It is called by the controller, before it reconciles anything.
func (s *Source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.queue = ctx.Done(), queue
	return nil
}

// Watch wakes an object from now on when one of these Secrets of its namespace changes, and for no other. It is to be called before they
// are read, so that no change falls in between; the first time, each Secret that is there wakes the object once more. Without a name the
// object is woken no more.
func (s *Source) Watch(object types.NamespacedName, names ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue == nil {
		return
	}
	before := s.watchedNames[object]
	s.watchedNames[object] = names
	if len(names) == 0 {
		delete(s.watchedNames, object)
	}
	for _, name := range names {
		s.watch(types.NamespacedName{Namespace: object.Namespace, Name: name}, object)
	}
	for _, name := range before {
		if secret := (types.NamespacedName{Namespace: object.Namespace, Name: name}); len(s.watchers(secret)) == 0 && s.watches[secret] != nil {
			close(s.watches[secret])
			delete(s.watches, secret)
		}
	}
}

// watchers are the objects that a Secret wakes.
func (s *Source) watchers(secret types.NamespacedName) []types.NamespacedName {
	var out []types.NamespacedName
	for object, names := range s.watchedNames {
		if object.Namespace == secret.Namespace && slices.Contains(names, secret.Name) {
			out = append(out, object)
		}
	}
	return out
}

// watch begins to watch a Secret, if nobody does yet. The informer starts over by itself after every failure, with a growing pause: as long
// as the right is missing, too.
func (s *Source) watch(secret, object types.NamespacedName) {
	if s.watches[secret] != nil {
		return
	}
	informer := metadatainformer.NewFilteredMetadataInformer(s.client, corev1.SchemeGroupVersion.WithResource("secrets"), secret.Namespace, 0,
		cache.Indexers{}, func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, secret.Name).String()
		}).Informer()
	wake := func() { s.enqueue(secret) }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { wake() },
		UpdateFunc: func(any, any) { wake() },
		DeleteFunc: func(any) { wake() },
	}); err != nil {
		// Only an informer that was stopped refuses a handler. The object looks by itself from time to time.
		ctrl.Log.WithName("named").Error(err, "cannot watch a Secret", "secret", secret, "object", object)
		return
	}
	stop, finished, end := make(chan struct{}), s.done, make(chan struct{})
	s.watches[secret] = stop
	go informer.Run(end)
	go func() {
		defer close(end)
		select {
		case <-stop:
		case <-finished:
		}
	}()
}

func (s *Source) enqueue(secret types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range s.watchers(secret) {
		s.queue.Add(reconcile.Request{NamespacedName: object})
	}
}
