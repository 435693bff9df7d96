//go:build linux

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// pod is a pod on a node.
type pod struct {
	object  *corev1.Pod
	address string
	// ready and stopping decide whether Services lead to it.
	ready, stopping atomic.Bool
	cluster         *Cluster
	// minReady is minReadySeconds of its Deployment at the time when the pod had its template.
	minReady int32
	stop     chan struct{}
	once     sync.Once
	shares   int           // the process whose network it shares, if it has no separate one
	among    int           // the process whose PID namespace it shares, if containers have no separate ones
	group    string        // the control group of its containers, if they need one
	finished chan struct{} // closed when nothing of it runs any more

	mu         sync.Mutex
	volumes    map[string]*volume
	containers []*sandbox.Container // the first one holds the network
	exit       map[string]int       // of containers that have ended for good
}

// restartPause is the delay before a container is restarted.
const restartPause = time.Second

// start creates a pod of a template with a given name and owner, and runs it.
func (c *Cluster) start(ctx context.Context, name string, owner client.Object, kind string, t *corev1.PodTemplateSpec) error {
	object := &corev1.Pod{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: *t.Spec.DeepCopy()}
	object.Name, object.Namespace = name, owner.GetNamespace()
	object.Spec.NodeName = cmp.Or(object.Spec.NodeName, firstNode)
	object.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true),
	}}
	object.Status.Phase = corev1.PodPending
	if err := c.Client.Create(ctx, object); err != nil {
		return fmt.Errorf("cannot make pod %s: %w", name, err)
	}
	// Output of an earlier pod of that name does not belong to this one.
	for _, containers := range [][]corev1.Container{object.Spec.InitContainers, object.Spec.Containers} {
		for i := range containers {
			if err := os.Remove(c.Log(object.Namespace, name, containers[i].Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("cannot begin the log of pod %s: %w", name, err)
			}
		}
	}
	p := &pod{object: object, cluster: c, stop: make(chan struct{}), finished: make(chan struct{}), exit: map[string]int{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("the cluster is being stopped")
	}
	c.pods[object.UID] = p
	c.done.Go(p.run)
	return nil
}

// run runs a pod until it ends.
func (p *pod) run() {
	ctx := context.Background()
	defer func() {
		p.cluster.mu.Lock()
		delete(p.cluster.pods, p.object.UID)
		p.cluster.mu.Unlock()
		close(p.finished)
	}()
	err := p.setUp(ctx)
	if err == nil {
		err = p.prepare(ctx)
	}
	if err != nil {
		if !p.stopping.Swap(true) {
			p.updateStatus(ctx, corev1.PodFailed, err.Error())
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.containers) > 0 {
			p.containers[0].Kill()
		}
		return
	}
	probing, cancel := context.WithCancel(ctx)
	defer cancel()
	p.cluster.done.Go(func() { p.probe(probing) })
	for i := range p.object.Spec.Containers {
		p.cluster.done.Go(func() { p.keep(ctx, i) })
		p.cluster.done.Go(func() { p.revive(probing, i) })
	}
	p.updateStatus(ctx, corev1.PodRunning, "")
	p.watch(ctx)
}

// setUp waits for the volumes, and assigns an address.
func (p *pod) setUp(ctx context.Context) error {
	for {
		volumes, err := p.cluster.volumes(ctx, p.object)
		if err == nil {
			p.mu.Lock()
			p.volumes = volumes
			p.mu.Unlock()
			break
		}
		if p.wait(tick) {
			return err
		}
	}
	network, err := p.connect()
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.containers = make([]*sandbox.Container, len(p.object.Spec.Containers)+1)
	p.containers[0] = network
	p.object.Status.PodIP, p.object.Status.HostIP = p.address, p.address
	p.mu.Unlock()
	return nil
}

// nodeName returns the node of the pod.
func (p *pod) nodeName() string { return p.object.Spec.NodeName }

// connect gives the pod a separate network, or the node's.
func (p *pod) connect() (network *sandbox.Container, err error) {
	if p.object.Spec.HostPID {
		n, err := p.cluster.theNode(p.nodeName())
		if err != nil {
			return nil, err
		}
		p.among, p.group = n.first.PID(), filepath.Join(n.group, string(p.object.UID))
	}
	if p.object.Spec.HostNetwork {
		n, err := p.cluster.theNode(p.nodeName())
		if err != nil {
			return nil, err
		}
		p.address, p.shares = n.address, n.first.PID()
		if err := p.cluster.network.alias(n.address, podName(n.address, p.object.Namespace)); err != nil {
			return nil, err
		}
		return holder(p.object.Name, "")
	}
	if names := namesOf(p.object); names != nil {
		p.address, _, err = p.cluster.network.name(names...)
	} else {
		p.address = newAddress()
	}
	if err != nil {
		return nil, err
	}
	return holder(p.object.Name, p.address)
}

// prepare runs the init containers, one after the other. The pod fails with the first failure: Jobs have further pods.
func (p *pod) prepare(ctx context.Context) error {
	for i := range p.object.Spec.InitContainers {
		container := &p.object.Spec.InitContainers[i]
		c, err := p.launch(ctx, container, 1)
		if err != nil {
			return err
		}
		if code := c.ExitCode(); code != 0 {
			return fmt.Errorf("init container %s ended with %d", container.Name, code)
		}
	}
	return nil
}

// wait waits for a time, and reports whether the pod is to stop.
func (p *pod) wait(d time.Duration) bool {
	select {
	case <-p.stop:
		return true
	case <-time.After(d):
		return false
	}
}

// grace returns the termination grace period of the containers.
func (p *pod) grace() time.Duration {
	return time.Duration(ptr.Deref(p.object.Spec.TerminationGracePeriodSeconds, 30)) * time.Second
}

// message creates the empty termination message file of a container.
func (p *pod) message(container string) (string, error) {
	file := p.messageFile(container)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	// Any user of the container may write it, whatever the mask of this process is.
	return file, errors.Join(os.WriteFile(file, nil, 0o666), os.Chmod(file, 0o666)) // as a kubelet does
}

func (p *pod) messageFile(container string) string {
	return filepath.Join(p.cluster.dir, "messages", string(p.object.UID)+"_"+container)
}

// last returns each variable once, with its last value: a pod's overrides its image's.
func last(env []string) []string {
	at, out := map[string]int{}, []string(nil)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if i, ok := at[name]; ok {
			out[i] = e
			continue
		}
		at[name] = len(out)
		out = append(out, e)
	}
	return out
}

// secure applies the security contexts of the pod and the container. The user of most images is unknown, so that
// running as root has to be explicit.
func secure(s *sandbox.Spec, pod *corev1.Pod, container *corev1.Container) error {
	of, own := ptr.Deref(pod.Spec.SecurityContext, corev1.PodSecurityContext{}), ptr.Deref(container.SecurityContext, corev1.SecurityContext{})
	user := cmp.Or(own.RunAsUser, of.RunAsUser)
	if user == nil {
		return fmt.Errorf("container %s of pod %s has no user: set runAsUser, to 0 if it has to be root", container.Name, pod.Name)
	}
	s.UserID, s.GroupID = int(*user), int(ptr.Deref(cmp.Or(own.RunAsGroup, of.RunAsGroup), 0))
	if s.UserID == 0 && ptr.Deref(cmp.Or(own.RunAsNonRoot, of.RunAsNonRoot), false) {
		return fmt.Errorf("container %s of pod %s has both runAsUser 0 and runAsNonRoot", container.Name, pod.Name)
	}
	for _, group := range append(slices.Clone(of.SupplementalGroups), ptr.Deref(of.FSGroup, 0)) {
		s.Groups = append(s.Groups, int(group))
	}
	s.Privileged, s.Escalates = ptr.Deref(own.Privileged, false), ptr.Deref(own.AllowPrivilegeEscalation, false)
	s.Writable = !ptr.Deref(own.ReadOnlyRootFilesystem, false)
	if own.Capabilities != nil {
		for _, c := range own.Capabilities.Add {
			s.Capabilities = append(s.Capabilities, string(c))
		}
	}
	return nil
}

func (p *pod) mounted() map[string]*volume {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.volumes
}

// watch waits until the pod has ended or is stopped.
func (p *pod) watch(ctx context.Context) {
	for !p.wait(tick) {
		p.mu.Lock()
		finished, failed := len(p.exit) == len(p.object.Spec.Containers), false
		for _, code := range p.exit {
			failed = failed || code != 0
		}
		p.mu.Unlock()
		if !finished {
			continue
		}
		p.stopping.Store(true)
		p.containers[0].Kill()
		if failed {
			p.updateStatus(ctx, corev1.PodFailed, "")
		} else {
			p.updateStatus(ctx, corev1.PodSucceeded, "")
		}
		return
	}
	p.end()
	err := p.cluster.Client.Delete(ctx, p.object)
	if client.IgnoreNotFound(err) != nil {
		fmt.Fprintln(p.cluster.Progress, "cluster: cannot delete a pod:", err)
	}
}

// terminate stops a pod as Kubernetes does; it does not wait.
func (p *pod) terminate() {
	p.stopping.Store(true)
	p.once.Do(func() { close(p.stop) })
}

// kill kills a pod.
func (p *pod) kill() {
	p.stopping.Store(true)
	p.mu.Lock()
	for _, c := range p.containers {
		if c != nil {
			c.Kill()
		}
	}
	p.mu.Unlock()
	p.terminate()
	<-p.finished
}

// end runs the hooks, then terminates the containers, all within the grace period.
func (p *pod) end() {
	grace := p.grace()
	deadline := time.Now().Add(grace)
	p.mu.Lock()
	running := append([]*sandbox.Container{}, p.containers...)
	p.mu.Unlock()
	var wait sync.WaitGroup
	for i, c := range running[1:] {
		if c == nil {
			continue
		}
		wait.Go(func() {
			p.preStop(i, c, deadline)
			if !c.Stop(time.Until(deadline)) {
				fmt.Fprintf(p.cluster.Progress, "cluster: container %s of pod %s did not end within %s; the end of its log:\n%s",
					p.object.Spec.Containers[i].Name, p.object.Name, grace, p.tail(15))
			}
		})
	}
	wait.Wait()
	running[0].Kill()
}

// preStop runs the hook of the i-th container, at most for the grace period.
func (p *pod) preStop(i int, c *sandbox.Container, deadline time.Time) {
	l := p.object.Spec.Containers[i].Lifecycle
	if l == nil || l.PreStop == nil || !c.Running() {
		return
	}
	switch hook := l.PreStop; {
	case hook.Sleep != nil:
		time.Sleep(min(time.Duration(hook.Sleep.Seconds)*time.Second, time.Until(deadline)))
	case hook.Exec != nil:
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		if err := p.exec(ctx, i, hook.Exec.Command); err != nil {
			fmt.Fprintf(p.cluster.Progress, "cluster: the hook of pod %s failed: %v\n", p.object.Name, err)
		}
	}
}

// updateStatus writes the pod's status.
func (p *pod) updateStatus(ctx context.Context, phase corev1.PodPhase, message string) {
	p.mu.Lock()
	exit := maps.Clone(p.exit)
	p.mu.Unlock()
	err := setStatus(ctx, p.cluster, p.object.DeepCopy(), func(o *corev1.Pod) {
		if o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed {
			return // a probe that started before the end, and finishes after it, does not make the pod ready again
		}
		o.Status.Phase, o.Status.PodIP, o.Status.HostIP, o.Status.Message = phase, p.address, p.address, message
		ready := corev1.ConditionFalse
		if p.ready.Load() {
			ready = corev1.ConditionTrue
		}
		o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		o.Status.ContainerStatuses = nil
		for _, c := range o.Spec.Containers {
			s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: p.ready.Load()}
			if code, ok := exit[c.Name]; ok {
				// An unreadable message is ignored.
				message, _ := os.ReadFile(p.messageFile(c.Name))
				s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(code), Message: string(message)} //nolint:gosec // 0 to 255
			} else if phase == corev1.PodRunning {
				s.State.Running = &corev1.ContainerStateRunning{}
			}
			o.Status.ContainerStatuses = append(o.Status.ContainerStatuses, s)
		}
	})
	if err != nil {
		fmt.Fprintln(p.cluster.Progress, "cluster: cannot write the status of a pod:", err)
	}
}

// tail returns the end of the containers' output.
func (p *pod) tail(lines int) string {
	var out strings.Builder
	for _, c := range slices.Concat(p.object.Spec.InitContainers, p.object.Spec.Containers) {
		text, err := os.ReadFile(p.cluster.Log(p.object.Namespace, p.object.Name, c.Name))
		if err == nil {
			out.WriteString(lastLines(string(text), lines))
		}
	}
	return out.String()
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n") + "\n"
}
