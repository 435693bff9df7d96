package workloadcluster

import (
	"encoding/json"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// workload returns the companion. One pod is enough: a check that is late by minutes has no effect.
func (m *model) workload() workload.Workload {
	settings := ptr.Deref(m.platform.Companion, platformv1.Companion{})
	return workload.Workload{
		Name: c5c3.Name, Namespace: m.instance, App: c5c3.Name, Instance: m.instance, Component: c5c3.Name, Replicas: 1,
		Priority:  workload.PriorityInfrastructure,
		Resources: merge.Overlay(settings.Resources, workload.Resources("20m", "64Mi", "256Mi")), Placement: settings.Placement,
	}
}

// companion builds the companion in the cluster. It reads only what the check reports, and has no access to Secrets.
func companion(m *model) ([]compose.Stage, error) {
	w := m.workload()
	image, err := release.ImageFor(release.Companion, "", release.Override{
		Registry: ptr.Deref(m.platform.Images, common.Images{}).Registry,
	})
	if err != nil {
		return nil, err
	}
	account, inNamespace, inCluster := c5c3.ClusterCheckAccess(w)
	var prometheus []string
	if m.monitoring().Enabled {
		prometheus = workload.Names(platform.Prometheus(m.platform.Network))
	}
	denied := w.Meta()
	denied.Name = "default-deny"
	policy := c5c3.ClusterCheckNetwork(w, prometheus, platform.APIServerPorts(m.platform.Network))
	return []compose.Stage{
		{
			{Name: "companion-account", Object: account},
			{Name: "companion-namespace-rights", Object: inNamespace},
			{Name: "companion-cluster-rights", Object: inCluster},
			{Name: "companion-network-policy", Object: policy},
			{Name: "default-deny", Object: workload.DenyAll(denied)},
		},
		{{Name: companionComponent, Object: c5c3.ClusterCheckDeployment(w, image)}},
	}, nil
}

// monitoring returns the platform's settings.
func (m *model) monitoring() common.Monitoring {
	s := ptr.Deref(m.platform.Monitoring, common.MonitoringSettings{})
	return common.Monitoring{Enabled: ptr.Deref(s.Enabled, false), Labels: s.Labels}
}

// isMonitored reports whether the platform enables monitoring.
func (m *model) isMonitored() bool { return m.monitoring().Enabled }

// monitored builds the Service and the monitor of the companion's metrics, and an alert. It follows the first report, so that a new cluster
// fires no alert.
func monitored(m *model) ([]compose.Stage, error) {
	w, conf := m.workload(), m.monitoring()
	return []compose.Stage{{
		{Name: "companion-service", Object: c5c3.Service(w)},
		{Name: "companion-monitor", Object: monitoring.Service(w.Meta(), conf, "metrics", w.Selector())},
		{Name: "companion-alerts", Object: c5c3.ClusterCheckAlerts(w, conf)},
	}}, nil
}

// check builds the check, with the operators that the roles require. It is ready when it was read and nothing is missing.
func check(m *model) ([]compose.Stage, error) {
	meta := m.workload().Meta()
	meta.Name = m.name
	return []compose.Stage{{{
		Name: checkComponent, Object: c5c3.ClusterCheck(meta, m.checkSpec()), Ready: m.checkReady,
	}}}, nil
}

func (m *model) checkReady(o *observe.Object) ready.Result {
	c, ok := o.Condition("Ready")
	switch {
	case !ok:
		return ready.Wait("NotReported", "the companion in the cluster has not reported yet")
	case c.Status != "True":
		return ready.Wait(c.Reason, "%s", c.Message)
	}
	return m.requirementsMet()
}

// reportOf returns the report in the status of a check.
func reportOf(o *observe.Object) (*common.ClusterReport, error) {
	data, err := json.Marshal(o.Map("status", "cluster"))
	if err != nil {
		return nil, err
	}
	out := &common.ClusterReport{}
	return out, json.Unmarshal(data, out)
}
