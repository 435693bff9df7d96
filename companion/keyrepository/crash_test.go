package keyrepository

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// stride leaves runs out, so that the test is quick enough for every day; 1 makes all of them. Where a write to the Secret is
// lost or comes late, none is left out.
var stride = flag.Int("crash.every", 199, "make every n-th run of TestCrash")

// A fault is what happens at one API call.
type fault string

const (
	none fault = ""
	// before: the call does not reach the API server, and the process dies.
	before fault = "fails before"
	// after: the write is done, but the answer is lost, and the process dies.
	after fault = "fails after"
	// conflict: somebody else has written the object.
	conflict fault = "conflict"
	// rival: this leader sleeps while another one does all there is to do, up to and with the next rotation, and then goes on
	// with what it had read.
	rival fault = "rival"
)

// A sight is what the controller sees after the fault.
type sight string

const (
	live sight = "live"
	// stale: in the pass after the fault, every object is as it was before its last write.
	stale sight = "stale"
)

var errFault = errors.New("injected fault")

// api counts the controller's calls, and goes wrong at one of them.
type api struct {
	c     *cluster
	calls int
	// writes are the calls that were writes, and what they wrote.
	writes map[int]string

	at    int
	fault fault
	sight sight
	// blind is how many passes still see the past; previous are all objects before their last write.
	blind    int
	previous map[string]client.Object
	// meanwhile is what the rival does.
	meanwhile func()
}

func name(o client.Object, key client.ObjectKey) string { return fmt.Sprintf("%T %s", o, key) }

// call runs one call of the controller, or what becomes of it.
func (a *api) call(written string, do func() error) error {
	index := a.calls
	a.calls++
	if written != "" {
		a.writes[index] = written
	}
	if index != a.at {
		return do()
	}
	if a.sight == stale {
		a.blind = 1
	}
	switch a.fault {
	case before:
		return errFault
	case after:
		_ = do()
		return errFault
	case conflict:
		return apierrors.NewConflict(schema.GroupResource{}, "", errFault)
	case rival:
		a.meanwhile()
	case none:
	}
	return do()
}

// remember keeps an object as it is, before a write to it.
func (a *api) remember(o client.Object) {
	old, ok := o.DeepCopyObject().(client.Object)
	if ok && a.c.api.Get(context.Background(), client.ObjectKeyFromObject(o), old) == nil {
		a.previous[name(o, client.ObjectKeyFromObject(o))] = old
	} else {
		a.previous[name(o, client.ObjectKeyFromObject(o))] = nil
	}
}

// client is the API as the controller sees it.
func (a *api) client() client.Client {
	write := func(o client.Object, do func() error) error {
		a.remember(o)
		err := a.call(name(o, client.ObjectKeyFromObject(o)), do)
		a.c.watch()
		return err
	}
	return interceptor.NewClient(a.c.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return a.call("", func() error {
				if old, known := a.previous[name(o, k)]; a.blind > 0 && known {
					if old == nil {
						return apierrors.NewNotFound(schema.GroupResource{}, k.Name)
					}
					return a.copy(old, o)
				}
				return c.Get(ctx, k, o, opts...)
			})
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			return a.call("", func() error { return c.List(ctx, l, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write(o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(o, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return write(o, func() error { return c.Status().Update(ctx, o, opts...) })
		},
	})
}

// copy makes o what an older object was.
func (a *api) copy(old, o client.Object) error {
	return scheme.Convert(old, o, nil)
}

// newAPI goes wrong at one call; -1 never.
func newAPI(c *cluster, at int, f fault, s sight) *api {
	a := &api{c: c, at: at, fault: f, sight: s, writes: map[int]string{}, previous: map[string]client.Object{}}
	a.meanwhile = func() {
		other := c.reconciler(c.api, c.api)
		for range 8 {
			c.pass(other)
		}
		if len(c.mounted) > 0 {
			c.untilRotation(other)
		}
	}
	return a
}

// untilRotation lets time pass, users work and the keys rotate once.
func (c *cluster) untilRotation(r *Reconciler) {
	c.t.Helper()
	from := c.primary
	for range 8 {
		at := c.repo().Status.NextRotation
		if at == nil {
			c.t.Fatalf("no next rotation: %s", conditionsOf(c.repo()))
			return
		}
		// In between, tokens expire and the daily backup is made.
		c.clock.SetTime(c.clock.Now().Add(min(at.Sub(c.clock.Now()), 60*time.Hour)))
		c.tick()
		c.run(r)
		if c.primary > from {
			return
		}
	}
	c.t.Fatalf("does not rotate: %s", conditionsOf(c.repo()))
}

// life creates keys, starts pods and rotates three times. A rotation that a rival has done is one, too.
func life(t testing.TB, repo *openstackv1.KeyRepository, at int, f fault, s sight) (*cluster, *api) {
	t.Helper()
	c := newCluster(t, repo)
	a := newAPI(c, at, f, s)
	remote := a.client()
	r := c.reconciler(remote, remote)
	c.onPass = func() { a.blind = max(a.blind-1, 0) }
	for range 8 { // Without pods there is no proof that they have the keys.
		c.pass(r)
	}
	c.must(c.api.Create(context.Background(), deployment()))
	c.run(r)
	for range 3 {
		c.untilRotation(r)
	}
	return c, a
}

// verify checks what has to hold at the end of a life.
func verify(t testing.TB, c *cluster) {
	t.Helper()
	for _, v := range c.violations {
		t.Error(v)
	}
	set := c.set()
	if set == nil {
		t.Fatal("the Secret is missing or in disorder")
	}
	repo := c.repo()
	if set.Primary() < 4 || len(set) != 3 {
		t.Errorf("keys %v after three rotations that keep 3", set.Indexes())
	}
	for _, condition := range repo.Status.Conditions {
		if condition.Status != "True" {
			t.Errorf("condition %s: %s", condition.Type, condition.Message)
		}
	}
	if c.store["prod/keys"] == nil || string(c.store["prod/keys"]["0"]) != string(set[0]) {
		t.Error("the backup does not hold the keys")
	}
	for job, runs := range c.jobRuns {
		if runs > 1 {
			t.Errorf("Job %s ran %d times", job, runs)
		}
	}
}

// TestCrash goes through the whole life of a repository once for every API call, every way in which it can go wrong, and
// everything that may be seen after that.
func TestCrash(t *testing.T) {
	for kind, repo := range map[string]func() *openstackv1.KeyRepository{
		"fernet":     func() *openstackv1.KeyRepository { return withBackup(fernet()) },
		"credential": func() *openstackv1.KeyRepository { return withBackup(credential()) },
	} {
		t.Run(kind, func(t *testing.T) {
			c, whole := life(t, repo(), -1, none, live)
			verify(t, c)
			if kind == "credential" && len(c.jobRuns) != 3 {
				t.Errorf("3 rotations, but migrations %v", c.jobRuns)
			}
			type try struct {
				at    int
				fault fault
				sight sight
			}
			var tries []try
			for at := range whole.calls {
				faults := []fault{before, rival}
				if whole.writes[at] != "" {
					faults = append(faults, after, conflict)
				}
				for _, f := range faults {
					tries = append(tries, try{at, f, live}, try{at, f, stale})
				}
			}
			made := 0
			work := make(chan try)
			var group sync.WaitGroup
			for range 2 {
				group.Go(func() {
					for w := range work {
						t.Run(fmt.Sprintf("%d %s, %s", w.at, w.fault, w.sight), func(t *testing.T) {
							c, _ := life(t, repo(), w.at, w.fault, w.sight)
							verify(t, c)
						})
					}
				})
			}
			for i, w := range tries {
				onSecret := strings.HasPrefix(whole.writes[w.at], "*v1.Secret ")
				if i%*stride == 0 || onSecret && w.sight == live && (w.fault == after || w.fault == rival) {
					made++
					work <- w
				}
			}
			close(work)
			group.Wait()
			t.Logf("%d API calls, %d of them writes; %d of %d runs", whole.calls, len(whole.writes), made, len(tries))
		})
	}
}
