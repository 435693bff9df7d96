package cinder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// checkComponent checks the capacity of backends, and the reports of processes. Its resource has the same name.
const checkComponent = "service-check"

// checkEvery is the check interval of the companion, in seconds.
const checkEvery = 60

// check builds the companion's ServiceCheck of Cinder. No component depends on it: an unavailable Ceph cluster is not a state of composed
// objects.
func check(m *model) ([]compose.Stage, error) {
	spec := openstackv1.ServiceCheckSpec{CloudCredentialsRef: m.Cloud(), Service: cinderv1.ServiceType, IntervalSeconds: checkEvery}
	known := func(binary, process string) {
		spec.Processes = append(spec.Processes, openstackv1.CheckedProcess{
			Binary: binary, StatefulSetName: common.ObjectName(m.Sub(process)),
		})
	}
	known("cinder-scheduler", scheduler)
	for _, b := range m.backends {
		known("cinder-volume", b.process())
		spec.Backends = append(spec.Backends, openstackv1.CheckedBackend{Name: b.Name, LooksEverySeconds: m.capacityReportInterval()})
	}
	if m.spec.Backup != nil {
		known("cinder-backup", backup)
	}
	return []compose.Stage{{{
		Name: checkComponent, Ready: func(*observe.Object) ready.Result { return ready.Yes }, Object: c5c3.ServiceCheck(m.Meta(m.Name), spec),
	}}}, nil
}

// capacityReportInterval returns the interval in seconds at which managers query capacity: the tenant's setting, or Cinder's default.
// Managers query it in their periodic tasks.
// https://docs.openstack.org/cinder/latest/configuration/block-storage/samples/cinder.conf.html
func (m *model) capacityReportInterval() int32 {
	const cinders, day = 60, 24 * 60 * 60
	longest := 0
	for _, option := range []string{"periodic_interval", "backend_stats_polling_interval"} {
		requested := strings.Trim(string(m.spec.Config["DEFAULT"][option].Raw), `"`)
		n, err := strconv.Atoi(requested)
		if err != nil || n <= 0 {
			n = cinders
		}
		longest = max(longest, min(n, day))
	}
	return int32(longest)
}

// backendReport is the companion's report on a backend.
type backendReport struct {
	openstackv1.CheckedBackendState
	reported bool
	// since is the time of the managers' last capacity query, if that is overdue.
	since string
}

// backendReport returns the companion's report on a backend. It is empty before the first check.
func (m *model) backendReport(name string) (out backendReport) {
	for _, reported := range m.checked.List("status", "backends") {
		b, _ := reported.(map[string]any)
		if b["name"] != name {
			continue
		}
		out.reported = true
		out.Silent, _ = b["silent"].(bool)
		out.since, _ = b["looked"].(string)
		up, _ := b["up"].(float64)
		out.Up = int32(up)
		out.TotalGiB, out.AvailableGiB = parseInteger(b["totalGiB"]), parseInteger(b["availableGiB"])
	}
	return out
}

// parseInteger returns a reported number. Nil: it is missing.
func parseInteger(reported any) *int64 {
	n, ok := reported.(float64)
	if !ok {
		return nil
	}
	return new(int64(n))
}

// reportCapacity sets the capacity of a backend. The last known capacity stays while the companion has no report.
func (m *model) reportCapacity(out *cinderv1.BackendStatus) {
	if at := m.backendReport(out.Name); at.reported {
		out.TotalGiB, out.AvailableGiB = at.TotalGiB, at.AvailableGiB
		return
	}
	i := slices.IndexFunc(m.previous, func(b cinderv1.BackendStatus) bool { return b.Name == out.Name })
	if i >= 0 {
		out.TotalGiB, out.AvailableGiB = m.previous[i].TotalGiB, m.previous[i].AvailableGiB
	}
}

// cephConnected reports whether managers of all backends in Ceph can access it. It is unset without such a backend, and before the
// companion has checked all of them.
func (m *model) cephConnected() ready.Result {
	var missing []string
	some := false
	for _, b := range m.backends {
		if b.secret == nil {
			continue
		}
		at := m.backendReport(b.Name)
		if !at.reported {
			return ready.Result{}
		}
		some = true
		if at.Silent {
			missing = append(missing, m.cephHint(b, at))
		}
	}
	if !some {
		return ready.Result{}
	}
	v := ready.Result{Ready: true, Reason: "Connected", Message: "managers of each backend are connected to its Ceph cluster"}
	if len(missing) > 0 {
		v = ready.Result{Reason: "Unreachable", Message: strings.Join(missing, "; ")}
	}
	if c, _ := m.checked.Condition("Ready"); c.Status == "False" && c.Reason == "ServiceUnavailable" {
		v.Message += "; this is the last known state, and Cinder is unavailable: " + strings.Join(strings.Fields(c.Message), " ")
	}
	return v
}

// cephHint returns since when a backend cannot access its Ceph cluster, and how to proceed.
func (m *model) cephHint(b backend, at backendReport) string {
	symptom := "its Ceph cluster has not responded since " + at.since
	switch {
	case at.Up == 0:
		symptom = "none of its managers reports; a manager reports only after it has connected to its Ceph cluster"
	case at.since == "":
		symptom = "its Ceph cluster has not responded yet"
	}
	see := ""
	switch {
	case b.Ceph != nil:
		see = fmt.Sprintf("whether StorageCluster %s of %s is healthy (its status.health) and allows this control plane",
			b.Ceph.ClusterRef.Name, b.Ceph.ClusterRef.Namespace)
	case b.RBD != nil:
		see = fmt.Sprintf("whether its monitors and OSDs are up (ceph -s), lie within rbd.networks, and accept the key of client.%s in "+
			"rbd.secretRef", b.RBD.User)
	}
	return fmt.Sprintf("backend %s: %s; see %s; for the response see the logs of pods %s", b.Name, symptom, see, m.Sub(b.process()))
}
