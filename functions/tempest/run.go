package tempest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

const (
	// python is the interpreter of the image.
	python = "/opt/openstack/bin/python"
	// deadline is the maximum duration of a run, in seconds: all tests of a complete cloud take hours.
	deadline = 8 * 60 * 60
	// terminationGracePeriod is the time in seconds for a stopped run to remove the resources of its tests.
	terminationGracePeriod = 300
)

// runs builds the CronJob. A failed run is not retried before its next schedule: a failure must stay visible.
func (m *model) runs() ([]compose.Stage, error) {
	w := m.workload()
	cron := w.CronJob(m.pod(), string(m.spec.Schedule), false)
	job := &cron.Spec.JobTemplate.Spec
	job.BackoffLimit, job.ActiveDeadlineSeconds = new(int32(0)), new(int64(deadline))
	return []compose.Stage{{
		{Name: tests + "-network-policy", Object: w.NetworkPolicy(nil, []workload.Flow{m.flow})},
		{Name: tests, Object: cron},
	}}, nil
}

// workspace is the size of the directory for logs, results, and images that tests create.
var workspace = resource.MustParse("5Gi")

// pod returns the pod of one run. It accepts no connections.
func (m *model) pod() workload.Pod {
	ca := m.spec.Identity.CASecretRef
	return workload.Pod{
		UserID: service.UserID, GraceSeconds: new(int64(terminationGracePeriod)), Scratch: &workspace,
		Containers: []corev1.Container{{
			Name: tempestv1.ServiceName, Image: m.image,
			Command: []string{python, configFolder + "/" + scriptFile, configFolder},
			Env: append(m.passwords(),
				// Files that tests write to the home folder are deleted with the pod.
				corev1.EnvVar{Name: "HOME", Value: "/tmp"},
				// The HTTP client of Heat's API tests reads no option of tempest.conf.
				corev1.EnvVar{Name: "SSL_CERT_FILE", Value: authorityFolder + "/" + string(ca.Key)},
			),
			VolumeMounts: []corev1.VolumeMount{workload.Mount("config", configFolder), workload.Mount("identity-ca", authorityFolder)},
		}},
		Volumes: []corev1.Volume{
			workload.ConfigVolume("config", m.configName()),
			workload.SecretVolume("identity-ca", string(ca.Name), string(ca.Key)),
		},
	}
}

// reports builds the report on test results.
func (m *model) reports() ([]compose.Stage, error) {
	return service.SingleObjectComponent(report, c5c3.TestReport(m.meta(m.name),
		openstackv1.TestReportSpec{CronJobName: common.ObjectName(m.name)})), nil
}

// passed copies the condition of the report.
func (m *model) passed() ready.Result {
	c, ok := m.report.Condition(tempestv1.TestsPassed)
	if !ok || c.Reason == "" {
		return ready.Wait("NotRun", "no run has ended yet; they begin by the schedule %q, in the time of the cluster", string(m.spec.Schedule))
	}
	return ready.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
}

// alerts returns alerts on metrics of kube-state-metrics. The companion alerts on test results.
func (m *model) alerts() ([]compose.Stage, error) {
	return service.SingleObjectComponent("alerts", monitoring.Rules(m.meta(m.name), m.spec.Monitoring, monitoring.Alert{
		Name: "TempestRunOverdue", Severity: monitoring.Warning, For: "1h",
		Expr:    fmt.Sprintf("time() - kube_cronjob_next_schedule_time{namespace=%q,cronjob=%q} > 3600", m.namespace, m.name),
		Summary: "A Tempest run is overdue by more than one hour.",
		Action:  "Check the events of the CronJob: a previous run may not have ended, or it is suspended.",
	})), nil
}
