package service

import (
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

// buildAlerts builds the alerts of a service. They use metrics of kube-state-metrics
// (https://github.com/kubernetes/kube-state-metrics/tree/main/docs/metrics), because the OpenStack APIs export none.
func buildAlerts[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	in := s.inNamespace()
	var alerts []monitoring.Alert
	if s.Module != "" {
		alerts = s.podAlerts(s.Title, s.Title, s.Title, s.Outage, s.Workload.Name, s.Stateful)
	}
	for _, p := range s.extension.Processes {
		alerts = append(alerts, s.processAlerts(p)...)
	}
	if names := s.extension.Jobs.Names; len(names) > 0 {
		var failed []string
		for _, job := range names {
			failed = append(failed, lastFailed(in, s.Sub(job)))
		}
		alerts = append(alerts, monitoring.Alert{
			Name: s.Title + "JobFailed", Severity: monitoring.Warning, For: "5m",
			Expr:    strings.Join(failed, " or "),
			Summary: fmt.Sprintf("A Job of %s has failed, and none has succeeded since.", s.Title),
			Action:  "Check the logs of the Job's pods. The status of the composite resource lists the components that wait for it.",
		})
	}
	alerts = append(alerts, s.extension.Alerts...)
	return SingleObjectComponent("alerts", monitoring.Rules(s.Meta(s.Name), s.Spec.Monitoring, alerts...)), nil
}

func (b *Base) inNamespace() string { return fmt.Sprintf(`namespace=%q`, b.Namespace) }

// podAlerts returns the alerts for the pods of a workload. Workloads whose names depend on the spec share runbooks.
func (b *Base) podAlerts(name, runbook, title, outage, workload string, stateful bool) []monitoring.Alert {
	available, desired := "kube_deployment_status_replicas_available", "kube_deployment_spec_replicas"
	if stateful {
		available, desired = "kube_statefulset_status_replicas_available", "kube_statefulset_replicas"
	}
	action := "Check the events and logs of the pods"
	if len(b.Databases) > 0 {
		action += ", then the database"
	}
	pods := fmt.Sprintf(`{%s,%s=%q}`, b.inNamespace(), strings.ToLower(kindOf(stateful)), workload)
	return []monitoring.Alert{
		{
			Name: name + "Down", Runbook: runbook + "Down", Severity: monitoring.Critical, For: "2m",
			Expr:    available + pods + " == 0",
			Summary: fmt.Sprintf("No pod of %s is available: %s.", title, outage),
			Action:  action + ".",
		},
		{
			Name: name + "Degraded", Runbook: runbook + "Degraded", Severity: monitoring.Warning, For: "15m",
			Expr:    available + pods + " < " + desired + pods,
			Summary: fmt.Sprintf("Fewer pods of %s are available than desired.", title),
			Action:  "Check the events of the pods: a node may be full or unavailable, or an image cannot be pulled.",
		},
	}
}

// lastFailed returns an expression that is true if the latest finished Job with this name prefix has failed permanently.
// Earlier failures are ignored: these Jobs are kept for their logs. For the schema Jobs, the companion has alerts.
func lastFailed(in, name string) string {
	finished := func(how string) string { return fmt.Sprintf(`kube_job_%s{%s,condition="true"} == 1`, how, in) }
	return fmt.Sprintf(`topk(1, kube_job_created{%s,job_name=~"%s-.+"} and on (namespace, job_name) (%s or %s))`+
		` and on (namespace, job_name) (%[4]s)`, in, name, finished("complete"), finished("failed"))
}
