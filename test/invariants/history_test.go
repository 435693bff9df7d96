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

// rounds is how many calls bring any world to rest: more than there are stages in all components of a kind.
const rounds = 25

// counts are what happened in all histories. A case is one state, and the response to it.
var counts struct{ cases, thorough, refused, held, refusedSpecs, longest atomic.Int64 }

// TestHistories runs through the lives of composite resources: what is desired comes into being, calls on calls, and is disturbed in
// between, and mistakes and garbage come in. Every answer is held to the invariants, and in the end, undisturbed, all becomes ready.
func TestHistories(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { history(t, s) })
		})
	}
	t.Cleanup(func() {
		t.Logf("%d cases, %d of them held to all invariants, %d refused, %d of those answered by the last valid spec; %d of %d valid specs refused; %d calls at most to rest",
			counts.cases.Load(), counts.thorough.Load(), counts.refused.Load(), counts.held.Load(), counts.refusedSpecs.Load(), drawn.Load(), counts.longest.Load())
		if most := int64(effort.Of(10, 2)); counts.refusedSpecs.Load()*100 > drawn.Load()*most {
			t.Errorf("more than %d %% of the valid specs are refused", most)
		}
	})
}

func history(t *rapid.T, s *subject) {
	w := newSimulation(t, s)
	if rsp := w.run(w.request(t)); len(rsp.GetResults()) > 0 {
		counts.refusedSpecs.Add(1)
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
			w = before // Whoever caused it fixes it.
			continue
		}
		w.reconcileUntilStable(t, rsp)
		w.fix(t)
	}
	w.rest(t)
}

// fix lives with an invalid spec for a while, if it is one, and fixes it.
func (w *simulation) fix(t *rapid.T) {
	if !w.held {
		return
	}
	for range rapid.IntRange(0, 3).Draw(t, "calls with an invalid spec") {
		w.refusable = true
		rsp := w.call(t, rapid.Bool().Draw(t, "thoroughly"))
		if rsp == nil {
			t.Fatalf("1: what was answered by the last valid spec is not any more")
		}
		w.reconcileUntilStable(t, rsp)
		if !w.held {
			return // What it was refused for has gone by itself.
		}
	}
	w.xr = maps.Clone(w.xr)
	w.xr["spec"], w.held = w.lastValid().xr["spec"], false
}

// call makes one call and holds the response to the invariants; thoroughly: to all of them, of which some take long. It returns nil if
// the function refuses what it may refuse.
func (w *simulation) call(t *rapid.T, thoroughly bool) *fnv1.RunFunctionResponse {
	counts.cases.Add(1)
	if thoroughly {
		counts.thorough.Add(1)
	}
	req := sent(t, w.request(t))
	rsp, plan, err := w.explain(req)
	if err != nil {
		counts.refused.Add(1)
		if !w.refusable {
			t.Fatalf("the function refuses what it took before: %v", err)
		}
		if w.checkRefused(t, w.run(req), err); rsp == nil {
			return nil
		}
		counts.held.Add(1)
	}
	if w.held && err == nil {
		w.endSegment(t) // Another spec is composed from now on: what it was refused for has gone by itself.
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

// checkRefused holds the invariants for a response to what the function refuses: a fatal one, or that of the last valid spec.
func (w *simulation) checkRefused(t *rapid.T, rsp *fnv1.RunFunctionResponse, err error) {
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

// errorOf is the first result of a response.
func errorOf(rsp *fnv1.RunFunctionResponse) string {
	if len(rsp.GetResults()) == 0 {
		return ""
	}
	return rsp.GetResults()[0].GetMessage()
}

// lastValid is the world with the spec that its status says was composed last, and data that is kept if its own spec keeps it; nil if the
// status does not say.
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

// rest holds the last part of invariant 6: if everything that is desired is made to exist and be ready, all is ready before
// long, and stays so.
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
		again := w.call(t, true)
		if again.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_TRUE {
			t.Errorf("6: what was ready is not ready any more, and nothing has happened")
		}
		w.endSegment(t)
		return
	}
	t.Errorf("6: not ready after %d calls: %v", rounds, w.xr["status"])
}
