package keystone

import (
	corev1 "k8s.io/api/core/v1"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// What Jobs run, as components, and as suffixes of their names.
const (
	bootstrapName  = "bootstrap"
	trustFlushName = "trust-flush"
)

// cacheEnv switches off the cache, which a command needs no configuration for then.
var cacheEnv = oslo.MustEnvName("cache", "enabled")

// bootstrapResources are enough for one command; they are not those of the API, whose change must not run it again.
var bootstrapResources = workload.Resources("100m", "256Mi", "1Gi")

// bootstrap makes the first user, project and roles, and Keystone's own catalog entry. It runs again for a new image, which may bring new
// roles, but not because of an option: it reads no configuration file, only what it needs. Running again is harmless, but sets the
// administrator's password to that of its Secret. https://docs.openstack.org/keystone/latest/admin/bootstrap.html
//
// It gives the administrator none of the options that exempt a user from [security_compliance] (keystone/cmd/bootstrap.py of 27.1 to
// 30.0). Two of its rules are looked at when a password is set, so that they do not meet one that is set here, without a configuration:
// neither does it expire, nor has it to be changed. The two others are looked at when someone logs in: lockout_failure_attempts, by which
// anybody locks the administrator out, and disable_user_account_days_inactive. No command sets the options; a call of the API does.
func bootstrap(m *model) ([]compose.Stage, error) {
	const attempts = 6
	w := m.Workload.With(m.Sub(bootstrapName), bootstrapName)
	w.Resources = bootstrapResources
	pod := m.BarePod(m.SchemaImage, []string{
		"keystone-manage", "bootstrap",
		"--bootstrap-username", m.spec.Bootstrap.AdminUser,
		"--bootstrap-project-name", keystonev1.AdminProject,
		"--bootstrap-role-name", keystonev1.AdminRole,
		"--bootstrap-service-name", m.App,
		"--bootstrap-region-id", m.spec.Region,
		"--bootstrap-public-url", string(m.spec.Endpoints.Public),
		"--bootstrap-internal-url", string(m.spec.Endpoints.Internal),
	})
	pod.Containers[0].Env = append(pod.Containers[0].Env,
		corev1.EnvVar{Name: cacheEnv, Value: "false"},
		workload.SecretEnv("OS_BOOTSTRAP_PASSWORD", m.adminSecret(), secret.PasswordKey))
	return service.Once(bootstrapName, w, pod, attempts)
}

// trustFlush removes trusts that have expired.
func trustFlush(m *model) ([]compose.Stage, error) {
	w := m.Workload.With(m.Sub(trustFlushName), trustFlushName)
	pod := m.Pod(m.Image, m.Files, []string{"keystone-manage", "trust_flush"})
	return service.SingleObjectComponent(trustFlushName, w.CronJob(pod, string(m.spec.TrustFlush.Schedule), m.spec.TrustFlush.Suspend)), nil
}
