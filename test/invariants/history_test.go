package invariants

import (
	"maps"
	"os"
	"sync/atomic"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// TestMain tries few histories of each kind in make test, together about 500 cases, and 30,000 in make test-long.
func TestMain(m *testing.M) {
	if err := effort.Histories(2, 120); err != nil {
		panic(err)
	}
	function.TuneMemory()
	os.Exit(m.Run())
}

// rounds is the number of calls after which any simulation is stable: more than there are stages in all components of a
// kind.
const rounds = 25

// counts summarizes all histories. A case is one state, and the response to it.
var counts struct{ cases, thorough, rejected, held, rejectedSpecs, longest atomic.Int64 }

// TestInvariantsHoldInRandomHistories simulates the lifecycles of composite resources: desired resources are created call by call, with
// disturbances, invalid specs and garbage in between. Every response is checked for the invariants, and at the end,
// undisturbed, everything becomes ready.
func TestInvariantsHoldInRandomHistories(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { history(t, s) })
		})
	}
	t.Cleanup(func() {
		t.Logf("%d cases, %d of them checked for all invariants, %d rejected, %d of those composed from the last valid spec; %d of %d valid specs rejected; %d calls at most until stable",
			counts.cases.Load(), counts.thorough.Load(), counts.rejected.Load(), counts.held.Load(), counts.rejectedSpecs.Load(), drawn.Load(), counts.longest.Load())
		if most := int64(effort.Of(10, 2)); counts.rejectedSpecs.Load()*100 > drawn.Load()*most {
			t.Errorf("more than %d %% of the valid specs are refused", most)
		}
	})
}

func history(t *rapid.T, s *subject) {
	w := newSimulation(t, s)
	if rsp := w.run(w.request(t)); len(rsp.GetResults()) > 0 {
		counts.rejectedSpecs.Add(1)
		t.Skipf("the spec is refused: %v", rsp.GetResults()[0])
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(t, "disturbances") {
		for range rapid.IntRange(0, 8).Draw(t, "calls") {
			w.reconcileUntilStable(t, w.call(t, false))
		}
		w.tryInvalidEdit(t)
		w.tryGarbage(t)
		before := w.copy()
		w.disturb(t)
		rsp := w.call(t, true)
		if rsp == nil {
			w = before // The cause of the error reverts the change.
			continue
		}
		w.reconcileUntilStable(t, rsp)
		w.fix(t)
	}
	w.rest(t)
}

// fix keeps an invalid spec for some calls, if it is one, and fixes it.
func (w *simulation) fix(t *rapid.T) {
	if !w.held {
		return
	}
	for range rapid.IntRange(0, 3).Draw(t, "calls with an invalid spec") {
		w.refusable = true
		rsp := w.call(t, rapid.Bool().Draw(t, "thoroughly"))
		if rsp == nil {
			t.Fatalf("1: an invalid spec is no longer composed from the last valid one")
		}
		w.reconcileUntilStable(t, rsp)
		if !w.held {
			return // The reason for the rejection has disappeared.
		}
	}
	w.xr = maps.Clone(w.xr)
	w.xr["spec"], w.held = w.lastValid().xr["spec"], false
}

// call calls the function and checks the response for the invariants; thoroughly: for all of them, some of which take
// long. It returns nil if the function rejects a request that it may reject.
func (w *simulation) call(t *rapid.T, thoroughly bool) *fnv1.RunFunctionResponse {
	counts.cases.Add(1)
	if thoroughly {
		counts.thorough.Add(1)
	}
	req := sent(t, w.request(t))
	rsp, plan, err := w.explain(req)
	if err != nil {
		counts.rejected.Add(1)
		if !w.refusable {
			t.Fatalf("the function rejects a request that it accepted before: %v", err)
		}
		if w.checkRejected(t, w.run(req), err); rsp == nil {
			return nil
		}
		counts.held.Add(1)
	}
	if w.held && err == nil {
		w.endSegment(t) // Another spec is composed from now on: the reason for the rejection has disappeared.
	}
	w.note(t, rsp, plan)
	w.checkGates(t, plan)
	w.checkFiles(t, plan)
	w.checkData(t, rsp, plan)
	if w.held = err != nil; !w.held {
		checkReported(t, rsp, plan)
	}
	if thoroughly {
		response := marshal(t, rsp)
		w.checkDeterministic(t, response)
		w.checkHashes(t, plan)
		checkStatus(t, rsp)
		checkSecrets(t, rsp, response)
		checkFields(t, rsp)
		if w.claimed {
			checkTenantNames(t, rsp)
		}
	}
	w.xr = maps.Clone(w.xr)
	w.xr["status"] = rsp.GetDesired().GetComposite().GetResource().GetFields()["status"].AsInterface()
	w.refusable = false
	return rsp
}

// checkRejected checks the invariants of the response to a rejected request: a fatal one, or one composed from the last
// valid spec.
func (w *simulation) checkRejected(t *rapid.T, rsp *fnv1.RunFunctionResponse, err error) {
	typ := respond.Composed
	if invalid.Is(err) {
		typ = respond.SpecValid
		if last := w.lastValid(); last != nil {
			if control, _, err := last.explain(sent(t, last.request(t))); err == nil {
				w.checkLastValid(t, rsp, control, errorOf(rsp))
				w.checkDeterministic(t, marshal(t, rsp))
				return
			}
		}
	}
	checkFatal(t, rsp, typ, err.Error())
	w.checkDeterministic(t, marshal(t, rsp))
}

// errorOf returns the first result of a response.
func errorOf(rsp *fnv1.RunFunctionResponse) string {
	if len(rsp.GetResults()) == 0 {
		return ""
	}
	return rsp.GetResults()[0].GetMessage()
}

// lastValid returns the simulation with the last valid spec in its status, and retained data if its current spec
// retains it; nil if the status has no such spec.
func (w *simulation) lastValid() *simulation {
	status, _ := w.xr["status"].(object)
	stored, _ := status["lastValidSpec"].(object)
	if len(stored) == 0 {
		return nil
	}
	spec := runtime.DeepCopyJSON(stored)
	now, _ := w.xr["spec"].(object)
	if delete(spec, "claimRef"); now["claimRef"] != nil {
		spec["claimRef"] = now["claimRef"]
	}
	if policyOf(spec) == "Delete" && policyOf(now) != "Delete" {
		spec["deletionPolicy"] = "Retain"
	}
	last := w.copy()
	last.xr["spec"] = spec
	return last
}

// rest checks the last part of invariant 6: if every desired resource is made to exist and be ready, everything becomes
// ready within a limited number of calls, and stays ready.
func (w *simulation) rest(t *rapid.T) {
	for n := range rounds {
		rsp := w.call(t, false)
		ready := rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE
		w.reconcileUntilStable(t, rsp)
		if !ready {
			continue
		}
		if longest := counts.longest.Load(); int64(n) > longest {
			counts.longest.Store(int64(n))
		}
		second := w.call(t, true)
		if second.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_TRUE {
			t.Errorf("6: not ready any more, and nothing has changed")
		}
		w.endSegment(t)
		return
	}
	t.Errorf("6: not ready after %d calls: %v", rounds, w.xr["status"])
}
