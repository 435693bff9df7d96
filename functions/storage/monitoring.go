package storage

import (
	"errors"
	"slices"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// monitoringSettings lays the claim's over the platform's.
func (m *model) monitoringSettings() common.Monitoring {
	s := ptr.Deref(merge.Overlay(m.spec.Monitoring, m.platform.Monitoring), common.MonitoringSettings{})
	return common.Monitoring{Enabled: ptr.Deref(s.Enabled, false), Labels: s.Labels}
}

// isMonitored reports whether somebody has a Prometheus for it.
func (m *model) isMonitored() bool { return m.monitoring.Enabled }

// ownMonitoringLabels are those that the claim itself names, and that the platform does not have anyway.
func (m *model) ownMonitoringLabels() []string {
	offered := limit.LabelTerms(ptr.Deref(m.platform.Monitoring, common.MonitoringSettings{}).Labels)
	named := limit.LabelTerms(ptr.Deref(m.spec.Monitoring, common.MonitoringSettings{}).Labels)
	return slices.DeleteFunc(named, func(term string) bool { return slices.Contains(offered, term) })
}

// checkMonitoringLabels refuses labels that the platform does not leave to this namespace.
func (m *model) checkMonitoringLabels() error {
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	var errs []error
	for _, term := range m.ownMonitoringLabels() {
		errs = append(errs, limit.MonitoringLabels.CheckAny(limits, m.claim.Namespace, "spec.monitoring.labels", []string{term}))
	}
	return errors.Join(errs...)
}

// monitored is what brings Ceph's metrics to a Prometheus, alerts and a dashboard. It comes once the cluster was ready: nobody is alerted
// to what is being installed. Rook would make monitors of its own, by rights that it is not given here, and without the platform's labels.
func monitored(m *model) ([]compose.Stage, error) {
	if m.isExternal() {
		return []compose.Stage{{{Name: "alerts", Object: monitoring.Rules(m.meta(cephName), m.monitoring, m.userAlerts()...)}}}, nil
	}
	shown, err := m.dashboard()
	if err != nil {
		return nil, err
	}
	return []compose.Stage{{
		{Name: "manager-monitor", Object: monitoring.Service(
			m.meta("ceph-manager"), m.monitoring, rook.ManagerMetrics, rook.Selector(rook.ManagerName, m.instance),
		)},
		{Name: "exporter-monitor", Object: monitoring.Service(
			m.meta("ceph-exporter"), m.monitoring, rook.ExporterMetrics, rook.Selector(rook.ExporterName, m.instance),
		)},
		{Name: "alerts", Object: monitoring.Rules(m.meta(cephName), m.monitoring, m.alerts()...)},
		{Name: "program-alerts", Object: monitoring.Rules(m.meta("programs"), m.monitoring, m.programAlerts()...)},
		{Name: "dashboard", Object: shown},
	}}, nil
}
