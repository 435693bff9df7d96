package hypervisor

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/missingnodes"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// Components by which the control plane's companion finds hypervisors and cleans up after removed nodes.
const (
	companionComponent = "companion"
	checkComponent     = "service-check"
)

// Conditions from the companion's report: whether data of removed nodes has been cleaned up, whether cordoned nodes are empty, and whether
// nova-compute reports from the nodes.
const (
	removedNodesCleanedUp  = "RemovedNodesCleanedUp"
	cordonedNodesEvacuated = "CordonedNodesEvacuated"
	nodesReporting         = "NodesReporting"
)

// checkEvery is the check interval of the companion, in seconds.
const checkEvery = 60

// computeSets returns the DaemonSets of nova-compute. The nodes of their pods are the hypervisors.
func (m *model) computeSets() []string {
	var out []string
	for i := range m.groups {
		out = append(out, m.groups[i].name(computeComponent))
	}
	return out
}

// companion grants the control plane's companion access to pods and Nodes: this function does not know the nodes, and nodes come and go.
// Whether a node is cordoned is recorded only in its Node object.
func companion(m *model) ([]compose.Stage, error) {
	role, binding := c5c3.PodReader(m.meta(companionComponent), m.plane.Instance, m.computeSets())
	stage := compose.Stage{{Name: "companion-role", Object: role}, {Name: "companion-role-binding", Object: binding}}
	if m.spec.Virtualization.EvictOnCordon {
		meta := object.Meta{Name: m.instance + "-companion-nodes", Labels: m.meta(companionComponent).Labels}
		stage = append(stage, compose.Resource{Name: "companion-nodes", Object: c5c3.NodeReader(meta, m.plane.Instance)})
	}
	return []compose.Stage{stage}, nil
}

// novaNamespaceMeta returns the metadata of the objects that the control plane's companion reconciles for the pool.
func (m *model) novaNamespaceMeta(component string) object.Meta {
	return object.Meta{Name: m.instance, Namespace: m.plane.Instance, Labels: m.meta(component).Labels}
}

// check builds the ServiceCheck by which the companion records the nodes of the pool.
func check(m *model) ([]compose.Stage, error) {
	spec := openstackv1.ServiceCheckSpec{
		CloudCredentialsRef: compute.Cloud(novav1.ServiceName), Service: novav1.ServiceType, IntervalSeconds: checkEvery,
	}
	for _, set := range m.computeSets() {
		spec.Nodes = append(spec.Nodes, openstackv1.CheckedNodes{
			Namespace: common.NamespaceName(m.instance), DaemonSet: common.ObjectName(set), EvictOnCordon: m.spec.Virtualization.EvictOnCordon,
		})
	}
	return []compose.Stage{{m.inPlaneCluster(compose.Resource{
		Name: checkComponent, Object: c5c3.ServiceCheck(m.novaNamespaceMeta(checkComponent), spec),
	})}}, nil
}

// nodesCondition returns a function that reads a condition of the pool's nodes from the companion's object. It is unset before the
// companion's first check.
func nodesCondition(condition string) func(*model) ready.Result {
	return func(m *model) ready.Result {
		o, ok := m.observed.Get(checkComponent)
		if !ok {
			return ready.Result{}
		}
		c, ok := o.Condition(condition)
		if !ok {
			return ready.Result{}
		}
		if c.Status == "True" && outdated(o, c) {
			return ready.Wait("Reconciling", "the control plane's companion has not seen the last change of the pool yet")
		}
		if unverified := m.observed.UnverifiedReason(o); c.Status == "True" && unverified != "" {
			return ready.Wait("StatusUnverified", "%s", unverified)
		}
		return ready.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
	}
}

// reporting reports whether nova-compute reports from nodes, except as many as may be unavailable. The message names nodes that have
// been missing longest: the status of a DaemonSet has only numbers. It is unset before the companion's first check.
func (m *model) reporting() ready.Result {
	o, ok := m.observed.Get(checkComponent)
	if !ok || o.LastObservation().IsZero() {
		return ready.Result{}
	}
	if stale := m.observed.StaleReason(o); stale != "" {
		return ready.Wait("StatusTooOld", "%s", stale)
	}
	var status struct {
		Up               int                       `json:"up"`
		MissingNodeCount int                       `json:"missingNodeCount"`
		MissingNodes     []openstackv1.MissingNode `json:"missingNodes"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Map("status"), &status); err != nil {
		return ready.Wait("StatusInvalid", "cannot read the status of ServiceCheck %s: %s", o.Name(), err)
	}
	missing, total := status.MissingNodeCount, status.Up+status.MissingNodeCount
	message := missingnodes.Message(status.MissingNodes, missing, total)
	switch {
	case missing == 0:
		return ready.Result{Ready: true, Reason: "AllReport", Message: "nova-compute reports from all nodes"}
	case readiness.NodesSuffice(int64(status.Up), int64(total), m.maxUnavailable()):
		return ready.Result{Ready: true, Reason: "EnoughReport", Message: message}
	}
	return ready.Wait("NodesMissing", "%s", message)
}

// maxUnavailable returns the percentage of nodes that may be unavailable. The schema accepts 1% to 50% only. Of any other text, no
// node may be unavailable, so that an error is never taken for permission.
func (m *model) maxUnavailable() int64 {
	percentage, err := strconv.ParseInt(strings.TrimSuffix(m.spec.MaxUnavailable, "%"), 10, 64)
	if err != nil {
		return 0
	}
	return percentage
}
