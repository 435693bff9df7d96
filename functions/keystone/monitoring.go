package keystone

import (
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

// alerts use metrics of kube-state-metrics (https://github.com/kubernetes/kube-state-metrics/tree/main/docs/metrics): Keystone serves no
// metrics of its own.
func alerts(m *model) ([]compose.Stage, error) {
	in := fmt.Sprintf(`namespace=%q`, m.namespace)
	deployment := fmt.Sprintf(`%s,deployment=%q`, in, m.workload.Name)
	rules := monitoring.Rules(m.meta(m.name), m.spec.Monitoring,
		monitoring.Alert{
			Name: "KeystoneDown", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`kube_deployment_status_replicas_available{%s} == 0`, deployment),
			Summary: "No pod of Keystone is available: nobody can log in, and every other service refuses requests.",
			Action:  "Look at the pods' events and logs, then at the database.",
		},
		monitoring.Alert{
			Name: "KeystoneDegraded", Severity: monitoring.Warning, For: "15m",
			Expr: fmt.Sprintf(`kube_deployment_status_replicas_available{%[1]s} < kube_deployment_spec_replicas{%[1]s}`,
				deployment),
			Summary: "Fewer pods of Keystone are available than wanted.",
			Action:  "Look at the pods' events: a node may be full or gone, or an image may not be pulled.",
		},
		monitoring.Alert{
			Name: "KeystoneJobFailed", Severity: monitoring.Warning, For: "5m",
			Expr:    lastFailed(in, m.sub("bootstrap")) + " or " + lastFailed(in, m.sub("trust-flush")),
			Summary: "A Job of Keystone has failed, and none has succeeded since.",
			Action:  "Read the logs of the Job's pods; the composite resource's status says what waits for it.",
		},
		monitoring.Alert{
			Name: "KeystoneCertificateExpiring", Severity: monitoring.Warning, For: "1h",
			Expr: fmt.Sprintf(`certmanager_certificate_expiration_timestamp_seconds{%s,name=%q} - time() < 7 * 24 * 3600`,
				in, m.sub("tls")),
			Summary: "Keystone's certificate expires within a week and was not renewed.",
			Action:  "Look at the Certificate's events and at its issuer.",
		},
	)
	return aggregate("alerts", rules), nil
}

// lastFailed is true while, of the Jobs whose names begin so, the last that has ended failed for good. Those before do not count: they
// stay for someone to read their logs. The Jobs of the schema have alerts of the companion's.
func lastFailed(in, name string) string {
	ended := func(how string) string { return fmt.Sprintf(`kube_job_%s{%s,condition="true"} == 1`, how, in) }
	return fmt.Sprintf(`topk(1, kube_job_created{%s,job_name=~"%s-.+"} and on (namespace, job_name) (%s or %s))`+
		` and on (namespace, job_name) (%[4]s)`, in, name, ended("complete"), ended("failed"))
}
