package encode_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

var update = flag.Bool("update", false, "write the golden files again")

// TestEveryKindMatchesGolden encodes one object of every kind as a builder creates it, decodes it again, and compares the encoding
// with a golden file for review.
func TestEveryKindMatchesGolden(t *testing.T) {
	built := map[string]bool{}
	for _, o := range builders() {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		built[kind] = true
		t.Run(kind, func(t *testing.T) {
			checkObject(t, o)

			s, err := encode.Object(o)
			if err != nil {
				t.Fatalf("Object(...): %v", err)
			}
			got, err := yaml.Marshal(s.Map())
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", kind+".yaml")
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("Object(...): -%s, +got:\n%s", golden, diff)
			}
		})
	}
	for kind := range kinds {
		if !built[kind] && kind != "DaemonSet" {
			t.Errorf("no builder's object of kind %s is tested", kind)
		}
	}
}

func BenchmarkObject(b *testing.B) {
	for _, o := range builders() {
		b.Run(o.GetObjectKind().GroupVersionKind().Kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encode.Object(o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

func objectMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "keystone-api", Namespace: "team-a-cloud-1a2b3",
		Labels:      map[string]string{"app.kubernetes.io/name": "keystone", "app.kubernetes.io/component": "api"},
		Annotations: map[string]string{"example.org/empty": ""},
	}
}

// podSpec contains typical problems of conversions: an empty volume, probes without thresholds, ports without host ports.
func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName:            "keystone",
		AutomountServiceAccountToken:  new(false),
		TerminationGracePeriodSeconds: new(int64(0)),
		SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(42425)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Volumes: []corev1.Volume{
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "ram", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("64Mi"))}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "keystone-1f2e3d"}, DefaultMode: new(int32(0o440))}}},
			{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keystone-fernet", Optional: new(false)}}},
			{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}}}}}}},
		},
		Containers: []corev1.Container{{
			Name: "api", Image: "registry.example.org/keystone@sha256:0123", Command: []string{"httpd"}, Args: []string{"-D", "FOREGROUND", ""},
			Env: []corev1.EnvVar{
				{Name: "EMPTY"},
				{Name: "DB_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "keystone-db"}, Key: "password"}}},
				{Name: "OS_DATABASE__CONNECTION", Value: "mysql+pymysql://keystone:$(DB_PASSWORD)@db/keystone"},
				{Name: "CPUS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
			},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 5000}, {Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi"), "hugepages-2Mi": resource.MustParse("0")},
			},
			ReadinessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/v3", Port: intstr.FromString("http")}}},
			LivenessProbe:   &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(5000)}}, PeriodSeconds: 10},
			Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "5"}}}},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			VolumeMounts:    []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}, {Name: "config", MountPath: "/etc/keystone", ReadOnly: true}},
		}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector()}},
		Tolerations:               []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "keystone"}}
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector().MatchLabels}, Spec: podSpec()}
}

// builders contains one object of each kind as builders create them.
func builders() []runtime.Object {
	claim := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(""),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
	}
	job := batchv1.JobSpec{BackoffLimit: new(int32(0)), TTLSecondsAfterFinished: new(int32(600)), Template: podTemplate()}
	return []runtime.Object{
		&appsv1.Deployment{
			TypeMeta: typeMeta("apps/v1", "Deployment"), ObjectMeta: objectMeta(),
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(0)), Selector: selector(), Template: podTemplate(), RevisionHistoryLimit: new(int32(2)),
				Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromString("25%"))}},
			},
		},
		&appsv1.StatefulSet{
			TypeMeta: typeMeta("apps/v1", "StatefulSet"), ObjectMeta: objectMeta(),
			Spec: appsv1.StatefulSetSpec{
				Replicas: new(int32(3)), ServiceName: "ovn-nb", Selector: selector(), Template: podTemplate(), PodManagementPolicy: appsv1.ParallelPodManagement,
				UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(0))}},
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claim}},
			},
		},
		&batchv1.Job{TypeMeta: typeMeta("batch/v1", "Job"), ObjectMeta: objectMeta(), Spec: job},
		&batchv1.CronJob{
			TypeMeta: typeMeta("batch/v1", "CronJob"), ObjectMeta: objectMeta(),
			Spec: batchv1.CronJobSpec{Schedule: "0 3 * * *", Suspend: new(false), ConcurrencyPolicy: batchv1.ForbidConcurrent, JobTemplate: batchv1.JobTemplateSpec{Spec: job}},
		},
		&corev1.Service{
			TypeMeta: typeMeta("v1", "Service"), ObjectMeta: objectMeta(),
			Spec: corev1.ServiceSpec{
				ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: selector().MatchLabels,
				Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}, {Name: "raft", Port: 6643, TargetPort: intstr.FromInt32(6643)}},
			},
		},
		&corev1.ConfigMap{
			TypeMeta: typeMeta("v1", "ConfigMap"), ObjectMeta: objectMeta(), Immutable: new(true),
			Data:       map[string]string{"keystone.conf": "[DEFAULT]\ndebug = false\n\n[token]\nprovider = fernet\n", "empty": ""},
			BinaryData: map[string][]byte{"logo.png": {0x89, 0x50}},
		},
		&corev1.Secret{TypeMeta: typeMeta("v1", "Secret"), ObjectMeta: objectMeta(), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}},
		&corev1.ServiceAccount{TypeMeta: typeMeta("v1", "ServiceAccount"), ObjectMeta: objectMeta(), AutomountServiceAccountToken: new(false)},
		&corev1.Namespace{TypeMeta: typeMeta("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: "team-a-cloud-1a2b3"}},
		&corev1.PersistentVolumeClaim{TypeMeta: typeMeta("v1", "PersistentVolumeClaim"), ObjectMeta: objectMeta(), Spec: claim},
		&rbacv1.Role{
			TypeMeta: typeMeta("rbac.authorization.k8s.io/v1", "Role"), ObjectMeta: objectMeta(),
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"keystone-fernet"}, Verbs: []string{"get", "update"}}},
		},
		&rbacv1.RoleBinding{
			TypeMeta: typeMeta("rbac.authorization.k8s.io/v1", "RoleBinding"), ObjectMeta: objectMeta(),
			RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "keystone"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "keystone"}},
		},
		&policyv1.PodDisruptionBudget{
			TypeMeta: typeMeta("policy/v1", "PodDisruptionBudget"), ObjectMeta: objectMeta(),
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(0)), Selector: selector()},
		},
		&networkingv1.NetworkPolicy{
			TypeMeta: typeMeta("networking.k8s.io/v1", "NetworkPolicy"), ObjectMeta: objectMeta(),
			Spec: networkingv1.NetworkPolicySpec{
				// An empty selector matches every pod, and an empty list of rules denies all traffic: both must be kept.
				PodSelector: *selector(), PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"},
				Ingress: []networkingv1.NetworkPolicyIngressRule{{
					From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}, {IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}},
					Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(5000)), Protocol: new(corev1.ProtocolTCP)}},
				}},
				Egress: []networkingv1.NetworkPolicyEgressRule{},
			},
		},
		&networkingv1.Ingress{
			TypeMeta: typeMeta("networking.k8s.io/v1", "Ingress"), ObjectMeta: objectMeta(),
			Spec: networkingv1.IngressSpec{
				IngressClassName: new("nginx"), TLS: []networkingv1.IngressTLS{{Hosts: []string{"identity.example.org"}, SecretName: "tls"}},
				Rules: []networkingv1.IngressRule{{Host: "identity.example.org", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "keystone", Port: networkingv1.ServiceBackendPort{Number: 80}}}}},
				}}}},
			},
		},
		&autoscalingv2.HorizontalPodAutoscaler{
			TypeMeta: typeMeta("autoscaling/v2", "HorizontalPodAutoscaler"), ObjectMeta: metav1.ObjectMeta{Name: "keystone", Annotations: map[string]string{"since": time.Unix(0, 0).UTC().Format(time.RFC3339)}},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "keystone-api"}, MinReplicas: new(int32(2)), MaxReplicas: 10,
				Metrics:  []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))}}}},
				Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0))}},
			},
		},
	}
}
