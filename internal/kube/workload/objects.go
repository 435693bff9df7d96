package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Deployment builds the workload's Deployment. A rollout starts a new pod before it stops an old one, so that no request is lost.
func (w Workload) Deployment(p Pod) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: w.objectMeta(),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(w.Replicas),
			Selector: &metav1.LabelSelector{MatchLabels: w.Selector()},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
				},
			},
			RevisionHistoryLimit: ptr.To[int32](3),
			Template:             w.Template(p),
		},
	}
}

// StatefulSet builds the workload's StatefulSet, whose pods have stable names below its headless Service, and a separate volume for each
// claim.
func (w Workload) StatefulSet(p Pod, claims ...Claim) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: w.objectMeta(),
		Spec: appsv1.StatefulSetSpec{
			Replicas:                             new(w.Replicas),
			Selector:                             &metav1.LabelSelector{MatchLabels: w.Selector()},
			ServiceName:                          w.headless(),
			PodManagementPolicy:                  appsv1.ParallelPodManagement,
			RevisionHistoryLimit:                 ptr.To[int32](3),
			Template:                             w.Template(p),
			PersistentVolumeClaimRetentionPolicy: pvcRetentionPolicy(claims),
		},
	}
	for _, c := range claims {
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, c.template())
	}
	return set
}

// DaemonSet builds the workload's DaemonSet: a pod on every node that its placement selects. With OnDelete another component decides when
// to replace the pod of a node, if that interrupts workloads on the node.
func (w Workload) DaemonSet(p Pod, update appsv1.DaemonSetUpdateStrategyType) *appsv1.DaemonSet {
	template := w.Template(p)
	// A DaemonSet has one pod per node, so spreading has no effect.
	template.Spec.TopologySpreadConstraints = nil
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: w.objectMeta(),
		Spec: appsv1.DaemonSetSpec{
			Selector:             &metav1.LabelSelector{MatchLabels: w.Selector()},
			UpdateStrategy:       appsv1.DaemonSetUpdateStrategy{Type: update},
			RevisionHistoryLimit: ptr.To[int32](3),
			Template:             template,
		},
	}
}

// Job builds a Job that runs one pod to completion. It has no TTL, because it is the record of the run.
func (w Workload) Job(p Pod, backoffLimit int32) *batchv1.Job {
	p.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: w.objectMeta(),
		Spec:       batchv1.JobSpec{BackoffLimit: new(backoffLimit), Template: w.Template(p)},
	}
}

// CronJob builds a CronJob with at most one active Job.
func (w Workload) CronJob(p Pod, schedule string, suspend bool) *batchv1.CronJob {
	p.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"},
		ObjectMeta: w.objectMeta(),
		Spec: batchv1.CronJobSpec{
			Schedule:                   schedule,
			Suspend:                    new(suspend),
			ConcurrencyPolicy:          batchv1.ForbidConcurrent,
			StartingDeadlineSeconds:    ptr.To[int64](300),
			SuccessfulJobsHistoryLimit: ptr.To[int32](1),
			FailedJobsHistoryLimit:     ptr.To[int32](3),
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: w.Labels()},
				Spec: batchv1.JobSpec{
					BackoffLimit:          ptr.To[int32](2),
					ActiveDeadlineSeconds: ptr.To[int64](1800),
					Template:              w.Template(p),
				},
			},
		},
	}
}

// Service builds the workload's Service.
func (w Workload) Service(ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: w.objectMeta(),
		Spec:       corev1.ServiceSpec{Selector: w.Selector(), Ports: ports},
	}
}

// HeadlessService builds a Service that gives each pod a name, ready or not: members of a cluster must find each other
// before they are ready.
func (w Workload) HeadlessService(ports ...corev1.ServicePort) *corev1.Service {
	s := w.Service(ports...)
	s.Name = w.headless()
	s.Spec.ClusterIP = corev1.ClusterIPNone
	s.Spec.PublishNotReadyAddresses = true
	return s
}

// Port returns a named TCP port of a Service for the container port of the same name.
func Port(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: port, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP}
}

// DisruptionBudget builds a PodDisruptionBudget of one pod at a time.
func (w Workload) DisruptionBudget() *policyv1.PodDisruptionBudget {
	return DisruptionBudget(w.Meta(), w.Selector())
}

// DisruptionBudget builds a PodDisruptionBudget of one pod at a time for pods with the given labels.
func DisruptionBudget(meta object.Meta, pods map[string]string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: pods},
		},
	}
}

// ServiceAccount builds the workload's service account. Its token is mounted only in pods with APIAccess.
func (w Workload) ServiceAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   w.objectMeta(),
		AutomountServiceAccountToken: new(false),
	}
}

// ConfigMap builds an immutable ConfigMap. Its name must change with its content.
func (w Workload) ConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	meta := w.Meta()
	meta.Name = name
	c := ConfigMap(meta, data)
	c.Immutable = new(true)
	return c
}

// ConfigMap builds a mutable ConfigMap.
func ConfigMap(meta object.Meta, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels},
		Data:       data,
	}
}
