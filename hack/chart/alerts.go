package main

import (
	"fmt"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// alertGroups returns the spec of the PrometheusRule of the management cluster: alerts on objects of the chart, which belong to no claim.
// The chart adds its name and labels.
func alertGroups() any {
	scheduled := fmt.Sprintf("kube_cronjob_status_last_schedule_time{namespace=%q,cronjob=%q}", freshness.ClockNamespace, freshness.ClockName)
	meta := object.Meta{
		Name: "cobaltcore", Namespace: freshness.ClockNamespace, Labels: map[string]string{"app.kubernetes.io/name": "cobaltcore"},
	}
	return monitoring.Rules(meta, common.Monitoring{}, monitoring.Alert{
		Name: "PlatformClockStopped", Severity: monitoring.Warning, For: "10m",
		// Two missed intervals. The metric does not exist before the first schedule.
		Expr: fmt.Sprintf("time() - %[1]s > %[2]d or absent(%[1]s)", scheduled, int((2 * freshness.ClockInterval).Seconds())),
		Summary: "The clock of the platform does not advance, or its metric is missing: within half an hour, deletion guards of pools close " +
			"and claims are not ready.",
		Action: "Check the CronJob " + freshness.ClockName + " in namespace " + freshness.ClockNamespace + " and the log of " +
			"kube-controller-manager, then kube-state-metrics.",
	}).Object["spec"]
}
