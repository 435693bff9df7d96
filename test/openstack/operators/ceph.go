//go:build linux

package operators

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

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

// A Ceph is a storage cluster, as those know it who use it.
type Ceph struct {
	// FSID identifies it, MonHost is where its monitors are, as a client's ceph.conf has both.
	FSID, MonHost string
	// Keyrings are the files of clients, by name.
	Keyrings map[string][]byte

	// run runs a shell's commands beside the monitor.
	run func(ctx context.Context, commands string) (string, error)
}

// Rekey replaces the key of a client. The one before opens nothing from then on.
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

// Configuration is a client's ceph.conf.
func (c *Ceph) Configuration() []byte {
	return fmt.Appendf(nil, "[global]\nfsid = %s\nmon_host = %s\n", c.FSID, c.MonHost)
}

// Ceph runs a storage cluster with a pool for each client, by the client's name. A client may use its own pool and nothing else.
func (o *Operators) Ceph(ctx context.Context, namespace string, pools map[string]string) (*Ceph, error) {
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
	users := slices.Sorted(maps.Keys(pools))
	for _, user := range users {
		s.container.Args = append(s.container.Args, user+":"+pools[user])
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
