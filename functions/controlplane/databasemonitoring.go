package controlplane

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
)

// databaseMonitoring is alerts on the database, and what brings its metrics to a Prometheus that chooses by labels.
func databaseMonitoring(m *model) ([]compose.Stage, error) {
	alerts := mariadb.Alerts{
		Meta: m.meta(mariaDBName), Members: m.databaseReplicas(), Metrics: m.databaseMetrics(),
		Proxy: m.proxy.replicas > 0, ProxyName: maxScaleName,
	}
	if m.backsUp() {
		// Once more than is due, and as long as one may take.
		alerts.BackupAge = longestGap(m.spec.Infrastructure.MariaDB.Backup.Schedule) + m.backupTimeout()
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
	return []compose.Stage{stage}, nil
}

func (m *model) monitored() bool { return m.monitoring.Enabled }
