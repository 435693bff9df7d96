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

// monitoringSettings returns the platform's settings, overridden by the claim's.
func (m *model) monitoringSettings() common.Monitoring {
	s := ptr.Deref(merge.Overlay(m.spec.Monitoring, m.platform.Monitoring), common.MonitoringSettings{})
	return common.Monitoring{Enabled: ptr.Deref(s.Enabled, false), Labels: s.Labels}
}

// isMonitored reports whether monitoring with Prometheus is enabled.
func (m *model) isMonitored() bool { return m.monitoring.Enabled }

// ownMonitoringLabels returns the claim's labels that the platform does not set.
func (m *model) ownMonitoringLabels() []string {
	platformLabels := limit.LabelTerms(ptr.Deref(m.platform.Monitoring, common.MonitoringSettings{}).Labels)
	named := limit.LabelTerms(ptr.Deref(m.spec.Monitoring, common.MonitoringSettings{}).Labels)
	return slices.DeleteFunc(named, func(term string) bool { return slices.Contains(platformLabels, term) })
}

// checkMonitoringLabels rejects labels that the platform does not allow in this namespace.
func (m *model) checkMonitoringLabels() error {
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	var errs []error
	for _, term := range m.ownMonitoringLabels() {
		errs = append(errs, limit.MonitoringLabels.CheckAny(limits, m.claim.Namespace, "spec.monitoring.labels", []string{term}))
	}
	return errors.Join(errs...)
}

// monitored builds the ServiceMonitors of Ceph's metrics, alerts and a dashboard. It follows the first readiness of the cluster, so that an
// installation fires no alerts. Rook's own ServiceMonitors would require rights that it does not have here, and lack the platform's labels.
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
