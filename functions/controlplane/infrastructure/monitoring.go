package infrastructure

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// ComposeMonitoring composes the alerts, dashboards and monitors of the shared infrastructure. It comes last, because nothing depends on
// it, components that are being installed should not trigger alerts, and alerts for objects that do not exist yet would be applied again in
// every reconciliation.
func (inf *Infrastructure) ComposeMonitoring() ([]compose.Stage, error) {
	stage, err := inf.databaseMonitoring()
	if err != nil {
		return nil, err
	}
	companion, err := inf.companionMonitoring()
	if err != nil {
		return nil, err
	}
	stage = append(stage, companion...)
	stage = append(stage,
		compose.Resource{Name: "cache-alerts", Object: inf.cacheAlerts()}, compose.Resource{Name: "program-alerts", Object: inf.programAlerts()})
	if inf.RunsQueue() {
		c := inf.Cluster("")
		stage = append(stage,
			compose.Resource{Name: "messaging-monitor", Object: c.Monitor(inf.Monitoring)},
			compose.Resource{Name: "messaging-alerts", Object: c.Alerts(inf.Monitoring, "infrastructure.rabbitmq")},
		)
	}
	if inf.Locks() {
		stage = append(stage, compose.Resource{Name: "locks-alerts", Object: inf.storeAlerts()})
	}
	return []compose.Stage{stage}, nil
}

// databaseMonitoring composes the alerts and monitors of the database. The operator's own monitor has no labels, which some Prometheus
// instances select by.
func (inf *Infrastructure) databaseMonitoring() (compose.Stage, error) {
	if inf.ExternalMariaDB() != nil {
		return nil, nil
	}
	const field = "infrastructure.mariadb"
	alerts := mariadb.Alerts{
		Meta: inf.Meta(mariaDBName), Field: field, Memory: field + ".resources", Members: inf.DatabaseReplicas(), Metrics: inf.databaseMetrics(),
		Proxy: inf.proxy.replicas > 0, ProxyName: maxScaleName,
	}
	if inf.BacksUp() {
		age, err := mariadb.MaxBackupAge(inf.Spec.Infrastructure.MariaDB.Backup.Schedule, inf.backupTimeout())
		if err != nil {
			return nil, err
		}
		alerts.BackupAge = age
	}
	stage := compose.Stage{{Name: "database-alerts", Object: alerts.Object(inf.Monitoring)}}
	if alerts.Metrics && len(inf.Monitoring.Labels) > 0 {
		o := mariadb.Monitor(inf.Meta(mariaDBName), inf.Monitoring, inf.DatabaseReplicas(), mariaDBPort)
		stage = append(stage, compose.Resource{Name: "database-monitor", Object: o})
		if alerts.Proxy {
			o := mariadb.Monitor(inf.Meta(maxScaleName), inf.Monitoring, inf.proxy.replicas, mariadb.AdminPort)
			stage = append(stage, compose.Resource{Name: "database-proxy-monitor", Object: o})
		}
	}
	return stage, nil
}

func (inf *Infrastructure) companionMonitoring() (compose.Stage, error) {
	w, _, err := inf.ofThePlatform(release.Companion)
	if err != nil {
		return nil, err
	}
	dashboard, err := c5c3.Dashboard(w, inf.Monitoring)
	if err != nil {
		return nil, err
	}
	return compose.Stage{
		{Name: "companion-monitor", Object: monitoring.Service(w.Meta(), inf.Monitoring, "metrics", w.Selector())},
		{Name: "companion-alerts", Object: c5c3.Alerts(w, inf.Monitoring)},
		{Name: "companion-dashboard", Object: dashboard},
	}, nil
}

// Monitors reports whether the platform has a Prometheus.
func (inf *Infrastructure) Monitors() bool { return inf.Monitoring.Enabled }
