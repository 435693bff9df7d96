package secretwatch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const namespace = "cloud"

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// api is an API server that records field selectors: permissions on a name require metadata.name.
type api struct {
	*fake.FakeMetadataClient

	mu           sync.Mutex
	requestCount []string // field selectors of lists

	// watched is closed when the first watch is open. A real API server returns changes between a list and its watch; the
	// fake's tracker does not.
	watched chan struct{}
}

func newAPI(t *testing.T, names ...string) *api {
	t.Helper()
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for _, n := range names {
		objects = append(objects, secret(n))
	}
	a := &api{FakeMetadataClient: fake.NewSimpleMetadataClient(scheme, objects...), watched: make(chan struct{})}
	look := func(action clienttesting.Action) (bool, runtime.Object, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if l, ok := action.(clienttesting.ListAction); ok {
			a.requestCount = append(a.requestCount, l.GetListRestrictions().Fields.String())
		}
		return false, nil, nil
	}
	a.PrependReactor("list", "secrets", look)
	open := sync.OnceFunc(func() { close(a.watched) })
	a.PrependWatchReactor("secrets", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := a.Tracker().Watch(action.GetResource(), action.GetNamespace())
		open()
		return true, w, err
	})
	return a
}

func secret(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func start(t *testing.T, a *api) (*Source, queue) {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	s := with(a)
	if err := s.Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return s, q
}

// woken waits for the next triggered object.
func woken(t *testing.T, q queue) string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		r, _ := q.Get()
		q.Done(r)
		got <- r.Name
	}()
	select {
	case name := <-got:
		return name
	case <-time.After(10 * time.Second):
		t.Fatal("no object was triggered")
		return ""
	}
}

// touch changes a watched Secret.
func touch(t *testing.T, a *api, name string) {
	t.Helper()
	<-a.watched
	o := secret(name)
	o.Annotations = map[string]string{"changed": "true"}
	if err := a.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), o, namespace); err != nil {
		t.Fatal(err)
	}
}

// TestSecretChangesTriggerObjects: a Secret triggers its objects when it is first observed and when it changes. Requests to the API server
// are restricted to one name.
func TestSecretChangesTriggerObjects(t *testing.T) {
	a := newAPI(t, "keystone-admin")
	s, q := start(t, a)
	s.Watch(key("clouds"), "keystone-admin")
	if got := woken(t, q); got != "clouds" {
		t.Errorf("first %s", got)
	}
	touch(t, a, "keystone-admin")
	if got := woken(t, q); got != "clouds" {
		t.Errorf("then %s", got)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.requestCount, []string{"metadata.name=keystone-admin"}) {
		t.Errorf("requested %v", a.requestCount)
	}
}

// TestWatchesEachSecretOnce: each Secret is watched once, until no object references it.
func TestWatchesEachSecretOnce(t *testing.T) {
	a := newAPI(t, "keystone-admin", "keystone-tls")
	s, q := start(t, a)
	s.Watch(key("clouds"), "keystone-admin")
	woken(t, q)
	s.Watch(key("korc-clouds"), "keystone-admin")
	s.Watch(key("clouds"), "keystone-admin") // As each pass does.
	if len(s.watches) != 1 {
		t.Errorf("%d watches", len(s.watches))
	}
	s.Watch(key("clouds"))
	touch(t, a, "keystone-admin")
	if got := woken(t, q); got != "korc-clouds" {
		t.Errorf("woken %s", got)
	}
	s.Watch(key("korc-clouds"), "keystone-tls")
	if s.watches[key("keystone-admin")] != nil || s.watches[key("keystone-tls")] == nil {
		t.Errorf("watches %v", s.watches)
	}
}

// TestUnstartedSourceWatchesNoSecrets: a nil Source, and one whose controller has not started, watch nothing.
func TestUnstartedSourceWatchesNoSecrets(t *testing.T) {
	var none *Source
	none.Watch(key("clouds"), "keystone-admin")
	s := with(newAPI(t))
	s.Watch(key("clouds"), "keystone-admin")
	if len(s.watches) > 0 {
		t.Error("it watches without an object")
	}
}

// TestDeletedSecretTriggersObjects: a deleted Secret triggers its objects, too.
func TestDeletedSecretTriggersObjects(t *testing.T) {
	a := newAPI(t, "keystone-admin")
	s, q := start(t, a)
	s.Watch(key("clouds"), "keystone-admin")
	woken(t, q)
	if err := a.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, "keystone-admin"); err != nil {
		t.Fatal(err)
	}
	if got := woken(t, q); got != "clouds" {
		t.Errorf("woken %s", got)
	}
}

// closed is a watch that reports when it is stopped.
type closed struct {
	watch.Interface

	once sync.Once
	done chan struct{}
}

func (c *closed) Stop() {
	c.once.Do(func() { close(c.done) })
	c.Interface.Stop()
}

// TestWatchesEndWithController: nothing is watched after the controller has ended.
func TestWatchesEndWithController(t *testing.T) {
	a := newAPI(t, "keystone-admin")
	w := &closed{Interface: watch.NewRaceFreeFake(), done: make(chan struct{})}
	opened := make(chan struct{})
	a.PrependWatchReactor("secrets", func(clienttesting.Action) (bool, watch.Interface, error) {
		close(opened)
		return true, w, nil
	})
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	s := with(a)
	ctx, end := context.WithCancel(t.Context())
	if err := s.Start(ctx, q); err != nil {
		t.Fatal(err)
	}
	s.Watch(key("clouds"), "keystone-admin")
	woken(t, q) // By the list. A controller that ends before the watch never opens it.
	<-opened
	end()
	select {
	case <-w.done:
	case <-time.After(10 * time.Second):
		t.Error("it watches for ever")
	}
}
