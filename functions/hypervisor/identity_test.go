package hypervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// sharedYAML is a control plane whose databases do not serve nodes with separate certificates yet.
var sharedYAML = withoutLine(controlPlaneYAML, "      chassisSouthbound:")

// withoutLine returns a text without the line that starts with a prefix.
func withoutLine(text, prefix string) string {
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.HasPrefix(line, prefix) }), "")
}

// certificateState is how nodes log in to OVN: whether they share a certificate, the ports of the southbound database that are open to
// them, and the containers of ovn-controller's pods.
type certificateState struct {
	Shared     bool
	Ports      string
	Containers string
	Southbound string
}

func stateOf(t *testing.T, w *simulate.Cluster) certificateState {
	t.Helper()
	all := New().Run(w.Request()).Composed
	if len(all) == 0 {
		t.Fatal("nothing is composed")
	}
	out := certificateState{}
	_, out.Shared = all[sharedCertificate]
	for _, rule := range composed(t, w, "southbound-network-policy")["spec"].(map[string]any)["ingress"].([]any) {
		for _, p := range rule.(map[string]any)["ports"].([]any) {
			out.Ports += fmt.Sprint(p.(map[string]any)["port"], " ")
		}
	}
	pod := composed(t, w, controllerComponent)["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	for _, c := range pod["containers"].([]any) {
		out.Containers += c.(map[string]any)["name"].(string) + " "
		for _, e := range c.(map[string]any)["env"].([]any) {
			if e := e.(map[string]any); e["name"] == "SOUTHBOUND" {
				out.Southbound = e["value"].(string)
			}
		}
	}
	return out
}

// TestNodeIdentity verifies that a pool moves to separate certificates without an interruption: both ways are open until all pods of
// all groups have a separate certificate, and the shared certificate is removed then and never created again.
func TestNodeIdentity(t *testing.T) {
	const (
		old = "ssl:ovn-southbound-0." + cloud + ".svc:6642,ssl:ovn-southbound-1." + cloud + ".svc:6642"
		own = "ssl:ovn-southbound-0." + cloud + ".svc:6645,ssl:ovn-southbound-1." + cloud + ".svc:6645"
	)
	separate := certificateState{Ports: "6645 ", Containers: "ovn-controller certificate ", Southbound: own}
	both := separate
	both.Shared, both.Ports = true, "6642 6645 "
	spec := more(`slices: [{name: edge, nodeSelector: {tier: edge}}]`)
	check := func(reason string, w *simulate.Cluster, want certificateState) {
		t.Helper()
		if diff := cmp.Diff(want, stateOf(t, w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	fresh := newCluster(spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	if err := makeReady(fresh); err != nil {
		t.Fatal(err)
	}
	check("A new pool has never had a shared certificate.", fresh, separate)
	w := newCluster(spec, "tenant-a", objects(planeClaim, sharedYAML)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	check("The databases are of an earlier version.", w,
		certificateState{Shared: true, Ports: "6642 ", Containers: "ovn-controller ", Southbound: old})
	w.Replace(objects(planeClaim, controlPlaneYAML))
	check("The companion cannot sign yet.", w,
		certificateState{Shared: true, Ports: "6642 ", Containers: "ovn-controller ", Southbound: old})
	for _, ok := w.Observed[nodeIssuerResource]; !ok; _, ok = w.Observed[nodeIssuerResource] {
		if _, err := w.Call(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
	}
	check("Pods have the shared certificate until they are replaced.", w, both)
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	check("All pods have a separate certificate.", w, separate)
	set, put := inside(t, w, "ovn-controller-slice-edge")
	set["status"].(map[string]any)["updatedNumberScheduled"] = 0.0
	put()
	check("A later rollout changes nothing.", w, separate)
}

// TestNodeIdentity_Rollout verifies that the shared certificate stays while pods of one group, or of the metadata agent, are old.
func TestNodeIdentity_Rollout(t *testing.T) {
	for _, set := range []string{"ovn-controller", "ovn-controller-slice-edge", "metadata", "metadata-slice-edge"} {
		t.Run(set, func(t *testing.T) {
			w := newCluster(more(`slices: [{name: edge, nodeSelector: {tier: edge}}]`), "tenant-a", objects(planeClaim, sharedYAML)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			w.Replace(objects(planeClaim, controlPlaneYAML))
			for range 5 { // The companion becomes ready, the objects change, and are observed.
				if _, err := w.Call(func(simulate.Step) {}); err != nil {
					t.Fatal(err)
				}
				o, put := inside(t, w, set)
				status := o["status"].(map[string]any)
				status["desiredNumberScheduled"], status["updatedNumberScheduled"], status["numberAvailable"] = 10.0, 1.0, 10.0
				put()
			}
			if got := stateOf(t, w); !got.Shared || got.Ports != "6642 6645 " {
				t.Errorf("while pods of %s are old: %+v", set, got)
			}
		})
	}
}
