package cellmapping

import (
	"context"
	"flag"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them.
var stride = flag.Int("crash.every", effort.Of(797, 97), "make every n-th run of TestRecoversFromFaultAtAnyCall")

const second = "?second=1"

// lifecycleCase is a life cycle that is repeated with a fault at each call.
type lifecycleCase struct {
	// stands is set if two cells were recorded long ago, with one host each.
	stands bool
	live   func(*timeline)
	// want is the final state of Nova: cells by name, and the cells of hosts.
	want  map[string]stored
	hosts map[string]string
}

// timeline is a running life cycle.
type timeline struct {
	*cluster

	r *Reconciler
	// startRun starts the controller.
	startRun func() *Reconciler
}

// lose deletes the Job of a command while it runs.
func (s *timeline) lose(command openstackv1.CellCommand, until func() bool) {
	s.T.Helper()
	at := len(s.commands)
	runs := func() bool {
		jobs := s.Jobs()
		return len(jobs) > 0 && jobs[0].Labels[commandLabel] == string(command) && len(s.Pods(nil)) > 0 && len(s.commands) == at
	}
	s.reconcileUntil(s.r, string(command), func() bool {
		if !runs() {
			at = len(s.commands)
		}
		return runs() || until()
	})
	s.Must(s.API.DeleteAllOf(context.Background(), &batchv1.Job{}))
}

func recorded(name string, change ...func(*stored)) stored {
	o := mapping(name)
	s := stored{name: name, database: o.Spec.DatabaseConnection, transport: o.Spec.TransportURL}
	if name == cell0 {
		s.transport = "none:///"
	}
	for _, do := range change {
		do(&s)
	}
	return s
}

// earlier2 is cell2 as created by another client.
var earlier2 = stored{
	uuid: "11111111-1111-4111-8111-111111111111", name: "cell2",
	database:  "mysql+pymysql://{username}:{password}@earlier:3306/nova_cell2",
	transport: "rabbit://{username}:{password}@earlier:5671/nova_cell2",
}

var lives = map[string]lifecycleCase{
	"first cells": {
		live: func(s *timeline) {
			for range 2 {
				s.pass(s.r)
			}
			s.Must(s.API.Create(context.Background(), secret()))
			s.lose(openstackv1.CellCommandCreateCell, s.ready)
			s.reconcileUntil(s.r, "the cells", s.ready)
		},
		want:  map[string]stored{cell0: recorded(cell0), "cell1": recorded("cell1")},
		hosts: map[string]string{},
	},
	"an existing cell": {
		live: func(s *timeline) {
			s.Must(s.API.Create(context.Background(), secret()))
			s.Must(s.API.Delete(context.Background(), mapping("cell1")))
			s.Must(s.API.Create(context.Background(), mapping("cell2")))
			s.nova.cells = []stored{earlier2}
			s.nova.register("compute-2", "cell2")
			s.lose(openstackv1.CellCommandUpdateCell, s.ready)
			s.reconcileUntil(s.r, "the cells", s.ready)
			s.reconcileUntil(s.r, "its host", func() bool { return len(s.nova.hosts) == 1 && s.ready() })
		},
		want:  map[string]stored{cell0: recorded(cell0), "cell2": recorded("cell2")},
		hosts: map[string]string{"compute-2": "cell2"},
	},
	"hosts": {
		stands: true,
		live: func(s *timeline) {
			both := func() bool { return len(s.nova.hosts) == 4 && s.ready() }
			s.nova.register("compute-3", "cell1")
			s.nova.register("compute-4", "cell2")
			s.tick()
			s.lose(openstackv1.CellCommandDiscoverHosts, both)
			s.reconcileUntil(s.r, "the hosts", both)
			s.nova.remove("compute-3")
			s.tick()
			s.reconcileUntil(s.r, "one host less", func() bool { return s.ready() && len(s.cell("cell1").Status.Hosts) == 1 })
			s.nova.register("compute-3", "cell2") // It registers in another cell.
			s.tick()
			s.reconcileUntil(s.r, "the host again", both)
		},
		want:  map[string]stored{"cell1": recorded("cell1"), "cell2": recorded("cell2")},
		hosts: map[string]string{"compute-1": "cell1", "compute-2": "cell2", "compute-3": "cell2", "compute-4": "cell2"},
	},
	"another address": {
		stands: true,
		live: func(s *timeline) {
			s.edit("cell1", func(o *openstackv1.CellMapping) { o.Spec.TransportURL += second })
			s.lose(openstackv1.CellCommandUpdateCell, s.ready)
			s.edit("cell1", func(o *openstackv1.CellMapping) { o.Spec.Disabled = true }) // During a run.
			s.reconcileUntil(s.r, "the address", s.ready)
		},
		want: map[string]stored{
			"cell1": recorded("cell1", func(s *stored) { s.transport, s.disabled = s.transport+second, true }), "cell2": recorded("cell2"),
		},
		hosts: map[string]string{"compute-1": "cell1", "compute-2": "cell2"},
	},
	"a backup is restored": {
		stands: true,
		live: func(s *timeline) {
			s.nova.cells, s.nova.hosts = []stored{{
				uuid: s.cell("cell2").Status.UUID, name: "cell2", database: earlier2.database, transport: earlier2.transport,
			}}, nil
			s.Clock.SetTime(s.Clock.Now().Add(time.Minute))
			s.r = s.startRun()
			s.reconcileUntil(s.r, "the cells again", func() bool { return len(s.nova.cells) == 2 && len(s.nova.hosts) == 2 && s.ready() })
		},
		want:  map[string]stored{"cell1": recorded("cell1"), "cell2": recorded("cell2")},
		hosts: map[string]string{"compute-1": "cell1", "compute-2": "cell2"},
	},
	"one object after another": {
		stands: true,
		live: func(s *timeline) {
			s.edit("cell1", func(o *openstackv1.CellMapping) { o.Spec.TransportURL += second })
			s.lose(openstackv1.CellCommandUpdateCell, s.ready)
			s.Must(s.API.Delete(context.Background(), mapping("cell1")))
			s.nova.cells = slices.DeleteFunc(s.nova.cells, func(c stored) bool { return c.name == "cell1" })
			delete(s.nova.hosts, "compute-1")
			recreated := mapping("cell1", func(o *openstackv1.CellMapping) { o.UID = "another" })
			s.Must(s.API.Create(context.Background(), recreated))
			s.reconcileUntil(s.r, "the cell again", func() bool { return len(s.nova.hosts) == 2 && s.ready() })
		},
		want:  map[string]stored{"cell1": recorded("cell1"), "cell2": recorded("cell2")},
		hosts: map[string]string{"compute-1": "cell1", "compute-2": "cell2"},
	},
}

// standing returns the state in which two cells are recorded, with one host each.
var standing = sync.OnceValues(func() ([]client.Object, nova) {
	c := newCluster(&testing.T{}, mapping("cell1"), mapping("cell2"), clouds(), secret())
	c.nova.register("compute-1", "cell1")
	c.nova.register("compute-2", "cell2")
	r := c.sound()
	c.reconcileUntil(r, "two cells", func() bool { return len(c.nova.hosts) == 2 && c.ready() })
	out := []client.Object{clouds(), secret()}
	for _, o := range c.cells() {
		o.ResourceVersion = ""
		out = append(out, &o)
	}
	return out, *c.nova
})

// run executes a life cycle with one faulty call.
func (l lifecycleCase) run(t *testing.T, at faultinjection.Point) (*cluster, *faultinjection.API) {
	t.Helper()
	objects, existing := []client.Object{mapping(cell0), mapping("cell1"), clouds()}, nova{}
	if l.stands {
		objects, existing = standing()
	}
	var copies []client.Object
	for _, o := range objects {
		copied, _ := o.DeepCopyObject().(client.Object)
		copies = append(copies, copied)
	}
	c := newCluster(t, copies...)
	*c.nova = nova{createdCount: existing.createdCount, cells: slices.Clone(existing.cells), hosts: maps.Clone(existing.hosts),
		registered: maps.Clone(existing.registered)}
	c.Clock.SetTime(start.Add(30 * time.Minute))
	c.tick()
	a := faultinjection.New(c.API, at)
	c.onPass = a.ReconcileDone
	a.OnConcurrentWrite = func() {
		other := c.sound()
		for range 3 + at.Call%29 { // The controller continues at any point.
			c.pass(other)
		}
		if at.Call%3 == 0 { // Finished Jobs are deleted.
			c.Clock.SetTime(c.Clock.Now().Add(25 * time.Hour))
			c.tick()
		}
	}
	s := &timeline{cluster: c, startRun: func() *Reconciler { return c.reconciler(a.Client(), a.HTTP(c.web)) }}
	s.r = s.startRun()
	l.live(s)
	c.reconcileUntil(c.sound(), "rest", c.ready) // Changes missed by a pass with stale reads are detected in the next resync.
	return c, a
}

// verify checks the invariants at the end.
func (l lifecycleCase) verify(t *testing.T, c *cluster) {
	t.Helper()
	c.Verify()
	names, got := map[string]string{}, map[string]stored{}
	for _, cell := range c.nova.cells {
		if _, duplicate := got[cell.name]; duplicate {
			t.Errorf("there are two of %s", cell.name)
		}
		names[cell.uuid] = cell.name
		cell.uuid = ""
		got[cell.name] = cell
	}
	if diff := cmp.Diff(l.want, got, cmp.AllowUnexported(stored{})); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	hosts := map[string]string{}
	for host, id := range c.nova.hosts {
		hosts[host] = names[id]
	}
	if diff := cmp.Diff(l.hosts, hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	for _, o := range c.cells() {
		var own []string
		for _, host := range slices.Sorted(maps.Keys(l.hosts)) {
			if l.hosts[host] == o.Spec.Cell {
				own = append(own, host)
			}
		}
		if diff := cmp.Diff(own, o.Status.Hosts); diff != "" || names[o.Status.UUID] != o.Spec.Cell {
			t.Errorf("%s is %q, hosts (-want +got):\n%s", o.Name, o.Status.UUID, diff)
		}
	}
	if t.Failed() {
		t.Log(c.recordedText(), strings.Join(c.commands, "\n"))
	}
}

// TestRecoversFromFaultAtAnyCall repeats each life cycle for each call to Kubernetes, Keystone and Nova, and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	for name, l := range lives {
		t.Run(name, func(t *testing.T) {
			c, full := l.run(t, faultinjection.NoFault)
			l.verify(t, c)
			all := full.Points()
			points := faultinjection.Sample(all, *stride, nil)
			faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
				c, _ := l.run(t, p)
				l.verify(t, c)
			})
			t.Logf("%d calls, %d of them writes, %d commands; %d of %d runs", full.Calls, len(full.Writes), len(c.commands), len(points), len(all))
		})
	}
}
