//go:build openstack && linux

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// central runs OVN's databases and northd in one pod, with plain TCP: the part of a control plane that its nodes need.
//
//nolint:dupword // one loop of a script ends in another
const central = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: central, namespace: %s}
spec:
  serviceName: %s
  replicas: 1
  selector: {matchLabels: {app: central}}
  template:
    metadata: {labels: {app: central, app.kubernetes.io/name: central}}
    spec:
      securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000}
      containers:
      - name: central
        image: ovn
        command: [sh, -c]
        args:
        - |
          cd /tmp; export OVN_RUNDIR=/tmp OVS_RUNDIR=/tmp
          for d in nb sb; do
            ovsdb-tool create $d.db /usr/share/ovn/ovn-$d.ovsschema
            ovsdb-server $d.db --remote=punix:/tmp/$d.sock --remote=ptcp:$([ $d = nb ] && echo 6641 || echo 6642) --unixctl=/tmp/$d.ctl --pidfile=/tmp/$d.pid &
            until ovn-${d}ctl --db=unix:/tmp/$d.sock --timeout=1 init; do sleep 0.1; done
          done
          exec ovn-northd --ovnnb-db=unix:/tmp/nb.sock --ovnsb-db=unix:/tmp/sb.sock --unixctl=/tmp/northd.ctl --pidfile=/tmp/northd.pid
        readinessProbe: {exec: {command: [ovn-sbctl, --db=unix:/tmp/sb.sock, --timeout=1, show]}}
        securityContext: {readOnlyRootFilesystem: true}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]`

// topology is a network inside, one outside, a router, and an address outside for a server.
const topology = `set -e; n() { ovn-nbctl --db=unix:/tmp/nb.sock --timeout=60 "$@"; }
n ls-add inside -- ls-add outside -- lsp-add outside ln -- lsp-set-type ln localnet -- lsp-set-addresses ln unknown -- lsp-set-options ln network_name=physnet1
n lr-add r -- lrp-add r in 02:00:00:00:01:01 192.0.2.1/24 -- lsp-add inside rin -- lsp-set-type rin router -- lsp-set-addresses rin router -- lsp-set-options rin router-port=in
n lrp-add r out 02:00:00:00:01:02 203.0.113.10/24 -- lsp-add outside rout -- lsp-set-type rout router -- lsp-set-addresses rout router -- lsp-set-options rout router-port=out -- lrp-set-gateway-chassis out node-0
n lr-route-add r 0.0.0.0/0 203.0.113.1 -- lr-nat-add r dnat_and_snat 203.0.113.20 192.0.2.10
n lsp-add inside p1 -- lsp-set-addresses p1 "02:00:00:00:00:11 192.0.2.10"
D=$(n create DHCP_Options cidr=192.0.2.0/24 options='"lease_time"="43200" "mtu"="1442" "router"="192.0.2.1" "server_id"="192.0.2.1" "server_mac"="02:00:00:00:01:01"')
n lsp-set-dhcpv4-options p1 $D
n --wait=hv sync`

// domain is the server.
const domain = `<domain type='qemu'><name>g</name><memory unit='MiB'>128</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type><kernel>/var/lib/nova/vmlinuz</kernel><initrd>/var/lib/nova/initrd.gz</initrd>
<cmdline>console=ttyS0</cmdline></os>
<devices><interface type='ethernet'><mac address='02:00:00:00:00:11'/><target dev='tap00000000-01'/><model type='virtio'/></interface>
<serial type='pty'><log file='/var/lib/nova/console.log' append='off'/></serial></devices></domain>`

// TestNodeRunsReachableServer checks that the switch, its controller and libvirt of a node, from the function's golden files, run a server
// that is reachable from outside, and that each can be replaced while it is pinged. There is no OpenStack: OVN's
// central part is one pod without TLS, and virsh starts the server.
func TestNodeRunsReachableServer(t *testing.T) {
	n := startNodes(t, "node-0")
	n.exec(t, "central", topology)
	c := n.Cluster
	// The device does not exist yet: the switch adds it when it appears, and until then reports an error that is to be
	// ignored.
	n.exec(t, "openvswitch", "ovs-vsctl --timeout=20 -- add-port br-int tap00000000-01 -- set interface tap00000000-01 external_ids:iface-id=p1 || true")
	n.exec(t, "libvirt", "echo \""+domain+"\" >/tmp/g.xml; "+hypervisors.Virsh+"create /tmp/g.xml")
	g := hypervisors.NewGuest("203.0.113.20")
	harness.WaitFor(t, c, "the virtual machine's answer", func() bool { _, err := g.Get("seconds"); return err == nil })
	for name, without := range map[string]time.Duration{"libvirt": 0, "ovn": 0, "openvswitch": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			came := harness.Ping(t, g.Address, func() {
				pod := n.pod(t, name)
				if err := c.Evict(pod.Namespace, pod.Name); err != nil {
					t.Fatal(err)
				}
				n.ready(t, name, string(pod.UID))
			})
			if t.Log(came); came.Gap > without {
				t.Errorf("more than %s", without)
			}
			harness.WaitFor(t, c, "the virtual machine's answer", func() bool { _, err := g.Get("seconds"); return err == nil })
		})
	}
	t.Run("Taps", func(t *testing.T) {
		n.exec(t, "openvswitch", "ip link set dev tap00000000-01 down")
		harness.WaitFor(t, c, "the tap to be up again", func() bool {
			return strings.Contains(n.exec(t, "openvswitch", "ip -o link show dev tap00000000-01"), ",UP,")
		})
		harness.WaitFor(t, c, "the virtual machine's answer", func() bool { _, err := g.Get("seconds"); return err == nil })
	})
	t.Run("Peers", func(t *testing.T) { testMigrationTLS(t, n) })
	if list := n.exec(t, "libvirt", hypervisors.Virsh+"list --name; "+hypervisors.Virsh+"destroy g >&2; "+hypervisors.Virsh+"list --name"); !strings.HasPrefix(list, "g\n") {
		t.Errorf("libvirt's new daemon knows %q", list)
	}
}

// fakeNode contains the pods of a node, and their environment.
type fakeNode struct {
	*cluster.Cluster
	name, namespace string
	// domain of OVN's central part, which is unique: there is one hosts file for all tests.
	domain string
	// authority signs for the pool.
	authority *pki.Authority
}

// startNodes starts nodes with an external network, with all of their pods except OpenStack's, and the image of
// servers. It returns the first one.
func startNodes(t *testing.T, names ...string) fakeNode {
	t.Helper()
	dir := t.TempDir()
	of := &clouds.Cloud{Options: clouds.Options{Programs: harness.Programs, Dir: dir}, Bundle: filepath.Join(dir, "public.pem")}
	if err := os.WriteFile(of.Bundle, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.New(dir, func(ref string) (cluster.Image, error) {
		if ref == "ovn" {
			return cluster.Image{Root: harness.Programs.Network}, nil
		}
		return of.Image(ref)
	}, harness.Progress())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	t.Cleanup(func() { harness.KeepLogs(t, dir) })
	c.Nodes = map[string]map[string]string{}
	for _, name := range names {
		c.Nodes[name] = map[string]string{"node-role.kubernetes.io/hypervisor": ""}
	}
	link, err := c.Uplink("eth1")
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.AddNetwork(link, "203.0.113.1/24"); err != nil {
		t.Fatal(err)
	}
	authority, err := pki.New("pool")
	if err != nil {
		t.Fatal(err)
	}
	n := fakeNode{Cluster: c, name: names[0], domain: strings.ToLower(t.Name()), authority: authority}
	n.namespace = n.apply(t)
	n.certify(t)
	harness.Apply(t, c, fmt.Sprintf(central, n.namespace, n.domain), &appsv1.StatefulSet{})
	n.ready(t, "central", "")
	for _, name := range names {
		for _, component := range []string{"openvswitch", "libvirt", "ovn"} {
			n.at(name).ready(t, component, "")
		}
		for _, file := range []string{harness.Programs.Guest.Kernel, harness.Programs.Guest.Initrd} {
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "nodes", name, "var/lib/cobaltcore/nova", filepath.Base(file)), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}

// at returns another node of the same cluster.
func (n fakeNode) at(name string) fakeNode {
	n.name = name
	return n
}

// apply applies the golden files, with a southbound database without certificates, an external interface, and one
// certificate for all nodes, and returns their namespace.
func (n fakeNode) apply(t *testing.T) (namespace string) {
	t.Helper()
	files, err := filepath.Glob("../../../functions/hypervisor/testdata/smallest/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yaml")
		component, _, isConfig := strings.Cut(name, "-config")
		if component != "openvswitch" && component != "libvirt" && component != "ovn-controller" {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		set := &appsv1.DaemonSet{}
		var o client.Object = set
		if isConfig {
			o = &corev1.ConfigMap{}
		}
		if err := yaml.Unmarshal(text, o); err != nil {
			t.Fatal(err)
		}
		namespace = o.GetNamespace()
		switch name {
		case "ovn-controller":
			useCentral(&set.Spec.Template.Spec, n.domain+"."+namespace)
			useSecret(&set.Spec.Template.Spec, "tls")
		case "libvirt":
			useSecret(&set.Spec.Template.Spec, "certificate")
		}
		if err := n.Apply(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
	return namespace
}

// peer issues a certificate with the pool's names.
func (n fakeNode) peer(t *testing.T, a *pki.Authority, name string) pki.Pair {
	t.Helper()
	p, err := a.Issue(pki.Subject{User: name, Hosts: []string{"*." + n.namespace + ".pod"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// certify issues a certificate for all nodes.
func (n fakeNode) certify(t *testing.T) pki.Pair {
	t.Helper()
	p := n.peer(t, n.authority, n.namespace)
	err := n.Apply(context.Background(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: peersSecret, Namespace: n.namespace},
		Data:       map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key, "ca.crt": n.authority.Certificate},
	})
	if err != nil {
		t.Fatal(err)
	}
	vnc := n.peer(t, n.authority, n.namespace)
	err = n.Apply(context.Background(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "control-plane-" + n.namespace + "-vnc", Namespace: n.namespace},
		Data:       map[string][]byte{"tls.crt": vnc.Certificate, "tls.key": vnc.Key, "ca.crt": n.authority.Certificate},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// useCentral configures a controller with the southbound database of the pod central, on a node with an external
// network.
func useCentral(pod *corev1.PodSpec, domain string) {
	values := map[string]string{
		"SOUTHBOUND": "tcp:central-0." + domain + ".svc:6642", "MAPPINGS": "physnet1:br-ex", "BRIDGES": "br-ex=eth1",
		"OPTIONS": "enable-chassis-as-gw",
	}
	env := pod.Containers[0].Env
	for i := range env {
		if v, ok := values[env[i].Name]; ok {
			env[i].Value = v
		}
	}
}

// peersSecret is the Secret with the certificate of nodes.
const peersSecret = "peers"

// useSecret replaces the container that requests the certificates of the node by a Secret: there is no companion. QEMU has the same one as
// libvirt.
func useSecret(pod *corev1.PodSpec, volume string) {
	pod.Containers = pod.Containers[:1]
	for i := range pod.Volumes {
		if v := &pod.Volumes[i]; v.Name == volume {
			secret := &corev1.SecretVolumeSource{SecretName: peersSecret, DefaultMode: new(int32(0o440))}
			for _, key := range []string{"ca.crt", "tls.crt", "tls.key"} {
				secret.Items = append(secret.Items, corev1.KeyToPath{Key: key, Path: key}, corev1.KeyToPath{Key: key, Path: "qemu/" + key})
			}
			v.VolumeSource = corev1.VolumeSource{Secret: secret}
		}
	}
}

func (n fakeNode) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	err := n.Client.List(context.Background(), pods, client.InNamespace(n.namespace), client.MatchingLabels{"app.kubernetes.io/name": name})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; name == "central" || p.Spec.NodeName == n.name {
			return p
		}
	}
	return nil
}

// ready waits until the pod is ready and has another UID.
func (n fakeNode) ready(t *testing.T, name, not string) {
	t.Helper()
	harness.WaitFor(t, n.Cluster, name, func() bool {
		p := n.pod(t, name)
		return p != nil && string(p.UID) != not && len(p.Status.Conditions) > 0 && p.Status.Conditions[0].Status == corev1.ConditionTrue
	})
}

func (n fakeNode) exec(t *testing.T, name, script string) string {
	t.Helper()
	out, err := n.Exec(context.Background(), n.namespace, n.pod(t, name).Name, "sh", "-c", script)
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return out
}
