package controlplane

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// monitored composes the alerts, dashboards and monitors of the shared infrastructure. It comes last, because nothing depends on it,
// components that are being installed should not trigger alerts, and alerts for objects that do not exist yet would be applied again in
// every reconciliation.
func monitored(m *model) ([]compose.Stage, error) {
	stage := m.databaseMonitoring()
	companion, err := m.companionMonitoring()
	if err != nil {
		return nil, err
	}
	stage = append(stage, companion...)
	stage = append(stage,
		compose.Resource{Name: "cache-alerts", Object: m.cacheAlerts()}, compose.Resource{Name: "program-alerts", Object: m.programAlerts()})
	if m.runsQueue() {
		c := m.cluster("")
		stage = append(stage,
			compose.Resource{Name: "messaging-monitor", Object: c.Monitor(m.monitoring)},
			compose.Resource{Name: "messaging-alerts", Object: c.Alerts(m.monitoring, "infrastructure.rabbitmq")},
		)
	}
	if m.locks() {
		stage = append(stage, compose.Resource{Name: "locks-alerts", Object: m.storeAlerts()})
	}
	return []compose.Stage{stage}, nil
}

// databaseMonitoring composes the alerts and monitors of the database. The operator's own monitor has no labels, which some Prometheus
// instances select by.
func (m *model) databaseMonitoring() compose.Stage {
	if m.externalMariaDB() != nil {
		return nil
	}
	const field = "infrastructure.mariadb"
	alerts := mariadb.Alerts{
		Meta: m.meta(mariaDBName), Field: field, Memory: field + ".resources", Members: m.databaseReplicas(), Metrics: m.databaseMetrics(),
		Proxy: m.proxy.replicas > 0, ProxyName: maxScaleName,
	}
	if m.backsUp() {
		// One schedule interval, plus the maximum duration of a backup.
		alerts.BackupAge = mariadb.LongestGap(m.spec.Infrastructure.MariaDB.Backup.Schedule) + m.backupTimeout()
	}
	stage := compose.Stage{{Name: "database-alerts", Object: alerts.Object(m.monitoring)}}
	if alerts.Metrics && len(m.monitoring.Labels) > 0 {
		o := mariadb.Monitor(m.meta(mariaDBName), m.monitoring, m.databaseReplicas(), mariaDBPort)
		stage = append(stage, compose.Resource{Name: "database-monitor", Object: o})
		if alerts.Proxy {
			o := mariadb.Monitor(m.meta(maxScaleName), m.monitoring, m.proxy.replicas, mariadb.AdminPort)
			stage = append(stage, compose.Resource{Name: "database-proxy-monitor", Object: o})
		}
	}
	return stage
}

func (m *model) companionMonitoring() (compose.Stage, error) {
	w, _, err := m.ofThePlatform(release.Companion)
	if err != nil {
		return nil, err
	}
	dashboard, err := c5c3.Dashboard(w, m.monitoring)
	if err != nil {
		return nil, err
	}
	return compose.Stage{
		{Name: "companion-monitor", Object: monitoring.Service(w.Meta(), m.monitoring, "metrics", w.Selector())},
		{Name: "companion-alerts", Object: c5c3.Alerts(w, m.monitoring)},
		{Name: "companion-dashboard", Object: dashboard},
	}, nil
}

// monitors reports whether the platform has a Prometheus.
func (m *model) monitors() bool { return m.monitoring.Enabled }
