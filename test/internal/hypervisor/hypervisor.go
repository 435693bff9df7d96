// Package hypervisor simulates hypervisors: nova-compute with a driver of fake servers, and their screens. nova-compute is
// configured as a real one: with the queue of its cell, and without a database.
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
	// Host is its host name in Nova.
	Host string
	// ControlPlane is the namespace of its control plane.
	ControlPlane string
	// Consoles are the options of the consoles of its cell. Screen is the address of its screens, and Serial that of its
	// serial ports: host:port. Empty: it has none.
	Consoles, Screen, Serial string
	// CredentialID and CredentialSecret are its application credential.
	CredentialID, CredentialSecret string
	// Queue is the URL of its cell's queue, and Env are additional variables. Without a URL, Env has it.
	Queue string
	Env   []corev1.EnvVar
	// Authorities are the CA certificates of Keystone and all other servers that it uses, as PEM.
	Authorities string
	// Annotations are the annotations of its pod.
	Annotations map[string]string
}

// CAFile is the file with the authorities.
const CAFile = "/etc/nova/authorities.crt"

// common are the options that are the same for all hypervisors, and have to match the options of its cell.
const common = `[oslo_messaging_rabbit]
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

// VNC returns the options for VNC screens at the address of a cell's console proxy: https://host:port.
func VNC(proxy string) string {
	return "[vnc]\nenabled = true\nserver_listen = 127.0.0.1\nnovncproxy_base_url = " + proxy + "/vnc_lite.html\n"
}

// QueueURL returns the URL of a cell's queue in a control plane, with a login.
func QueueURL(controlPlane, cell, user, password string) string {
	query := url.Values{"ssl": {"true"}, "ssl_ca_file": {CAFile}}
	out := url.URL{
		Scheme: "rabbit", User: url.UserPassword(user, password), Host: "rabbitmq." + controlPlane + ".svc:5671",
		Path: "/nova_" + cell, RawQuery: query.Encode(),
	}
	return out.String()
}

// files returns its configuration files, below /etc/nova.
func (h Hypervisor) files() map[string]string {
	var conf strings.Builder
	fmt.Fprintf(&conf, "[DEFAULT]\nhost = %s\ncompute_driver = fake.PredictableNodeUUIDDriver\nstate_path = /var/lib/nova\n"+
		"instances_path = /var/lib/nova\nuse_stderr = true\n", h.Host)
	if h.Queue != "" {
		fmt.Fprintf(&conf, "transport_url = %s\n", strings.ReplaceAll(h.Queue, "$", "$$"))
	}
	conf.WriteString(common + h.Consoles)
	for _, group := range []string{"service_user", "placement", "glance", "neutron", "cinder"} {
		fmt.Fprintf(&conf, "[%s]\nauth_type = v3applicationcredential\nauth_url = https://keystone.%s.svc:5000/v3\ncafile = %s\n"+
			"valid_interfaces = internal\napplication_credential_id = %s\napplication_credential_secret = %s\n",
			group, h.ControlPlane, CAFile, h.CredentialID, strings.ReplaceAll(h.CredentialSecret, "$", "$$"))
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
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: h.Annotations}, Spec: h.pod(image)},
			},
		},
	}
}

func (h Hypervisor) pod(image string) corev1.PodSpec {
	env := []corev1.EnvVar{{Name: "SCREEN", Value: h.Screen}}
	if h.Serial != "" {
		env = append(env, corev1.EnvVar{Name: "SERIAL", Value: h.Serial})
	}
	return corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsUser: new(int64(user)), RunAsGroup: new(int64(user)), FSGroup: new(int64(user)), RunAsNonRoot: new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "nova-compute", Image: image, Env: append(env, h.Env...),
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
