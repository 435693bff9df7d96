//go:build node && linux

package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/node"
	"github.com/c5c3/crossplane-cobaltcore/test/node/podaccess"
)

const (
	// neighbor is the namespace of another tenant, with a pod that accepts connections.
	neighbor = "tenant-neighbor"
	// functions is the namespace of the pods of functions.
	functions = "crossplane-system"
	// probeImage contains only /probe.
	probeImage = "cobaltcore.test/probe:1"
)

// accept: the summary is accepted instead of compared.
var accept = flag.Bool("accept", false, "accept the access of pods that TestProbeFindsOnlyAcceptedAccess observes")

// latest are the workloads of probe.yaml that are created last, pending one that does not become ready: its Ceph does not exist.
var (
	latest  = []string{"cinder", "cinder-backup", "heat-engine", "horizon", "neutron-periodic", "nova-cell1-vnc", "nova-metadata", "ovn-northd"}
	pending = "cinder-volume-rbd"
)

// TestProbeFindsOnlyAcceptedAccess runs a probe in each container of each kind of pod of a control plane with all services, and of the
// functions. It compares the observed access with the accepted summary, which docs/reference/probed-access.md shows.
func TestProbeFindsOnlyAcceptedAccess(t *testing.T) {
	if !selected("ProbeFindsOnlyAcceptedAccess") {
		t.Skip("it needs most of the memory: RUN=TestProbeFindsOnlyAcceptedAccess")
	}
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 50*time.Minute)
	defer cancel()
	p := &prober{pods: map[types.UID]*corev1.Pod{}}
	stop := p.watch(ctx)
	defer stop()
	p.order(ctx, t)
	p.observe(ctx, t)
	save(t, &p.observation)
	check(t, podaccess.Summarize(&p.observation))
}

// check compares a summary with the accepted one, or accepts it.
func check(t *testing.T, observed []podaccess.Kind) {
	t.Helper()
	if *accept {
		data, err := podaccess.Marshal(observed)
		if err == nil {
			err = os.WriteFile(filepath.Join("podaccess", "accepted.yaml"), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	accepted, err := podaccess.Accepted()
	if err != nil {
		t.Fatal(err)
	}
	all := podaccess.Compare(accepted, observed)
	for _, difference := range all {
		t.Error(difference)
	}
	if len(all) > 0 {
		t.Error("the access of pods has changed; fix it, or accept it: review the lines above, run " +
			"make test-e2e RUN='^TestProbeFindsOnlyAcceptedAccess$$' ACCEPT=1 and make generate, and commit test/node/podaccess/accepted.yaml and the page")
	}
}

// prober collects an observation.
type prober struct {
	namespace string
	mu        sync.Mutex
	// pods are all pods that ever existed.
	pods        map[types.UID]*corev1.Pod
	observation podaccess.Observation
}

// watch records pods until it is stopped.
func (p *prober) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := sync.WaitGroup{}
	done.Go(func() {
		for ; ctx.Err() == nil; wait(ctx, time.Second) {
			w, err := cluster.Client.Watch(ctx, &corev1.PodList{})
			if err != nil {
				continue
			}
			for event := range w.ResultChan() {
				if pod, ok := event.Object.(*corev1.Pod); ok {
					p.mu.Lock()
					p.pods[pod.UID] = pod
					p.mu.Unlock()
				}
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// order creates the neighbor and the claim, and waits for the workloads of the claim.
func (p *prober) order(ctx context.Context, t *testing.T) {
	t.Helper()
	claim := decode(t, "testdata/probe.yaml")
	namespaceOf(ctx, t, claim)
	other := pod(neighbor, "neighbor", corev1.Container{Name: "neighbor", Image: probeImage, Command: []string{"/probe", "wait"}})
	other.Labels = map[string]string{"app": "neighbor"}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: neighbor}},
		other,
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: neighbor, Name: "neighbor"},
			Spec:       corev1.ServiceSpec{Selector: other.Labels, Ports: []corev1.ServicePort{{Port: 8080}}},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: claim.GetNamespace(), Name: "ceph-volumes"},
			StringData: map[string]string{
				"ceph.conf": "[global]\nfsid = 6b7ca2c6-2f52-4c8b-8a50-6e5a4f9fbe0a\nmon_host = 192.0.2.1\n",
				"keyring":   "[client.cinder]\n\tkey = AQDIgb1mAAAAABAAqzFLSX8vJgBbeXUBKXhRZQ==\n",
			},
		},
	} {
		if err := within(ctx, time.Minute, func() error { return client.IgnoreAlreadyExists(cluster.Client.Create(ctx, o)) }); err != nil {
			t.Fatal(err)
		}
	}
	started := time.Now()
	apply(ctx, t, claim)
	if err := within(ctx, 5*time.Minute, func() error {
		all := &corev1.NamespaceList{}
		if err := cluster.Client.List(ctx, all); err != nil {
			return err
		}
		for _, n := range all.Items {
			if strings.HasPrefix(n.Name, claim.GetNamespace()+"-"+claim.GetName()+"-") {
				p.namespace = n.Name
				return nil
			}
		}
		return errors.New("the claim has no namespace for its workloads")
	}); err != nil {
		t.Fatal(err)
	}
	last := time.Now()
	if err := within(ctx, 25*time.Minute, func() error {
		err := p.workloads(ctx)
		if err != nil && stopwatch.Since(last) > time.Minute {
			last = time.Now()
			t.Logf("after %.0f s: %v", time.Since(started).Seconds(), err)
		}
		return err
	}); err != nil {
		// Running pods are probed; the missing kinds of pods fail the comparison.
		t.Errorf("%v\n%s\n%s", err, cluster.Waiting(ctx, p.namespace), cluster.FailedContainerLogs(ctx, p.namespace))
	}
	t.Logf("the workloads are ready after %.0f s", time.Since(started).Seconds())
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(claim.GroupVersionKind())
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), current); err == nil {
		conditions, _, _ := unstructured.NestedSlice(current.Object, "status", "conditions")
		for _, c := range conditions {
			m, _ := c.(map[string]any)
			t.Logf("  %s=%s %s", m["type"], m["status"], m["message"])
		}
	}
}

// workloads returns an error that names a workload that is missing or not ready.
func (p *prober) workloads(ctx context.Context) error {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	in := client.InNamespace(p.namespace)
	if err := errors.Join(cluster.Client.List(ctx, deployments, in), cluster.Client.List(ctx, sets, in)); err != nil {
		return err
	}
	ready := map[string]bool{}
	for _, d := range deployments.Items {
		ready[d.Name] = d.Status.AvailableReplicas >= *d.Spec.Replicas
	}
	for _, s := range sets.Items {
		ready[s.Name] = s.Status.ReadyReplicas >= *s.Spec.Replicas || s.Name == pending
	}
	var missing []string
	for _, name := range append(slices.Sorted(maps.Keys(ready)), latest...) {
		if !ready[name] && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if _, ok := ready[pending]; !ok {
		missing = append(missing, pending)
	}
	if len(missing) > 0 {
		return fmt.Errorf("workloads are not ready: %s", strings.Join(missing, ", "))
	}
	return nil
}

// pod returns a pod that meets the restricted standard.
func pod(namespace, name string, c corev1.Container) *corev1.Pod {
	c.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(bool), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{c}, RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(bool),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
}

// observe runs the probe everywhere.
func (p *prober) observe(ctx context.Context, t *testing.T) {
	t.Helper()
	p.copies(ctx, t)
	o := &p.observation
	o.Namespace = p.namespace
	running := &corev1.PodList{}
	if err := cluster.Client.List(ctx, running); err != nil {
		t.Fatal(err)
	}
	o.Pods = running.Items
	policies, namespaces, services, slicesOf := &networkingv1.NetworkPolicyList{}, &corev1.NamespaceList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	if err := errors.Join(cluster.Client.List(ctx, policies), cluster.Client.List(ctx, namespaces), cluster.Client.List(ctx, services),
		cluster.Client.List(ctx, slicesOf)); err != nil {
		t.Fatal(err)
	}
	o.Policies, o.Namespaces, o.Services, o.Endpoints = policies.Items, namespaces.Items, services.Items, slicesOf.Items
	for i := range o.Pods {
		o.Containers = append(o.Containers, p.containers(&o.Pods[i])...)
	}
	p.each(ctx, t, "facts", nil, func(c *podaccess.Container, out []byte) error {
		c.Facts = &podaccess.Facts{}
		return json.Unmarshal(out, c.Facts)
	})
	addresses := o.Addresses()
	t.Logf("%d containers, %d addresses", len(o.Containers), len(addresses))
	p.each(ctx, t, "connect", []byte(strings.Join(addresses, "\n")), func(c *podaccess.Container, out []byte) error {
		c.Open = strings.Fields(string(out))
		return nil
	})
}

// each runs a command of the probe in each container, and reads its output.
func (p *prober) each(ctx context.Context, t *testing.T, command string, input []byte, read func(*podaccess.Container, []byte) error) {
	t.Helper()
	const parallel = 4
	var all errgroup.Group
	all.SetLimit(parallel)
	for i := range p.observation.Containers {
		c := &p.observation.Containers[i]
		all.Go(func() error {
			out, err := inContainer(ctx, *c, command, input)
			if err == nil {
				err = read(c, out)
			}
			if err != nil {
				c.Error = err.Error()
				t.Errorf("cannot probe %s/%s: %s: %v", c.Pod, c.Container, command, err)
			}
			return nil
		})
	}
	_ = all.Wait() // Errors are reported for each container.
}

// containers returns the containers of a pod that runs now and belongs to the claim or to a function.
func (p *prober) containers(running *corev1.Pod) []podaccess.Container {
	l := running.Labels
	if strings.HasPrefix(running.Name, pending) || running.Namespace != p.namespace && (running.Namespace != functions || l["pkg.crossplane.io/function"] == "") {
		return nil
	}
	var out []podaccess.Container
	for _, c := range slices.Concat(running.Status.InitContainerStatuses, running.Status.ContainerStatuses) {
		_, id, ok := strings.Cut(c.ContainerID, "://")
		if !ok || c.State.Running == nil {
			continue
		}
		out = append(out, podaccess.Container{
			Namespace: running.Namespace, Pod: running.Name, Container: c.Name, ID: id, CopyOf: running.Annotations[podaccess.CopyOf],
		})
	}
	return out
}

// rootOf is the root of a container's file system, which also the containerd of the node can write.
const rootOf = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/rootfs"

// inContainer runs the probe as the kubelet runs a command in a container: with its user, its namespaces and its privileges.
func inContainer(ctx context.Context, c podaccess.Container, command string, input []byte) ([]byte, error) {
	folder, err := node.Folder()
	if err != nil {
		return nil, err
	}
	if c.CopyOf == "" { // Copies have the probe's image.
		program := filepath.Join(fmt.Sprintf(rootOf, c.ID), "probe")
		if err := copyProgram(filepath.Join(folder, "bin", "probe"), program); err != nil {
			return nil, err
		}
		defer os.Remove(program)
	}
	ctx, cancel := stopwatch.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(folder, "bin", "kubectl"), "--kubeconfig="+cluster.Kubeconfig, "exec", "-i",
		"-n", c.Namespace, c.Pod, "-c", c.Container, "--", "/probe", command)
	stderr := &strings.Builder{}
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr)
	}
	return out, nil
}

// copyProgram copies a program.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// copies creates a pod with the mounts, variables, user and account of each kind of pod, and of each init container, that does not run any
// more or does not run yet, and waits until all run. Copies have no labels, so that no Service or controller selects them.
func (p *prober) copies(ctx context.Context, t *testing.T) {
	t.Helper()
	jobs := &batchv1.CronJobList{}
	if err := cluster.Client.List(ctx, jobs, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	originals := p.ended()
	for _, j := range jobs.Items {
		template := j.Spec.JobTemplate.Spec.Template
		originals["CronJob "+j.Name] = &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	}
	p.observation.Originals = map[string]corev1.Pod{}
	created := 0
	for _, owner := range slices.Sorted(maps.Keys(originals)) {
		original := originals[owner]
		p.observation.Originals[owner] = *original
		copied := duplicate(original, owner, p.namespace, fmt.Sprintf("probe-%d", created))
		if len(copied.Spec.Containers) == 0 {
			continue
		}
		if err := cluster.Client.Create(ctx, copied); err != nil {
			t.Errorf("cannot copy the pod of %s: %v", owner, err)
			continue
		}
		created++
	}
	if err := within(ctx, 4*time.Minute, func() error {
		all := &corev1.PodList{}
		if err := cluster.Client.List(ctx, all, client.InNamespace(p.namespace)); err != nil {
			return err
		}
		var waiting []string
		for i := range all.Items {
			if owner := all.Items[i].Annotations[podaccess.CopyOf]; owner != "" && !allRun(&all.Items[i]) {
				waiting = append(waiting, owner)
			}
		}
		if len(waiting) > 0 {
			return fmt.Errorf("copies of pods do not run: %s: %s", strings.Join(waiting, ", "), cluster.Waiting(ctx, p.namespace))
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// ended returns a pod of each workload that has no running pod, or whose pods have init containers, by owner.
func (p *prober) ended() map[string]*corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]*corev1.Pod{}
	for _, pod := range p.pods {
		owner := podaccess.Owner(pod)
		if known := out[owner]; pod.Namespace == p.namespace && (known == nil || !allRun(known) && allRun(pod)) {
			out[owner] = pod
		}
	}
	maps.DeleteFunc(out, func(_ string, pod *corev1.Pod) bool { return allRun(pod) && len(pod.Spec.InitContainers) == 0 })
	return out
}

// allRun reports whether all containers of a pod run, except for pods of the workload that does not become ready: they restart.
func allRun(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !strings.HasPrefix(pod.Name, pending) && len(pod.Status.ContainerStatuses) == len(pod.Spec.Containers) &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running == nil })
}

// duplicate returns a copy of a pod in which the probe waits: of its containers, or if they run, of its init containers.
func duplicate(original *corev1.Pod, owner, namespace, name string) *corev1.Pod {
	spec := original.Spec.DeepCopy()
	var all []corev1.Container
	if !allRun(original) {
		all = spec.Containers
	}
	for _, c := range spec.InitContainers {
		if c.RestartPolicy == nil { // Others run next to the containers.
			all = append(all, c)
		}
	}
	for i := range all {
		c := &all[i]
		c.Image, c.ImagePullPolicy, c.Command, c.Args, c.WorkingDir = probeImage, corev1.PullIfNotPresent, []string{"/probe", "wait"}, nil, ""
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
		c.Ports, c.Resources = nil, corev1.ResourceRequirements{}
		if i > 0 { // Its port is taken.
			c.Command = []string{"/probe", "wait", strconv.Itoa(8080 + i)}
		}
	}
	spec.Containers, spec.InitContainers, spec.NodeName, spec.Hostname, spec.Subdomain = all, nil, "", "", ""
	spec.RestartPolicy, spec.ActiveDeadlineSeconds, spec.TopologySpreadConstraints, spec.Affinity = corev1.RestartPolicyNever, nil, nil, nil
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{podaccess.CopyOf: owner}}, Spec: *spec,
	}
}

// save writes the observation for later analysis.
func save(t *testing.T, o *podaccess.Observation) {
	t.Helper()
	dir := filepath.Join("..", "..", "out", "probe")
	data, err := json.Marshal(o)
	if err == nil {
		err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "observation.json"), data, 0o600))
	}
	if err != nil {
		t.Error(err)
	}
}
