package hypervisor

import (
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

const monitoringComponent = "monitoring"

// monitoringSettings returns the platform's settings. A pool cannot override them.
func (m *model) monitoringSettings() common.Monitoring {
	s := ptr.Deref(m.platform.Monitoring, common.MonitoringSettings{})
	return common.Monitoring{Enabled: ptr.Deref(s.Enabled, false), Labels: s.Labels}
}

// isMonitored reports whether the platform has a Prometheus, and there is something to alert on.
func (m *model) isMonitored() bool { return m.known() && m.monitoringSettings().Enabled }

// monitored returns alerts on programs, nodes and certificates of the pool.
func monitored(m *model) ([]compose.Stage, error) {
	const prefix = "Hypervisor"
	alerts := append(monitoring.Containers(prefix, m.instance), monitoring.DaemonSets(prefix, m.instance),
		monitoring.CertificatesExpiring(prefix+"CertificateExpiring", m.instance))
	alerts = append(alerts, monitoring.Nodes(prefix, m.instance, computeComponent+"-.+", "Move servers to other nodes (openstack server "+
		"migrate --live-migration), or remove images that nova-compute caches (/var/lib/cobaltcore/nova/instances/_base).")...)
	return []compose.Stage{{
		{Name: "alerts", Object: monitoring.Rules(m.meta(monitoringComponent), m.monitoringSettings(), alerts...)},
	}}, nil
}
