// Package hypervisor is a nova-compute whose servers are not there, and the screens that it finds around it. It is
// configured as a real one is: it knows the queue of its cell, and no database.
package hypervisor

import (
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed hypervisor.py
var program string

// user runs nova-compute.
const user = 42424

// Hypervisor is a simulated hypervisor.
type Hypervisor struct {
	// Host is its host name in Nova, and Cell the name of its cell.
	Host, Cell string
	// ControlPlane is the namespace of its control plane.
	ControlPlane string
	// Console is the address of its cell's console proxy: https://host:port. Screen is where its screens are: host:port.
	Console, Screen string
	// CredentialID and CredentialSecret are its application credential, QueueUser and QueuePassword the login of its
	// cell in the queue.
	CredentialID, CredentialSecret, QueueUser, QueuePassword string
	// Authorities are the CA certificates of Keystone and all other servers that it uses, as PEM.
	Authorities string
}

// common are the options that are the same for all hypervisors, and have to match the options of its cell.
const common = `[vnc]
enabled = true
server_listen = 127.0.0.1
novncproxy_base_url = %[1]s/vnc_lite.html
[oslo_messaging_rabbit]
rabbit_quorum_queue = true
rabbit_transient_quorum_queue = true
rabbit_stream_fanout = true
rabbit_qos_prefetch_count = 10
use_queue_manager = true
processname = nova-compute
[oslo_concurrency]
lock_path = /var/lib/nova
[upgrade_levels]
compute = auto
`

// files returns its configuration files, below /etc/nova.
func (h Hypervisor) files() map[string]string {
	const ca = "/etc/nova/authorities.crt"
	query := url.Values{"ssl": {"true"}, "ssl_ca_file": {ca}}
	queue := url.URL{
		Scheme: "rabbit", User: url.UserPassword(h.QueueUser, h.QueuePassword), Host: "rabbitmq." + h.ControlPlane + ".svc:5671",
		Path: "/nova_" + h.Cell, RawQuery: query.Encode(),
	}
	var conf strings.Builder
	fmt.Fprintf(&conf, "[DEFAULT]\nhost = %s\ncompute_driver = fake.PredictableNodeUUIDDriver\nstate_path = /var/lib/nova\n"+
		"instances_path = /var/lib/nova\nuse_stderr = true\ntransport_url = %s\n", h.Host, strings.ReplaceAll(queue.String(), "$", "$$"))
	fmt.Fprintf(&conf, common, h.Console)
	for _, group := range []string{"service_user", "placement", "glance", "neutron", "cinder"} {
		fmt.Fprintf(&conf, "[%s]\nauth_type = v3applicationcredential\nauth_url = https://keystone.%s.svc:5000/v3\ncafile = %s\n"+
			"valid_interfaces = internal\napplication_credential_id = %s\napplication_credential_secret = %s\n",
			group, h.ControlPlane, ca, h.CredentialID, strings.ReplaceAll(h.CredentialSecret, "$", "$$"))
		if group == "service_user" {
			conf.WriteString("send_service_user_token = true\n")
		}
	}
	return map[string]string{"nova.conf": conf.String(), "hypervisor.py": program, "authorities.crt": h.Authorities}
}

// Objects returns the objects that run it in a namespace: a Secret with its files, and a StatefulSet with one pod.
func (h Hypervisor) Objects(namespace, image string) []client.Object {
	meta := metav1.ObjectMeta{Name: h.Host, Namespace: namespace}
	labels := map[string]string{"app": h.Host}
	files := h.files()
	data := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data[name] = []byte(files[name])
	}
	return []client.Object{
		&corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta, Data: data},
		&appsv1.StatefulSet{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: meta,
			Spec: appsv1.StatefulSetSpec{
				ServiceName: h.Host, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: h.pod(image)},
			},
		},
	}
}

func (h Hypervisor) pod(image string) corev1.PodSpec {
	return corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsUser: new(int64(user)), RunAsGroup: new(int64(user)), FSGroup: new(int64(user)), RunAsNonRoot: new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "nova-compute", Image: image, Env: []corev1.EnvVar{{Name: "SCREEN", Value: h.Screen}},
			Command: []string{"/opt/openstack/bin/python", "/etc/nova/hypervisor.py", "--config-file", "/etc/nova/nova.conf"},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "etc", MountPath: "/etc/nova"}, {Name: "state", MountPath: "/var/lib/nova"}, {Name: "tmp", MountPath: "/tmp"},
			},
		}},
		Volumes: []corev1.Volume{
			{Name: "etc", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: h.Host}}},
			{Name: "state", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
	}
}
