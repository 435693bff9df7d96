package ovn

import (
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// controllersReady is the type of the condition on the chassis. They belong to hypervisors, and no component here waits for them.
const controllersReady = "ControllersReady"

// chassis returns the number of nodes that have registered in the southbound database, as counted by the companion. known reports whether
// it has counted them.
func (m *model) chassis() (registered, active int32, known bool) {
	n, known := m.south.cluster.Int("status", "chassis", "registered")
	done, _ := m.south.cluster.Int("status", "chassis", "active")
	return int32(n), int32(done), known //nolint:gosec // nodes
}

// controllers reports the state of the chassis.
func (m *model) controllers() ready.Result {
	registered, active, known := m.chassis()
	counted, _ := m.south.cluster.Condition("ChassisCounted")
	switch {
	case counted.Status == "False":
		return ready.Wait("ChassisCountUnknown", "the number of chassis is unknown: %s", counted.Message)
	case !known:
		return ready.Wait("ChassisCountUnknown", "waiting for the companion to count the chassis")
	case registered == 0:
		return ready.Result{Ready: true, Reason: "NoNodes", Message: "no node has registered yet"}
	case active == registered:
		return ready.Result{Ready: true, Reason: "UpToDate", Message: fmt.Sprintf("all %d chassis are up to date", registered)}
	}
	var outdated []string
	for _, v := range m.south.cluster.List("status", "chassis", "outOfDate") {
		if name, ok := v.(string); ok {
			outdated = append(outdated, name)
		}
	}
	if len(outdated) == 0 { // A former companion does not write the names.
		return ready.Wait("NodesOutOfDate", "%d of %d chassis are out of date", registered-active, registered)
	}
	return ready.Wait("NodesOutOfDate", "%d of %d chassis are out of date: %s",
		registered-active, registered, strings.Join(outdated, ", "))
}
