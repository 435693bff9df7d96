//go:build linux

package operators

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A server is the workload of an operator's object: only the first member, which serves for all, unless members are
// set.
type server struct {
	namespace, name string
	// members; 0: a single one.
	members int32
	// service is the headless Service of the members.
	service string
	labels  map[string]string
	// user runs it; the group of its files has the same number.
	user int64
	// container, whose first port is its readiness probe. Its volumes are data, which outlives the pod, /tmp, and
	// Secrets by path.
	container corev1.Container
	// prepare is the command of an init container with the same image and volumes. Empty: none.
	prepare []string
	data    string
	secrets map[string]string
	// files are files of Secrets, by path, whose last element is the key.
	files map[string]string
	// capabilities are additional ones.
	capabilities []corev1.Capability
	dns          *corev1.PodDNSConfig
	// annotations of the pods: a change of one replaces them.
	annotations map[string]string
}

// dataVolume names a server's volume: the volume of the first member is dataClaim.
const dataVolume = "storage"

// dataClaim returns the claim of the only member's data.
func dataClaim(server string) string { return dataVolume + "-" + server + "-0" }

// set returns the StatefulSet of a server.
func (s server) set() *appsv1.StatefulSet {
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(s.container.Ports[0].Name)}},
		PeriodSeconds: 1, FailureThreshold: 120,
	}
	c := s.container
	c.StartupProbe, c.ReadinessProbe = probe, probe
	c.SecurityContext = &corev1.SecurityContext{
		ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Add: s.capabilities},
	}
	volumes := []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: dataVolume, MountPath: s.data}, {Name: "tmp", MountPath: "/tmp"}}
	for _, at := range slices.Sorted(maps.Keys(s.secrets)) {
		name := path.Base(at)
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: s.secrets[at], DefaultMode: ptr.To[int32](0o440)},
		}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at})
	}
	for i, at := range slices.Sorted(maps.Keys(s.files)) {
		name := fmt.Sprintf("file-%d", i)
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: s.files[at], DefaultMode: ptr.To[int32](0o440)},
		}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at, SubPath: path.Base(at)})
	}
	var first []corev1.Container
	if len(s.prepare) > 0 {
		first = []corev1.Container{{
			Name: "prepare", Image: c.Image, Command: s.prepare, VolumeMounts: c.VolumeMounts, SecurityContext: c.SecurityContext,
		}}
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: s.namespace},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: s.service, Replicas: new(max(s.members, 1)), PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: s.labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: s.labels, Annotations: s.annotations},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{RunAsUser: &s.user, RunAsGroup: &s.user, FSGroup: &s.user},
					InitContainers:  first, Containers: []corev1.Container{c}, Volumes: volumes, DNSConfig: s.dns,
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: dataVolume}}},
		},
	}
}

// at returns a Service that leads to the server.
func (s server) at(name string) *corev1.Service {
	out := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace}, Spec: corev1.ServiceSpec{Selector: s.labels},
	}
	for _, p := range s.container.Ports {
		out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{Name: p.Name, Port: p.ContainerPort, TargetPort: intstr.FromString(p.Name)})
	}
	return out
}

// run runs a server, reachable by a Service of each name, and waits until it is ready.
func (o *Operators) run(ctx context.Context, s server, services ...string) error {
	errs := []error{o.Cluster.Apply(ctx, s.set())}
	for _, name := range services {
		errs = append(errs, o.Cluster.Apply(ctx, s.at(name)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return o.WaitForStatefulSet(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name})
}
