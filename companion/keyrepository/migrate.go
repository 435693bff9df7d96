package keyrepository

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// migrationJob runs a command in a copy of the first container of a workload's pods, with its image, environment and volumes,
// which are required for access to the database and the keys. Its name is derived from the keys, so that there is one Job per
// set of keys, even with several leaders. It is deleted after a day: the record stores that it succeeded.
func migrationJob(w *observation, from consumer.Workload) *batchv1.Job {
	const attempts, deadlineSeconds, daySeconds = 6, 30 * 60, 24 * 60 * 60
	spec := *from.Template().Spec.DeepCopy()
	main := spec.Containers[0]
	main.Command, main.Args = nil, nil
	for _, argument := range w.repo.Spec.Migrate.Command {
		main.Command = append(main.Command, string(argument))
	}
	main.Ports, main.LivenessProbe, main.ReadinessProbe, main.StartupProbe, main.Lifecycle = nil, nil, nil, nil, nil
	spec.Containers = []corev1.Container{main}
	spec.InitContainers = nil
	// Other containers have Secrets that the companion is not permitted to get, and a Job with them is denied.
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool {
		return !slices.ContainsFunc(main.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
	})
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.TopologySpreadConstraints = nil
	// Without the workload's labels, the pod belongs to no Service and to no disruption budget.
	labels := map[string]string{
		"app.kubernetes.io/name": "key-migration", "app.kubernetes.io/component": "migration",
		"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": managedBy,
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.jobName(), Namespace: w.repo.Namespace, Labels: labels,
			OwnerReferences: w.owners(),
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:            ptr.To[int32](attempts),
			ActiveDeadlineSeconds:   ptr.To[int64](deadlineSeconds),
			TTLSecondsAfterFinished: ptr.To[int32](daySeconds),
			Template:                corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
}

func (obs *observation) jobName() string {
	return rights.DerivedName(obs.repo.Name, "migrate-"+names.Hash(rights.SuffixDigits, obs.record.Hash))
}
