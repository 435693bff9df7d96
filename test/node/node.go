//go:build linux

package node

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/registry"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

//go:embed manifests
var manifests embed.FS

// owner owns the fields that are applied.
const owner = client.FieldOwner("node")

// Node is a cluster of one node.
type Node struct {
	// Kubeconfig is the path of the administrator's kubeconfig, Config the same for client-go.
	Kubeconfig string
	Config     *rest.Config
	// Client reads and writes anything, as the administrator.
	Client client.WithWatch
	// Registry serves all images.
	Registry *registry.Registry

	state     string
	devices   []*os.File
	lock      *os.File
	processes *process.Group
	progress  io.Writer
	started   time.Time
}

// Start starts a node, in a sandbox (sandbox.Enter), after Install. It is ready for pods when this returns. The error
// names the missing or failed program, with the end of its log. There can be one node at a time.
func Start(ctx context.Context, progress io.Writer) (_ *Node, err error) {
	folder, err := Folder()
	if err != nil {
		return nil, err
	}
	n := &Node{
		state: filepath.Join(folder, "state"), progress: progress, started: time.Now(),
		processes: programsIn(folder),
	}
	if n.lock, err = occupy(folder); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			n.Stop()
		}
	}()
	if err := n.machine(); err != nil {
		return n, err
	}
	n.Registry = registry.New()
	if err := n.Registry.Serve(ctx, nodeAddress+":"+registryPort); err != nil {
		return n, err
	}
	// The images of Install, and of `make images`.
	for _, dir := range []string{filepath.Join(folder, "images"), filepath.Join(folder, "..", "images", "oci")} {
		if err := n.Registry.AddLayout(dir, withoutRegistry); err != nil {
			return n, err
		}
	}
	if err := n.controlPlane(ctx); err != nil {
		return n, err
	}
	n.logf("Kubernetes serves")
	if err := n.agents(ctx); err != nil {
		return n, err
	}
	n.logf("the node is ready")
	if err := n.basics(ctx); err != nil {
		return n, err
	}
	n.logf("DNS and volumes are ready")
	return n, nil
}

// Attach returns the node that `make node-up` started, for a process in its sandbox: the script that enters it starts
// one there. The node stays up, and has no registry here.
func Attach(progress io.Writer) (*Node, error) {
	folder, err := Folder()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(folder, "ready")); err != nil {
		return nil, fmt.Errorf("no node is ready; start one with make node-up ARGS=-platform: %w", err)
	}
	n := &Node{
		state: filepath.Join(folder, "state"), progress: progress, started: time.Now(),
		processes: programsIn(folder),
	}
	return n, n.connect(filepath.Join(n.state, "pki", "admin.kubeconfig"))
}

// programsIn returns the programs of a node, some of which call programs outside of the sandbox.
func programsIn(folder string) *process.Group {
	return &process.Group{Dir: folder, Env: []string{
		"PATH=" + filepath.Join(folder, "bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}}
}

// connect creates the administrator's client. The API may not be ready yet.
func (n *Node) connect(kubeconfig string) (err error) {
	n.Kubeconfig = kubeconfig
	if n.Config, err = clientcmd.BuildConfigFromFlags("", n.Kubeconfig); err != nil {
		return err
	}
	n.Config.QPS, n.Config.WarningHandler = -1, rest.NoWarnings{}
	n.Client, err = client.NewWithWatch(n.Config, client.Options{})
	return err
}

// Stop ends all programs. Their pods end with the sandbox.
func (n *Node) Stop() {
	n.processes.Stop()
	n.Registry.Close()
	for _, d := range n.devices {
		_ = errors.Join(d.Chown(0, 0), d.Close()) // Ceph has changed its owner
	}
	_ = n.lock.Close()
}

// occupy locks the folder for one node, until the file is closed.
func occupy(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(errors.New("a node runs already; stop it with make node-down"), lock.Close())
	}
	return lock, nil
}

// Err returns an error when a program has ended unexpectedly, with the end of its log.
func (n *Node) Err() error { return n.processes.Failed() }

func (n *Node) logf(name string) {
	fmt.Fprintf(n.progress, "%5.1f s  %s\n", time.Since(n.started).Seconds(), name)
}

// machine prepares the node's sandbox, and its folders.
func (n *Node) machine() error {
	if !sandbox.Entered() {
		return errors.New("a node needs a sandbox: call sandbox.Enter")
	}
	if err := sandbox.Prepare(); err != nil {
		return err
	}
	// The kubelet, in this sandbox, has to see the mounts of containers.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("cannot share mounts with pods: %w", err)
	}
	for _, dir := range []string{n.state, filepath.Join(n.processes.Dir, "logs")} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	for _, dir := range []string{filepath.Join(n.state, "pki"), filepath.Join(n.state, "pods")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return errors.Join(write(n.state), network())
}

// controlPlane starts the control plane and waits until it serves.
func (n *Node) controlPlane(ctx context.Context) error {
	if err := certificates(filepath.Join(n.state, "pki"), "https://"+nodeAddress+":6443", identities); err != nil {
		return fmt.Errorf("cannot make certificates: %w", err)
	}
	if err := n.connect(filepath.Join(n.state, "pki", "admin.kubeconfig")); err != nil {
		return err
	}
	etcd := kubernetes.Etcd("node", filepath.Join(n.state, "etcd"), etcdAddress, etcdPeers)
	if err := n.processes.Start("etcd", "etcd", nil, etcd...); err != nil {
		return err
	}
	if err := n.processes.Start("kube-apiserver", "kube-apiserver", nil, apiServer(n.state)...); err != nil {
		return err
	}
	// Its images are unpacked while the API server starts.
	if err := n.processes.Start("containerd", "/usr/bin/containerd", nil, "--config", filepath.Join(n.state, "containerd.toml")); err != nil {
		return err
	}
	return kubernetes.Ready(ctx, n.processes, "the API server", n.Config)
}

// agents starts the rest of the control plane and the programs of a node, and waits until they are ready.
func (n *Node) agents(ctx context.Context) error {
	if err := n.processes.Wait(ctx, "containerd", func(context.Context) (bool, error) {
		_, err := os.Stat(socket)
		return err == nil, err
	}); err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		args []string
	}{
		{"kube-controller-manager", controllerManager(n.state)},
		{"kube-scheduler", clientFlags(n.state, "kube-scheduler")},
		{"kubelet", kubelet(n.state)},
		{"kube-proxy", []string{"--config=" + filepath.Join(n.state, "kube-proxy.yaml")}},
	} {
		if err := n.processes.Start(p.name, p.name, nil, p.args...); err != nil {
			return err
		}
	}
	return n.processes.Wait(ctx, "the node", func(ctx context.Context) (bool, error) {
		node := &corev1.Node{}
		if err := n.Client.Get(ctx, types.NamespacedName{Name: nodeName}, node); err != nil {
			return false, err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue, fmt.Errorf("%s: %s", c.Reason, c.Message)
			}
		}
		return false, errors.New("it has not reported that it is ready")
	})
}

// basics installs the basic services of a cluster, and waits until they run.
func (n *Node) basics(ctx context.Context) error {
	all, err := fs.Glob(manifests, "manifests/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range all {
		data, err := manifests.ReadFile(name)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(data), "$VOLUMES", filepath.Join(n.state, "volumes"))
		if err := n.Apply(ctx, []byte(text)); err != nil {
			return err
		}
	}
	return n.WaitDeployments(ctx, "kube-system")
}

// Apply applies the objects of YAML documents with server-side apply. The error is about the first rejected object.
func (n *Node) Apply(ctx context.Context, data []byte) error {
	objects, err := platform.Decode(data)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := n.apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) apply(ctx context.Context, o *unstructured.Unstructured) error {
	if err := n.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("cannot apply %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// WaitDeployments waits until every Deployment of a namespace is available. The error contains the reasons why pods
// wait.
func (n *Node) WaitDeployments(ctx context.Context, namespace string) error {
	return n.processes.Wait(ctx, "the Deployments of "+namespace, func(ctx context.Context) (bool, error) {
		all := &appsv1.DeploymentList{}
		if err := n.Client.List(ctx, all, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		for _, d := range all.Items {
			if d.Status.ObservedGeneration != d.Generation || d.Status.AvailableReplicas < *d.Spec.Replicas {
				return false, fmt.Errorf("%s is not available: %s", d.Name, n.Waiting(ctx, namespace))
			}
		}
		return len(all.Items) > 0, nil
	})
}

// Waiting returns the reasons why containers of a namespace wait.
func (n *Node) Waiting(ctx context.Context, namespace string) string {
	pods := &corev1.PodList{}
	if err := n.Client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	var out []string
	for _, p := range pods.Items {
		for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			switch {
			case c.State.Waiting != nil:
				out = append(out, fmt.Sprintf("%s/%s: %s %s", p.Name, c.Name, c.State.Waiting.Reason, c.State.Waiting.Message))
			case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
				out = append(out, fmt.Sprintf("%s/%s: ended with %d", p.Name, c.Name, c.State.Terminated.ExitCode))
			case c.State.Running != nil && !c.Ready:
				out = append(out, fmt.Sprintf("%s/%s: runs, but is not ready", p.Name, c.Name))
			}
		}
		if len(p.Status.ContainerStatuses) == 0 {
			out = append(out, p.Name+": has not started")
		}
	}
	return strings.Join(out, "; ")
}

// FailedContainerLogs returns the last log lines of the containers of a namespace that are not ready, and of their
// predecessors.
func (n *Node) FailedContainerLogs(ctx context.Context, namespace string) string {
	set, err := clientset.NewForConfig(n.Config)
	if err != nil {
		return err.Error()
	}
	pods, err := set.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, p := range pods.Items {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if c.Ready {
				continue
			}
			for _, previous := range []bool{true, false} {
				if previous && c.RestartCount == 0 {
					continue
				}
				text, err := set.CoreV1().Pods(namespace).GetLogs(p.Name, &corev1.PodLogOptions{
					Container: c.Name, Previous: previous, Timestamps: true, TailLines: new(int64(40)),
				}).DoRaw(ctx)
				fmt.Fprintf(&out, "%s/%s, started %d times, previous: %t\n%s", p.Name, c.Name, c.RestartCount+1, previous, text)
				if err != nil {
					fmt.Fprintln(&out, err)
				}
			}
		}
	}
	return out.String()
}

// Clean removes the remains of a node that has ended: its state, and its control groups, which belong to the kernel and
// not to a sandbox. Logs are kept until the next start. It returns an error while a node runs.
func Clean() error {
	folder, err := Folder()
	if err != nil {
		return err
	}
	lock, err := occupy(folder)
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	groups, err := filepath.Glob("/sys/fs/cgroup/*/kubepods")
	if err != nil {
		return err
	}
	for _, g := range append(groups, "/sys/fs/cgroup/kubepods") {
		var all []string
		_ = filepath.WalkDir(g, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(all) { // the innermost first
			_ = os.Remove(dir)
		}
	}
	for _, k := range kits {
		for _, f := range k.folders {
			_ = os.Remove(f) // unless other files are in it
		}
	}
	return os.RemoveAll(filepath.Join(folder, "state"))
}
