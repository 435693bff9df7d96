//go:build openstack && linux

package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// store counts its starts on a separate volume, and serves the count by UDP; its fields from the downward API are in a
// file on the node.
const store = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: pods}
spec:
  serviceName: stores
  replicas: 1
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      terminationGracePeriodSeconds: 1 # Python lets its first process ignore the signal
      securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000}
      containers:
      - name: store
        image: debian
        command: [python3, -c]
        args:
        - |
          import os, pathlib, socket
          starts = pathlib.Path("/data/starts")
          starts.write_text(str(int(starts.read_text()) + 1 if starts.exists() else 1))
          s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
          s.bind((socket.gethostbyname(os.environ["POD_NAME"] + ".stores.pods.svc"), 5000))
          assert s.getsockname()[0] == os.environ["POD_IP"]
          pathlib.Path("/tmp/ready").touch()
          while True:
              _, client = s.recvfrom(9)
              s.sendto(starts.read_text().encode(), client)
        env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        ports: [{name: data, containerPort: 5000, protocol: UDP}]
        startupProbe: {exec: {command: [test, -e, /tmp/ready]}}
        readinessProbe: {exec: {command: [test, -e, /tmp/ready]}}
        livenessProbe: {exec: {command: [test, -e, /tmp/ready]}, periodSeconds: 1, failureThreshold: 2}
        lifecycle: {preStop: {exec: {command: [touch, /data/stopped]}}}
        securityContext: {readOnlyRootFilesystem: true}
        volumeMounts: [{name: data, mountPath: /data}, {name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
  volumeClaimTemplates: [{metadata: {name: data}}]`

const storeService = `
apiVersion: v1
kind: Service
metadata: {name: store, namespace: pods}
spec: {selector: {app: store}, ports: [{port: 53, targetPort: data, protocol: UDP}]}`

// agent is root on the node, and may configure its network and nothing else.
const agent = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: %[1]s, namespace: pods}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      hostNetwork: true
      containers:
      - name: agent
        image: debian
        command: [sh, -c]
        args: ["%[2]s; exec sleep infinity"]
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        securityContext: {runAsUser: 0, readOnlyRootFilesystem: true, capabilities: {add: [NET_ADMIN], drop: [ALL]}}
        volumeMounts: [{name: state, mountPath: /state}]
      volumes: [{name: state, hostPath: {path: /var/lib/agent}}]`

// TestPodsHaveFeaturesOfKubernetes checks that pods have the features of Kubernetes: volumes that outlive them, names, probes and hooks
// inside, UDP, host network and host folders, and only the requested capabilities.
func TestPodsHaveFeaturesOfKubernetes(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	c, err := cluster.New(dir, func(string) (cluster.Image, error) { return cluster.Image{}, nil }, harness.Progress())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	harness.Apply(t, c, store, &appsv1.StatefulSet{})
	harness.Apply(t, c, storeService, &corev1.Service{})
	harness.Apply(t, c, fmt.Sprintf(agent, "first", `ip link add agent0 type bridge && echo $NODE $(hostname) >/state/node`), &appsv1.DaemonSet{})
	answers(t, c, "store.pods.svc:53", "1")
	old := &corev1.Pod{}
	key := client.ObjectKey{Namespace: "pods", Name: "store-0"}
	if err := c.Client.Get(ctx, key, old); err != nil {
		t.Fatal(err)
	}
	harness.Apply(t, c, strings.Replace(store, "app: store}}\n    spec", "app: store, version: next}}\n    spec", 1), &appsv1.StatefulSet{})
	replaced(t, c, key, old.UID)
	answers(t, c, "store.pods.svc:53", "2")
	if _, err := os.Stat(filepath.Join(c.ClaimDir("pods", "data-store-0"), "stopped")); err != nil {
		t.Errorf("the hook before the end did not run: %v", err)
	}
	if _, err := c.Exec(ctx, key.Namespace, key.Name, "rm", "/tmp/ready"); err != nil {
		t.Fatal(err)
	}
	answers(t, c, "store.pods.svc:53", "3")
	file := filepath.Join(dir, "nodes", "node-0", "var", "lib", "agent", "node")
	harness.WaitFor(t, c, "the agent's file", func() bool { _, err := os.Stat(file); return err == nil })
	if got, err := os.ReadFile(file); err != nil || string(got) != "node-0 node-0\n" {
		t.Errorf("the agent is on %q (%v), want node-0 twice", got, err)
	}
	// A second pod of the node sees the first one's link. It cannot mount: that is another capability.
	harness.Apply(t, c, fmt.Sprintf(agent, "second", `ip -o link show agent0 >/state/link; mount -t tmpfs none /state 2>/state/refused`), &appsv1.DaemonSet{})
	for name, want := range map[string]string{"link": "agent0", "refused": "permission denied"} {
		file := filepath.Join(filepath.Dir(file), name)
		harness.WaitFor(t, c, name, func() bool {
			text, _ := os.ReadFile(file) // it is not there yet
			return strings.Contains(string(text), want)
		})
	}
}

// TestPodsOrphaned checks that an orphaned process is reaped when it ends, by the first process of every sandbox.
// libvirt depends on it to detect the end of a server that has outlived its pod.
func TestPodsOrphaned(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("sh", "-c", "sleep 0.3 >/dev/null & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	process := filepath.Join("/proc", strings.TrimSpace(string(out)))
	if _, err := os.Stat(process); err != nil {
		t.Fatalf("it did not outlive its parent: %v", err)
	}
	for range 100 {
		if _, err := os.Stat(process); errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	state, err := os.ReadFile(filepath.Join(process, "stat"))
	t.Errorf("it has not gone: %s, %v", state, err)
}

// replaced waits until a pod has another UID.
func replaced(t *testing.T, c *cluster.Cluster, key client.ObjectKey, old types.UID) {
	t.Helper()
	harness.WaitFor(t, c, "a new pod "+key.Name, func() bool {
		p := &corev1.Pod{}
		return c.Client.Get(context.Background(), key, p) == nil && p.UID != old
	})
}

// answers waits for an expected response of a Service, by UDP, which may lose a packet.
func answers(t *testing.T, c *cluster.Cluster, address, want string) {
	t.Helper()
	harness.WaitFor(t, c, "the answer "+want, func() bool {
		conn, err := c.Dial(context.Background(), "udp", address)
		if err != nil {
			return false
		}
		defer conn.Close() // it was read
		if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
			return false
		}
		fmt.Fprint(conn, "?")
		packet := make([]byte, 9)
		n, err := conn.Read(packet)
		return err == nil && string(packet[:n]) == want
	})
}
