package hypervisorrecovery

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/fence"
)

// TestSlowController: a controller that takes half a minute for a response delays a recovery, and does not prevent it.
func TestSlowController(t *testing.T) {
	var domains []domain
	for i := range 8 {
		domains = append(domains, runs(fmt.Sprint("server-", i)))
	}
	w := newSimulation(t, 3, domains...)
	r := w.sound()
	w.machine("node-1").hangs = true
	w.extra = func(q *http.Request) error {
		if q.URL.Host == "bmc-node-1" {
			w.clock.SetTime(w.clock.Now().Add(28 * time.Second))
			w.report()
		}
		return nil
	}
	most := 0
	for i := 0; w.state("node-1") != openstackv1.RecoveryEvacuated && i < 60; i++ {
		before := len(w.nova.Actions())
		w.play(r, 1)
		most = max(most, len(w.nova.Actions())-before)
	}
	if got := w.state("node-1"); got != openstackv1.RecoveryEvacuated || len(w.nova.Actions()) != len(domains) {
		t.Errorf("%s, actions %v: %s", got, w.nova.Actions(), w.condition(conditionUnblocked))
	}
	if most != len(domains) { // The power is read once for all of them.
		t.Errorf("%d evacuations in a pass", most)
	}
}

// TestSlowControllerOfOther: operations on a node whose controller is slow do not delay the operations on another node.
func TestSlowControllerOfOther(t *testing.T) {
	w := newSimulation(t, 6, runs("a"))
	all := w.nova.Hypervisors()
	all[1].Servers = []compute.Server{runs("b").Server}
	for i := range all {
		all[i].Details["b"] = runs("b").Details
	}
	w.nova.SetHypervisors(all...)
	r := w.sound()
	r.memory.parallel = parallelReads
	w.machine("node-1").hangs, w.machine("node-2").hangs = true, true
	other := make(chan struct{})
	var once sync.Once
	w.extra = func(q *http.Request) error {
		switch {
		case strings.HasSuffix(q.URL.Path, "/servers/b/action"):
			once.Do(func() { close(other) })
		case strings.HasSuffix(q.URL.Path, "/servers/a/action"):
			select {
			case <-other:
			case <-time.After(5 * time.Second):
				t.Error("the server of node-2 is not evacuated before the response about the one of node-1")
				once.Do(func() { close(other) })
			}
		}
		return nil
	}
	w.play(r, 30)
	if len(w.running("a")) != 1 || len(w.running("b")) != 1 {
		t.Errorf("a runs on %v, b on %v: %s", w.running("a"), w.running("b"), w.condition(conditionUnblocked))
	}
}

// slowDevice is a controller that takes time for a response.
type slowDevice struct {
	fence.Device

	delay time.Duration
}

// State returns Off after the delay.
func (d slowDevice) State(ctx context.Context) (fence.State, error) {
	select {
	case <-time.After(d.delay):
		return fence.State{Power: fence.Off, SystemUUID: uuidOf("node-1")}, nil
	case <-ctx.Done():
		return fence.State{}, ctx.Err()
	}
}

// TestReadOff: the time for an operation starts with the response of the controller.
func TestReadOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{name: "node-1", recordedUUID: uuidOf("node-1"), device: slowDevice{delay: 28 * time.Second}}
		within, cancel, err := n.readOff(t.Context())
		defer cancel()
		end, _ := within.Deadline()
		left := time.Until(end)
		if err != nil || left != offTimeout {
			t.Errorf("%v, %s are left", err, left)
		}
	})
}
