//go:build openstack && linux

package nova

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// hypervisorUser runs nova-compute.
const hypervisorUser = 42424

// Hypervisor is a nova-compute with a driver of fake servers. It is configured as a real one: with the queue of its
// cell, and without a database.
type Hypervisor struct { //nolint:recvcheck // it is a value once it listens
	// cell it belongs to, and where the screens of its servers are, and their serial ports.
	cell, screen, serial string
	// consoles are the consoles of its cell, whose proxies' host names end with the domain.
	consoles novav1.Consoles
	Domain   string
	// queue is the queue of its cell. Empty: the common queue.
	queue string
	// Broker is the host of an external queue. Empty: the control plane's queue.
	Broker string
}

// host returns its host name in Nova.
func (h Hypervisor) host() string { return "compute-" + h.cell }

// listen starts the servers of consoles.
func (h *Hypervisor) listen(t *testing.T, cloud *clouds.Cloud) {
	t.Helper()
	serve := show
	if h.consoles.Graphical == novav1.SPICE {
		serve = showSPICE
	}
	h.screen = serveConsoles(t, cloud, 5900, "screens-"+h.cell, func(c net.Conn) error { return serve(c, h.cell) })
	h.serial = serveConsoles(t, cloud, 10000, "serial-"+h.cell, func(c net.Conn) error { return echo(c, h.cell) })
}

// options returns the options that depend on the consoles of its cell.
func (h Hypervisor) options(t *testing.T) string {
	t.Helper()
	text, err := h.pages().Render()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// pages returns the console options of docs/how-to/nova-consoles.md: nova-compute builds the address for
// browsers, which is the cell's proxy. The proxy accepts only pages of its host, by the scheme of this address, so that
// a serial console needs wss.
func (h Hypervisor) pages() oslo.Config {
	c := h.consoles
	out := oslo.Config{
		"vnc": {"enabled": c.Graphical == novav1.VNC}, "spice": {"enabled": c.Graphical == novav1.SPICE}, "serial_console": {"enabled": c.Serial},
	}
	at := func(console string) string { return console + "-" + h.cell + "." + h.Domain }
	switch c.Graphical {
	case novav1.VNC:
		out["vnc"]["novncproxy_base_url"] = "https://" + at("console") + compute.VNCPage
	case novav1.SPICE:
		out["spice"]["html5proxy_base_url"] = "https://" + at("console") + compute.SPICEPage
	}
	if c.Serial {
		out["serial_console"]["base_url"] = "wss://" + at("serial") + "/"
	}
	return out
}

// hypervisorConf is its configuration: its host, and Keystone, once for each of the services that it calls.
const hypervisorConf = `[DEFAULT]
host = %[1]s
compute_driver = fake.PredictableNodeUUIDDriver
state_path = /var/lib/nova
instances_path = /var/lib/nova
use_stderr = true
[oslo_messaging_rabbit]
rabbit_quorum_queue = true
rabbit_transient_quorum_queue = true
rabbit_stream_fanout = true
rabbit_qos_prefetch_count = 10
use_queue_manager = true
[oslo_concurrency]
lock_path = /var/lib/nova
[upgrade_levels]
compute = auto
[service_user]
send_service_user_token = true
`

// loginGroups are the option groups of nova-compute with a login.
var loginGroups = []string{"service_user", "placement", "glance", "neutron", "cinder"}

// run makes it run the Nova of a release, or another one than before, and returns when the previous process has ended.
// Nova considers it up all the time, and servers being created on the ending process fail.
func (h Hypervisor) run(t *testing.T, cloud *clouds.Cloud, r release.Release) {
	t.Helper()
	ctx, ns := context.Background(), cloud.Namespace
	version, err := r.Version("nova")
	if err != nil {
		t.Fatal(err)
	}
	login, err := cloud.Operators.Secret(ctx, ns, "nova-credential")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := cloud.Operators.Secret(ctx, ns, "nova-"+h.cell+"-queue")
	if err != nil {
		t.Fatal(err)
	}
	host, vhost := cmp.Or(h.queue, "rabbitmq")+"."+ns+".svc", "nova_"+h.cell
	if h.Broker != "" {
		host, vhost = h.Broker, vhost+"-"+ns
	}
	conf := fmt.Sprintf(hypervisorConf, h.host()) + h.options(t)
	env := []corev1.EnvVar{
		{Name: "SCREEN", Value: h.screen}, {Name: "SERIAL", Value: h.serial},
		ofQueue("QUEUE_USERNAME", h.cell, "username"), ofQueue("QUEUE_PASSWORD", h.cell, "password"),
		{Name: "OS_DEFAULT__TRANSPORT_URL", Value: rabbitmq.Transport{
			UserVar: "QUEUE_USERNAME", PasswordVar: "QUEUE_PASSWORD", Hosts: []string{host}, Port: 5671,
			Vhost: vhost, CAFile: "/etc/nova/authorities.crt",
		}.URL()},
	}
	var groups strings.Builder
	for _, group := range loginGroups {
		fmt.Fprintf(&groups, "[%s]\nauth_type = v3applicationcredential\nauth_url = https://keystone.%s.svc:5000/v3\n"+
			"cafile = /etc/nova/authorities.crt\nvalid_interfaces = internal\n", group, ns)
		prefix := "OS_" + strings.ToUpper(group) + "__APPLICATION_CREDENTIAL_"
		env = append(env, corev1.EnvVar{Name: prefix + "ID", Value: string(login["application_credential_id"])},
			corev1.EnvVar{Name: prefix + "SECRET", Value: string(login["application_credential_secret"])})
	}
	conf += groups.String()
	labels := map[string]string{"app": h.host()}
	if err := errors.Join(
		cloud.Cluster.Apply(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: h.host(), Namespace: ns}, Data: map[string]string{
			"nova.conf": conf, "hypervisor.py": string(harness.Read(t, "hypervisor.py")), "authorities.crt": authorities(t, cloud),
		}}),
		cloud.Cluster.Apply(ctx, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: h.host(), Namespace: ns},
			Spec: appsv1.StatefulSetSpec{
				ServiceName: h.host(), Selector: &metav1.LabelSelector{MatchLabels: labels},
				// Another user of the queue replaces the pod.
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
					Labels: labels, Annotations: map[string]string{"queue-user": string(queue["username"])},
				}, Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsUser: new(int64(hypervisorUser)), RunAsGroup: new(int64(hypervisorUser)), FSGroup: new(int64(hypervisorUser)),
					},
					Containers: []corev1.Container{{
						Name: "nova-compute", Image: "nova:" + version, Env: env,
						Command: []string{"/opt/openstack/bin/python", "/etc/nova/hypervisor.py", "--config-file", "/etc/nova/nova.conf"},
						VolumeMounts: []corev1.VolumeMount{
							{Name: "etc", MountPath: "/etc/nova"}, {Name: "state", MountPath: "/var/lib/nova"}, {Name: "tmp", MountPath: "/tmp"},
						},
					}},
					Volumes: []corev1.Volume{
						{Name: "etc", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
							LocalObjectReference: corev1.LocalObjectReference{Name: h.host()},
						}}},
						{Name: "state", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
						{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					},
				}},
			},
		}),
	); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Operators.WaitForStatefulSet(ctx, client.ObjectKey{Namespace: ns, Name: h.host()}); err != nil {
		t.Fatal(err)
	}
}

// ofQueue returns a variable with the current user of a cell's queue.
func ofQueue(name, cell, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "nova-" + cell + "-queue"}, Key: key,
	}}}
}

// authorities returns the CAs of services and of the queue.
func authorities(t *testing.T, cloud *clouds.Cloud) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{"keystone-tls", "rabbitmq-tls"} {
		data, err := cloud.Operators.Secret(context.Background(), cloud.Namespace, name)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data["ca.crt"])
	}
	return out.String()
}

// The screen of a server, as far as it is displayed: RFB 3.8 without a password
// (https://datatracker.ietf.org/doc/html/rfc6143).
const (
	rfbVersion   = "RFB 003.008\n"
	rfbNone      = 1 // the security type
	rfbInit      = 20
	rfbNameBytes = 4
)

// serveConsoles listens at a port of a hypervisor, and returns the address.
func serveConsoles(t *testing.T, cloud *clouds.Cloud, port int, name string, serve func(net.Conn) error) (address string) {
	t.Helper()
	l, err := cloud.Cluster.Listen(port, name+"."+cloud.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = serve(conn) }() // the client has already read the error
		}
	}()
	return l.Addr().String()
}

// show performs the server's side of a handshake. It sends the name of the screen, which is black.
func show(conn net.Conn, name string) error {
	defer conn.Close()
	init := append(make([]byte, rfbInit+rfbNameBytes), name...)
	init[rfbInit+rfbNameBytes-1] = byte(len(name))
	for _, step := range []struct {
		nameOf []byte
		hear   int
	}{
		{[]byte(rfbVersion), len(rfbVersion)}, {[]byte{1, rfbNone}, 1}, {make([]byte, 4), 1}, {init, 1},
	} {
		if _, err := conn.Write(step.nameOf); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, make([]byte, step.hear)); err != nil {
			return err
		}
	}
	return nil
}

// look performs the client's side of a handshake, and returns the name of the screen.
func look(conn io.ReadWriter) (name string, err error) {
	version, types, result, init := make([]byte, len(rfbVersion)), make([]byte, 2), make([]byte, 4), make([]byte, rfbInit+rfbNameBytes)
	for _, step := range []struct {
		hear, nameOf []byte
	}{
		{version, []byte(rfbVersion)}, {types, []byte{rfbNone}}, {result, []byte{1}}, {init, nil},
	} {
		if _, err := io.ReadFull(conn, step.hear); err != nil {
			return "", err
		}
		if len(step.nameOf) == 0 {
			continue
		}
		if _, err := conn.Write(step.nameOf); err != nil {
			return "", err
		}
	}
	if string(version) != rfbVersion || types[0] != 1 || types[1] != rfbNone {
		return "", fmt.Errorf("the screen is of version %q, with the security types %v", version, types)
	}
	text := make([]byte, init[len(init)-1])
	_, err = io.ReadFull(conn, text)
	return string(text), err
}

// networks runs a Neutron without resources: every list is empty. Nova also lists ports and security groups of servers
// without any, and fails if the catalog has no Neutron.
func networks(t *testing.T, cloud *clouds.Cloud) {
	t.Helper()
	const port = 9696
	host := "neutron." + cloud.Namespace + ".svc"
	l, err := cloud.Cluster.Listen(port, host)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "read-only", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{%q: []}`, strings.ReplaceAll(path.Base(r.URL.Path), "-", "_"))
	})}
	go func() { _ = server.Serve(l) }() // ends with its listener
	a := harness.AdminOf(t, harness.KeystoneClient(t, cloud, false))
	service := a.Create("service", map[string]any{"name": "neutron", "type": "network"})
	a.Create("endpoint", map[string]any{
		"service_id": service, "interface": "internal", "region_id": harness.Region, "url": "http://" + net.JoinHostPort(host, strconv.Itoa(port)),
	})
}
