package keystone

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/revision"
)

// schema brings the database to the wanted release.
// https://docs.openstack.org/keystone/latest/admin/upgrading.html
func schema(m *model) ([]compose.Stage, error) {
	w := m.workload.With(m.sub("schema"), "schema")
	pod := m.pod(m.schemaImage, m.schemaFiles, nil)
	pod.RestartPolicy = corev1.RestartPolicyNever
	manage := func(args ...openstackv1.Argument) openstackv1.Command {
		return openstackv1.Command{Command: append([]openstackv1.Argument{"keystone-manage"}, args...)}
	}
	revisions, err := revision.Known(service)
	if err != nil {
		return nil, err
	}
	return aggregate(schemaResource, c5c3.DatabaseSync(m.meta(m.name), openstackv1.DatabaseSyncSpec{
		Release:  string(m.wanted),
		Sync:     []openstackv1.Step{{Name: "db-sync", Command: manage("db_sync")}},
		Expand:   []openstackv1.Step{{Name: "expand", Command: manage("db_sync", "--expand")}},
		Contract: []openstackv1.Step{{Name: "contract", Command: manage("db_sync", "--contract")}},
		// 1 is a warning (https://docs.openstack.org/keystone/latest/cli/keystone-status.html).
		UpgradeCheck: &openstackv1.Step{
			Name:         "upgrade-check",
			Command:      openstackv1.Command{Command: []openstackv1.Argument{"keystone-status", "upgrade", "check"}},
			SuccessCodes: []int32{0, 1},
		},
		// A database that was retained or restored reports its revision; an empty one reports Python's None
		// (https://docs.openstack.org/keystone/latest/cli/index.html#keystone-manage).
		SchemaVersion: &openstackv1.SchemaVersion{
			Step:         openstackv1.Step{Name: "db-version", Command: manage("db_version")},
			Empty:        "None",
			Revisions:    revisions,
			AllowUnknown: m.spec.AllowUnknown,
		},
		Consumers: m.consumers(),
		Template:  w.Template(pod),
	})), nil
}

// bootstrapResources are enough for one command; they are not those of the API, whose change must not run it again.
var bootstrapResources = &common.Resources{
	Requests: &common.ResourceAmounts{CPU: new(resource.MustParse("100m")), Memory: new(resource.MustParse("256Mi"))},
	Limits:   &common.ResourceAmounts{Memory: new(resource.MustParse("1Gi"))},
}

// bootstrap makes the first user, project and roles, and Keystone's own catalog entry. The Job is named by the hash of its
// pod, so that it runs once for each input: again for a new image, which may bring new roles, and for another placement,
// because a pod that no node takes cannot be changed, but neither because of a reconciliation nor of an option. It therefore
// reads no configuration file, only what it needs. Running again is harmless, but sets the administrator's password to that of
// its Secret. https://docs.openstack.org/keystone/latest/admin/bootstrap.html
//
// It gives the administrator none of the options that exempt a user from [security_compliance] (keystone/cmd/bootstrap.py of 27.1 to
// 30.0). Two of its rules are looked at when a password is set, so that they do not meet one that is set here, without a configuration:
// neither does it expire, nor has it to be changed. The two others are looked at when someone logs in: lockout_failure_attempts, by which
// anybody locks the administrator out, and disable_user_account_days_inactive. No command sets the options; a call of the API does.
func bootstrap(m *model) ([]compose.Stage, error) {
	const attempts = 6
	w := m.workload.With(m.sub("bootstrap"), "bootstrap")
	w.Resources = bootstrapResources
	pod := m.barePod(m.schemaImage, []string{
		"keystone-manage", "bootstrap",
		"--bootstrap-username", m.spec.Bootstrap.AdminUser,
		"--bootstrap-project-name", keystonev1.AdminProject,
		"--bootstrap-role-name", keystonev1.AdminRole,
		"--bootstrap-service-name", service,
		"--bootstrap-region-id", m.spec.Region,
		"--bootstrap-public-url", string(m.spec.Endpoints.Public),
		"--bootstrap-internal-url", string(m.spec.Endpoints.Internal),
	})
	pod.Containers[0].Env = append(pod.Containers[0].Env,
		corev1.EnvVar{Name: cacheEnv, Value: "false"},
		workload.SecretEnv("OS_BOOTSTRAP_PASSWORD", m.adminSecret(), secret.PasswordKey))
	job := w.Job(pod, attempts)
	spec, err := json.Marshal(job.Spec)
	if err != nil {
		return nil, fmt.Errorf("cannot hash the Job: %w", err)
	}
	suffix := "-" + names.Hash(hashDigits, string(spec))
	job.Name += suffix
	return []compose.Stage{{{Name: "bootstrap" + suffix, Object: job, Revisions: "bootstrap"}}}, nil
}

// trustFlush removes trusts that have expired.
func trustFlush(m *model) ([]compose.Stage, error) {
	w := m.workload.With(m.sub("trust-flush"), "trust-flush")
	pod := m.pod(m.image, m.files, []string{"keystone-manage", "trust_flush"})
	return aggregate("trust-flush", w.CronJob(pod, string(m.spec.TrustFlush.Schedule), m.spec.TrustFlush.Suspend)), nil
}
