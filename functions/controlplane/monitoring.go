package controlplane

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// monitored is alerts and dashboards of what the services share, and what brings its metrics to a Prometheus. It comes last: nothing runs
// by it, nobody is alerted to what is being installed, and what does not exist yet is not applied again in every pass until then.
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

// databaseMonitoring is that of the database. Its operator's own monitor has no labels, by which some Prometheus choose.
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
		// Once more than is due, and as long as one may take.
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
