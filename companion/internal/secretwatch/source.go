// Package secretwatch watches individual Secrets. The companion's permissions are for Secrets by name, so it can neither list nor
// watch all Secrets of a namespace.
package secretwatch

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

// Source is the source of a controller: it triggers a pass for each object whose Secrets have changed. Only metadata is
// watched and cached: no value is kept in memory. A nil Source triggers none.
type Source struct {
	client metadata.Interface

	mu sync.Mutex
	// done and queue are set when the controller has started. Watches that start later end with it.
	done  <-chan struct{}
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// watchedNames are the names of the Secrets of each object; watches are the active watches by Secret.
	watchedNames map[types.NamespacedName][]string
	watches      map[types.NamespacedName]chan struct{}
}

// New returns a Source with a manager's configuration.
func New(mgr ctrl.Manager) (*Source, error) {
	c, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("cannot create a client for metadata: %w", err)
	}
	return with(c), nil
}

func with(c metadata.Interface) *Source {
	return &Source{client: c, watchedNames: map[types.NamespacedName][]string{}, watches: map[types.NamespacedName]chan struct{}{}}
}

// Start sets the queue. The controller calls it before it reconciles any object.
func (s *Source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.queue = ctx.Done(), queue
	return nil
}

// Watch triggers passes for an object when one of these Secrets in its namespace changes, and no longer for other Secrets.
// Call it before the Secrets are read, so that no change is missed; the first time, each existing Secret triggers one more
// pass. Without names, the object is no longer triggered.
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

// watchers returns the objects that a Secret triggers.
func (s *Source) watchers(secret types.NamespacedName) []types.NamespacedName {
	var out []types.NamespacedName
	for object, names := range s.watchedNames {
		if object.Namespace == secret.Namespace && slices.Contains(names, secret.Name) {
			out = append(out, object)
		}
	}
	return out
}

// watch starts to watch a Secret, unless it is watched already. The informer restarts after each failure, with an increasing
// delay: also while the permission is missing.
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
		// Only a stopped informer rejects a handler. The object is polled anyway.
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
