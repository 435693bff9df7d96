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

// Commands of Jobs, as components and as suffixes of their names.
const (
	bootstrapName  = "bootstrap"
	trustFlushName = "trust-flush"
)

// cacheEnv disables the cache, so that a command requires no configuration of it.
var cacheEnv = oslo.MustEnvName("cache", "enabled")

// bootstrapResources are sufficient for one command. They are independent of the API's resources, whose change must not run the Job again.
var bootstrapResources = workload.Resources("100m", "256Mi", "1Gi")

// bootstrap creates the first user, project and roles, and Keystone's own catalog entry. It runs again for a new image, which may add
// roles, but not after a change of an option: it reads no configuration file, only what it needs. Running it again is harmless, but sets
// the administrator's password to the one in its Secret. https://docs.openstack.org/keystone/latest/admin/bootstrap.html
//
// It sets none of the administrator's options that exempt a user from [security_compliance] (keystone/cmd/bootstrap.py of 27.1 to 30.0).
// Two rules apply when a password is set, and have no effect on one that is set here, without a configuration: it neither expires nor must
// be changed. The two others apply at login: lockout_failure_attempts, by which anyone can lock the administrator out, and
// disable_user_account_days_inactive. The options can be set with the API only.
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
	m.withoutKeys(&pod)
	pod.Containers[0].Env = append(pod.Containers[0].Env,
		corev1.EnvVar{Name: cacheEnv, Value: "false"},
		workload.SecretEnv("OS_BOOTSTRAP_PASSWORD", m.adminSecret(), secret.PasswordKey))
	return service.Once(bootstrapName, w, pod, attempts)
}

// unmounted are the volumes that the commands of bootstrap and of trusts do not read: they use neither tokens nor stored credentials. The
// schema Jobs keep them, because the upgrade check loads all back ends.
var unmounted = []string{fernetKeys, credentialKeys, domainsResource}

// withoutKeys removes these volumes from the pod of a command. Keystone starts only if the folders of token keys exist and are not empty
// (keystone/{token,receipt}/providers/fernet/core.py of 27.0 to 30.0), and reads no file of them until it issues or validates a token.
func (m *model) withoutKeys(pod *workload.Pod) {
	service.Unmount(pod, unmounted...)
	for _, group := range []string{"fernet_tokens", "fernet_receipts"} {
		pod.Containers[0].Env = append(pod.Containers[0].Env,
			corev1.EnvVar{Name: oslo.MustEnvName(group, "key_repository"), Value: m.DatabaseCAFolder()})
	}
}

// trustFlush removes expired trusts.
func trustFlush(m *model) ([]compose.Stage, error) {
	w := m.Workload.With(m.Sub(trustFlushName), trustFlushName)
	pod := m.Pod(m.Image, m.Files, []string{"keystone-manage", "trust_flush"})
	m.withoutKeys(&pod)
	return service.SingleObjectComponent(trustFlushName, w.CronJob(pod, string(m.spec.TrustFlush.Schedule), m.spec.TrustFlush.Suspend)), nil
}
