package workload

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Pod contains the settings of a workload's pods.
type Pod struct {
	// UserID that the processes run as; files of mounted Secrets belong to its group.
	UserID int64
	// Containers, the main one first, and init containers.
	Containers, InitContainers []corev1.Container
	// Volumes in addition to the scratch directory.
	Volumes []corev1.Volume
	// Scratch is the size of the scratch directory. Nil: DefaultScratch.
	Scratch *resource.Quantity
	// ServiceAccount of the pods. Empty: the namespace's default, which has no rights.
	ServiceAccount string
	// APIAccess mounts the service account's token.
	APIAccess bool
	// GraceSeconds is the termination grace period. Nil: Kubernetes' default of 30.
	GraceSeconds *int64
	// Annotations of the pods. A change of them rolls the pods.
	Annotations map[string]string
	// RestartPolicy of the pods. Empty: Always.
	RestartPolicy corev1.RestartPolicy
}

const scratch = "tmp"

// DefaultScratch is the size limit of the scratch directory for sockets, locks and temporary files: a multiple of the usual size.
// The kubelet evicts a pod that exceeds it, which would otherwise fill the disk of its node.
var DefaultScratch = resource.MustParse("1Gi")

// Template builds the pod template of a workload: restricted, with a read-only root and a scratch directory at /tmp.
func (w Workload) Template(p Pod) corev1.PodTemplateSpec {
	containers := make([]corev1.Container, len(p.Containers))
	for i, c := range p.Containers {
		containers[i] = restricted(c)
	}
	if r := Requirements(w.Resources); len(containers) > 0 && (r.Requests != nil || r.Limits != nil) {
		containers[0].Resources = r
	}
	tmp := Scratch(scratch, *cmp.Or(p.Scratch, &DefaultScratch))
	var inits []corev1.Container
	for _, c := range p.InitContainers {
		inits = append(inits, restricted(c))
	}
	out := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: w.Labels(), Annotations: maps.Clone(p.Annotations)},
		Spec: corev1.PodSpec{
			Containers:                    containers,
			InitContainers:                inits,
			Volumes:                       append([]corev1.Volume{tmp}, p.Volumes...),
			ServiceAccountName:            p.ServiceAccount,
			AutomountServiceAccountToken:  new(p.APIAccess),
			EnableServiceLinks:            new(false),
			ImagePullSecrets:              pullSecrets(w.PullSecrets),
			NodeSelector:                  nodeSelector(w.Placement),
			Tolerations:                   tolerations(w.Placement),
			PriorityClassName:             w.Priority,
			TerminationGracePeriodSeconds: p.GraceSeconds,
			RestartPolicy:                 p.RestartPolicy,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				RunAsUser:      new(p.UserID),
				RunAsGroup:     new(p.UserID),
				FSGroup:        new(p.UserID),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			TopologySpreadConstraints: w.spread(p),
		},
	}
	if len(containers) > 0 {
		RequestStorage(&out.Spec)
	}
	return out
}

// Scratch returns a directory on the disk of a pod's node. A pod that exceeds the limit is evicted.
func Scratch(name string, limit resource.Quantity) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}
}

// MemoryScratch returns a directory in memory, which counts as memory of the containers that write to it.
func MemoryScratch(name string, limit resource.Quantity) corev1.Volume {
	v := Scratch(name, limit)
	v.EmptyDir.Medium = corev1.StorageMediumMemory
	return v
}

// storageShare is the fraction (1/10) of its scratch directories that a pod requests. They are rarely full: with a request for all of it,
// nodes would accept few pods. When the disk of a node is full, pods within their request are evicted last.
const storageShare = 10

// RequestStorage requests ephemeral storage for the scratch directories of a pod on its first container, unless that already has a request
// or a limit.
func RequestStorage(pod *corev1.PodSpec) {
	const name, mib = corev1.ResourceEphemeralStorage, 1 << 20
	r := &pod.Containers[0].Resources
	_, requested := r.Requests[name]
	if _, limited := r.Limits[name]; requested || limited { // A limit is the request, too.
		return
	}
	total := int64(0)
	for _, v := range pod.Volumes {
		if e := v.EmptyDir; e != nil && e.Medium == corev1.StorageMediumDefault && e.SizeLimit != nil {
			total += e.SizeLimit.Value()
		}
	}
	if total /= storageShare * mib; total > 0 {
		requests := corev1.ResourceList{name: *resource.NewQuantity(total*mib, resource.BinarySI)}
		maps.Copy(requests, r.Requests)
		r.Requests = requests
	}
}

// spread prefers different nodes and zones for the pods of a workload. Jobs run one pod and do not need it.
func (w Workload) spread(p Pod) []corev1.TopologySpreadConstraint {
	if p.RestartPolicy != "" && p.RestartPolicy != corev1.RestartPolicyAlways {
		return nil
	}
	var out []corev1.TopologySpreadConstraint
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		out = append(out, corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       key,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: w.Selector()},
		})
	}
	return out
}

func restricted(c corev1.Container) corev1.Container {
	c.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	c.VolumeMounts = append([]corev1.VolumeMount{{Name: scratch, MountPath: "/tmp"}}, c.VolumeMounts...)
	return c
}

func pullSecrets(names []common.ObjectName) []corev1.LocalObjectReference {
	var out []corev1.LocalObjectReference
	for _, n := range names {
		out = append(out, corev1.LocalObjectReference{Name: string(n)})
	}
	return out
}

func nodeSelector(p common.Placement) map[string]string {
	if len(p.NodeSelector) == 0 {
		return nil
	}
	out := map[string]string{}
	for k, v := range p.NodeSelector {
		out[k] = string(v)
	}
	return out
}

func tolerations(p common.Placement) []corev1.Toleration {
	var out []corev1.Toleration
	for _, t := range p.Tolerations {
		out = append(out, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
			Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds,
		})
	}
	return out
}

// ConfigVolume returns a volume of a ConfigMap.
func ConfigVolume(name, configMap string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap},
	}}}
}

// SecretVolume returns a volume of a Secret that the pod's group may read, with all or some of its keys.
func SecretVolume(name, secretName string, keys ...string) corev1.Volume {
	var items []corev1.KeyToPath
	for _, k := range keys {
		items = append(items, corev1.KeyToPath{Key: k, Path: k})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: secretName, Items: items, DefaultMode: ptr.To[int32](0o440),
	}}}
}

// Mount returns a read-only mount of a whole volume.
func Mount(volume, path string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: path, ReadOnly: true}
}

// MountFile returns a read-only mount of one file of a volume. It is not updated in a running pod.
func MountFile(volume, path, file string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: path, SubPath: file, ReadOnly: true}
}

// Literal escapes text for the value of an environment variable or for an argument, in which Kubernetes replaces $(NAME) by the value of a
// variable, which may be a secret, and $$ by $ (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/).
func Literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// SecretEnv returns an environment variable with a key of a Secret.
func SecretEnv(name, secretName, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secretName}, Key: key,
	}}}
}

// NameEnv and AddressEnv are environment variables with the name and the IP address of the pod.
const (
	NameEnv    = "POD_NAME"
	AddressEnv = "POD_IP"
)

// Self returns environment variables with the name and address of the pod. Later variables may refer to them, as $(POD_NAME).
func Self() []corev1.EnvVar {
	return []corev1.EnvVar{FieldEnv(NameEnv, "metadata.name"), FieldEnv(AddressEnv, "status.podIP")}
}

// FieldEnv returns an environment variable with a field of the pod, such as spec.nodeName.
func FieldEnv(name, path string) corev1.EnvVar {
	ref := &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: ref}}
}

// SelfURL returns the address of the pod of a StatefulSet itself, as the value of an environment variable after Self. Its certificate has
// the name *.<headless Service>.<namespace>.svc.
func (w Workload) SelfURL(port int32) string {
	return fmt.Sprintf("https://$(%s).%s.%s.svc:%d", NameEnv, w.headless(), w.Namespace, port)
}
