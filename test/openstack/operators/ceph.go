//go:build linux

package operators

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CephImage is the image of Ceph's servers.
const CephImage = "ceph"

// cephScript starts them.
//
//go:embed ceph.sh
var cephScript string

const (
	cephUser = 167
	cephPort = 3300
)

// A Ceph is a storage cluster, as seen by its clients.
type Ceph struct {
	// FSID identifies the cluster, MonHost has the addresses of its monitors, both as in a client's ceph.conf.
	FSID, MonHost string
	// Keyrings are the files of clients, by name.
	Keyrings map[string][]byte

	// run runs shell commands in the monitor's pod.
	run func(ctx context.Context, commands string) (string, error)
}

// Rekey replaces the key of a client. The previous key is rejected from then on.
func (c *Ceph) Rekey(ctx context.Context, user string) error {
	out, err := c.run(ctx, fmt.Sprintf(`set -e; export CEPH_CONF=/data/ceph.conf
ceph auth get client.%[1]s 2>/dev/null | sed "s|key = .*|key = $(ceph-authtool --gen-print-key)|" >/tmp/next
ceph auth import -i /tmp/next >/dev/null 2>&1
cat /tmp/next; rm /tmp/next`, user))
	if err != nil {
		return fmt.Errorf("cannot replace the key of %s: %w: %s", user, err, out)
	}
	c.Keyrings[user] = []byte(out)
	return nil
}

// keyLine matches the key in a keyring.
var keyLine = regexp.MustCompile(`(?m)^\s*key = (\S+)$`)

// Key returns the key of a client.
func (c *Ceph) Key(user string) string {
	found := keyLine.FindSubmatch(c.Keyrings[user])
	if found == nil {
		return ""
	}
	return string(found[1])
}

// Run runs shell commands in the monitor's pod, as administrator, and returns their output.
func (c *Ceph) Run(ctx context.Context, commands string) (string, error) {
	out, err := c.run(ctx, "export CEPH_CONF=/data/ceph.conf\n"+commands)
	if err != nil {
		return out, fmt.Errorf("cannot run %s: %w: %s", commands, err, out)
	}
	return out, nil
}

// KillOSD kills the only daemon with data, and returns when its next process responds.
func (c *Ceph) KillOSD(ctx context.Context) error {
	_, err := c.Run(ctx, `set -e
before=$(cat /data/osd.pid)
kill -9 "$before"
until [ "$(cat /data/osd.pid)" != "$before" ] && timeout 5 ceph tell osd.0 version >/dev/null 2>&1; do sleep 0.2; done`)
	return err
}

// Pause suspends the monitor: it does not respond, and no client reaches the Ceph. Resume resumes it.
func (c *Ceph) Pause(ctx context.Context) error { return c.signal(ctx, "STOP") }

// Resume resumes the monitor.
func (c *Ceph) Resume(ctx context.Context) error { return c.signal(ctx, "CONT") }

func (c *Ceph) signal(ctx context.Context, signal string) error {
	_, err := c.Run(ctx, "kill -"+signal+" $(cat /data/mon.pid)")
	return err
}

// Caps are the capabilities of a client, by the kind of daemon.
type Caps map[string]string

// OwnPool returns the capabilities for one pool and nothing else.
func OwnPool(pool string) Caps {
	return Caps{"mon": "profile rbd", "osd": "profile rbd pool=" + pool, "mgr": "profile rbd pool=" + pool}
}

// Configuration returns a client's ceph.conf.
func (c *Ceph) Configuration() []byte {
	return fmt.Appendf(nil, "[global]\nfsid = %s\nmon_host = %s\n", c.FSID, c.MonHost)
}

// Ceph runs a storage cluster with pools and clients.
func (o *Operators) Ceph(ctx context.Context, namespace string, pools []string, clients map[string]Caps) (*Ceph, error) {
	const name = "ceph"
	out := &Ceph{FSID: string(uuid.NewUUID()), Keyrings: map[string][]byte{}}
	s := server{
		namespace: namespace, name: name, service: name, user: cephUser, data: "/data",
		labels: map[string]string{"app.kubernetes.io/name": name},
		container: corev1.Container{
			Name: name, Image: CephImage, Command: []string{"/bin/bash", "-c", cephScript, name},
			Env: []corev1.EnvVar{
				{Name: "FSID", Value: out.FSID},
				{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			},
			Ports: []corev1.ContainerPort{{Name: "msgr2", ContainerPort: cephPort}},
		},
	}
	users := slices.Sorted(maps.Keys(clients))
	s.container.Args = pools
	for _, user := range users {
		may := clients[user]
		s.container.Args = append(s.container.Args, strings.Join([]string{user, may["mon"], may["osd"], may["mgr"]}, "|"))
	}
	if err := o.run(ctx, s); err != nil {
		return nil, err
	}
	dir, pod := o.Cluster.ClaimDir(namespace, dataClaim(name)), &corev1.Pod{}
	if err := o.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-0"}, pod); err != nil {
		return nil, err
	}
	if err := o.Cluster.Wait(ctx, Timeout, "a healthy Ceph", func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err == nil, nil
	}); err != nil {
		log, _ := o.Cluster.Output(ctx, pod, name) // it is only shown
		return nil, fmt.Errorf("%w; the end of its log:\n%s", err, log)
	}
	for _, user := range users {
		keyring, err := os.ReadFile(filepath.Join(dir, "client."+user+".keyring"))
		if err != nil {
			return nil, err
		}
		out.Keyrings[user] = keyring
	}
	out.run = func(ctx context.Context, commands string) (string, error) {
		return o.Cluster.Exec(ctx, namespace, pod.Name, "bash", "-c", commands)
	}
	out.MonHost = fmt.Sprintf("[v2:%[1]s:3300,v1:%[1]s:6789]", pod.Status.PodIP)
	return out, nil
}

// GatewayCaps returns Rook's capabilities for the user of an object store's gateways.
func GatewayCaps() Caps { return Caps{"mon": "allow rw", "osd": "allow rwx"} }

// A Gateway is a gateway of an object store (radosgw).
type Gateway struct {
	// Namespace and Name of its Service.
	Namespace, Name string
	// User of Ceph that it is, without client.
	User string
	// Certificate and Key of its address.
	Certificate, Key []byte
}

// gatewayFiles is the folder of its files.
const gatewayFiles = "/etc/gateway"

// Gateway runs a gateway of a Ceph with TLS, as Rook starts it, in a cluster with images of Ceph. Its other options are
// in Ceph's option store.
func (o *Operators) Gateway(ctx context.Context, ceph *Ceph, g Gateway) error {
	const secret, https = "gateway", 443
	files := map[string][]byte{
		"ceph.conf": append(ceph.Configuration(), "run_dir = /tmp\nadmin_socket = /tmp/gateway.asok\n"...), "keyring": ceph.Keyrings[g.User],
		"tls.crt": g.Certificate, "tls.key": g.Key,
	}
	if err := o.SetSecret(ctx, g.Namespace, secret, files); err != nil {
		return err
	}
	return o.run(ctx, server{
		namespace: g.Namespace, name: g.Name, service: g.Name, data: "/data", labels: map[string]string{"app": "rook-ceph-rgw"},
		secrets: map[string]string{gatewayFiles: secret}, capabilities: []corev1.Capability{"NET_BIND_SERVICE"},
		container: corev1.Container{
			Name: "rgw", Image: CephImage,
			Command: []string{
				"radosgw", "--foreground", "--name=client." + g.User, "--conf=" + gatewayFiles + "/ceph.conf", "--keyring=" + gatewayFiles + "/keyring",
				"--rgw-data=/data", "--log-file=", "--log-to-stderr=true", "--debug-rgw=1",
				fmt.Sprintf("--rgw-frontends=beast ssl_port=%d ssl_certificate=%[2]s/tls.crt ssl_private_key=%[2]s/tls.key", https, gatewayFiles),
			},
			Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: https}},
		},
	}, g.Name)
}
