package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestAllow tests that a pod gets a privilege with a reason, and nothing else changes.
func TestAllow(t *testing.T) {
	const reason = "it makes network devices"
	root := new(int64(0))
	run := HostPath{Name: "run", Path: "/run/openvswitch", Type: corev1.HostPathDirectoryOrCreate}
	volume := corev1.Volume{Name: "run", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: "/run/openvswitch", Type: new(corev1.HostPathDirectoryOrCreate),
	}}}
	for name, tc := range map[string]struct {
		why        string
		privileges []Privilege
		want       func(*corev1.PodTemplateSpec)
		err        string
	}{
		"none": {why: "Without privileges, nothing changes.", want: func(*corev1.PodTemplateSpec) {}},
		"capabilities": {
			why:        "Root without everything that root may do.",
			privileges: []Privilege{{Container: "main", Reason: reason, RunAsUser: root, Capabilities: []corev1.Capability{"NET_ADMIN", "SYS_NICE"}}},
			want: func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{PrivilegeAnnotation: "main: " + reason}
				s := p.Spec.Containers[0].SecurityContext
				s.RunAsUser, s.RunAsGroup, s.RunAsNonRoot, s.Capabilities.Add = root, root, new(false), []corev1.Capability{"NET_ADMIN", "SYS_NICE"}
			},
		},
		"another user": {
			why:        "A user that is not root stays one.",
			privileges: []Privilege{{Container: "proxy", Reason: reason, RunAsUser: new(int64(7))}},
			want: func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{PrivilegeAnnotation: "proxy: " + reason}
				s := p.Spec.Containers[1].SecurityContext
				s.RunAsUser, s.RunAsNonRoot = new(int64(7)), new(true)
			},
		},
		"privileged": {
			why:        "The API server refuses one without escalation.",
			privileges: []Privilege{{Container: "init", Reason: reason, Privileged: true}},
			want: func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{PrivilegeAnnotation: "init: " + reason}
				s := p.Spec.InitContainers[0].SecurityContext
				s.Privileged, s.AllowPrivilegeEscalation = new(true), new(true)
			},
		},
		"mounts": {
			why:        "A capability alone is refused by AppArmor.",
			privileges: []Privilege{{Container: "main", Reason: reason, RunAsUser: root, Capabilities: []corev1.Capability{"SYS_ADMIN"}, Mounts: true}},
			want: func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{PrivilegeAnnotation: "main: " + reason}
				s := p.Spec.Containers[0].SecurityContext
				s.RunAsUser, s.RunAsGroup, s.RunAsNonRoot, s.Capabilities.Add = root, root, new(false), []corev1.Capability{"SYS_ADMIN"}
				s.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
			},
		},
		"host": {
			why: "Two containers share a folder of the node, whose names of the cluster still work.",
			privileges: []Privilege{
				{Container: "main", Reason: reason, HostNetwork: true, HostPID: true, HostPaths: []HostPath{run}},
				{Container: "proxy", Reason: "it reads main's socket", HostPaths: []HostPath{{
					Name: "run", Path: run.Path, Type: run.Type, MountPath: "/run/ovs", ReadOnly: true, Propagation: corev1.MountPropagationHostToContainer,
				}}},
			},
			want: func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{PrivilegeAnnotation: "main: " + reason + "\nproxy: it reads main's socket"}
				p.Spec.HostNetwork, p.Spec.HostPID, p.Spec.DNSPolicy = true, true, corev1.DNSClusterFirstWithHostNet
				p.Spec.Volumes = append(p.Spec.Volumes, volume)
				c := p.Spec.Containers
				c[0].VolumeMounts = append(c[0].VolumeMounts, corev1.VolumeMount{Name: "run", MountPath: "/run/openvswitch"})
				c[1].VolumeMounts = append(c[1].VolumeMounts, corev1.VolumeMount{
					Name: "run", MountPath: "/run/ovs", ReadOnly: true, MountPropagation: new(corev1.MountPropagationHostToContainer),
				})
			},
		},
		"no reason": {
			why:        "Without a reason, the need cannot be reviewed.",
			privileges: []Privilege{{Container: "main", Reason: " ", Privileged: true}},
			err:        `cannot give container "main" a privilege: it requires a reason`,
		},
		"two lines": {
			why:        "Each line of the annotation is about one container.",
			privileges: []Privilege{{Container: "main", Reason: "a\nproxy: b", Privileged: true}},
			err:        `cannot give container "main" a privilege: its reason must be one line`,
		},
		"no container": {
			why:        "A name is misspelt.",
			privileges: []Privilege{{Container: "mian", Reason: reason, Privileged: true}},
			err:        `cannot give container "mian" a privilege: the pod has no such container`,
		},
		"capabilities without root": {
			why:        "Kubernetes takes them and nothing happens.",
			privileges: []Privilege{{Container: "main", Reason: reason, Capabilities: []corev1.Capability{"NET_ADMIN"}}},
			err:        `cannot give container "main" a privilege: capabilities have no effect for user 42, only for root`,
		},
		"relative path": {
			why:        "Kubernetes refuses it.",
			privileges: []Privilege{{Container: "main", Reason: reason, HostPaths: []HostPath{{Name: "run", Path: "run"}}}},
			err:        `cannot give container "main" a privilege: host path "run" ("run") needs a name and an absolute path`,
		},
		"propagation": {
			why:        "Kubernetes refuses it.",
			privileges: []Privilege{{Container: "main", Reason: reason, HostPaths: []HostPath{{Name: "run", Path: "/run", Propagation: "Bidirectional"}}}},
			err:        `cannot give container "main" a privilege: mounts below host path "run" reach the node only from a privileged container`,
		},
		"volume of another": {
			why:        "It would be mounted in its place.",
			privileges: []Privilege{{Container: "main", Reason: reason, HostPaths: []HostPath{{Name: "tmp", Path: "/run"}}}},
			err:        `cannot give container "main" a privilege: volume "tmp" is another one`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := api.Template(pod()), api.Template(pod())
			err := Allow(&got, tc.privileges...)
			if text(err) != tc.err {
				t.Errorf("%s\nAllow(...): %v, want %s", tc.why, err, tc.err)
			}
			if tc.want != nil {
				tc.want(&want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.why, diff)
			}
		})
	}
}
