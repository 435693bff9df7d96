//go:build openstack && linux

package nova

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/hypervisor"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

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
	serve := hypervisor.Show
	if h.consoles.Graphical == novav1.SPICE {
		serve = showSPICE
	}
	h.screen = serveConsoles(t, cloud, compute.FirstConsolePort, "screens-"+h.cell, func(c net.Conn) error { return serve(c, h.cell) })
	h.serial = serveConsoles(t, cloud, compute.FirstSerialPort, "serial-"+h.cell, func(c net.Conn) error { return echo(c, h.cell) })
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
	objects := hypervisor.Hypervisor{
		Host: h.host(), ControlPlane: ns, Consoles: h.options(t), Screen: h.screen, Serial: h.serial,
		CredentialID: string(login["application_credential_id"]), CredentialSecret: string(login["application_credential_secret"]),
		Env: []corev1.EnvVar{
			ofQueue("QUEUE_USERNAME", h.cell, "username"), ofQueue("QUEUE_PASSWORD", h.cell, "password"),
			{Name: "OS_DEFAULT__TRANSPORT_URL", Value: rabbitmq.Transport{
				UserVar: "QUEUE_USERNAME", PasswordVar: "QUEUE_PASSWORD", Hosts: []string{host}, Port: 5671,
				Vhost: vhost, CAFile: hypervisor.CAFile,
			}.URL()},
		},
		Authorities: authorities(t, cloud),
		Annotations: map[string]string{"queue-user": string(queue["username"])}, // Another user of the queue replaces the pod.
	}.Objects(ns, "nova:"+version)
	for _, o := range objects {
		if err := cloud.Cluster.Apply(ctx, o); err != nil {
			t.Fatal(err)
		}
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

// serveConsoles listens at a port of a hypervisor, and returns the address.
func serveConsoles(t *testing.T, cloud *clouds.Cloud, port int, name string, serve func(net.Conn) error) (address string) {
	t.Helper()
	l, err := cloud.Cluster.Listen(port, name+"."+cloud.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	go hypervisor.Serve(l, serve)
	return l.Addr().String()
}

// agent is an agent of Neutron, as its API returns it.
type agent struct {
	ID    string `json:"id"`
	Type  string `json:"agent_type"`
	Host  string `json:"host"`
	Alive bool   `json:"alive"`
}

// networks runs a Neutron without resources: every list is empty, except for the one of agents. Nova also lists ports and security groups
// of servers without any, and fails if the catalog has no Neutron.
func networks(t *testing.T, cloud *clouds.Cloud, agents func() []agent) {
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
		name, list := path.Base(r.URL.Path), []agent{}
		if name == "agents" && agents != nil {
			host := r.URL.Query().Get("host")
			list = slices.DeleteFunc(agents(), func(a agent) bool { return host != "" && a.Host != host })
		}
		if err := json.NewEncoder(w).Encode(map[string][]agent{strings.ReplaceAll(name, "-", "_"): list}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})}
	go func() { _ = server.Serve(l) }() // ends with its listener
	a := harness.AdminOf(t, harness.KeystoneClient(t, cloud, false))
	service := a.Create("service", map[string]any{"name": "neutron", "type": "network"})
	a.Create("endpoint", map[string]any{
		"service_id": service, "interface": "internal", "region_id": harness.Region, "url": "http://" + net.JoinHostPort(host, strconv.Itoa(port)),
	})
}
