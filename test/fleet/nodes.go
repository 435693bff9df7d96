package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// startup is the time from the binding of a pod until it is ready, and shutdown the time until it ends.
	startup, shutdown = 8 * time.Second, 2 * time.Second
	// kubeletWriters is the number of concurrent writes of all kubelets.
	kubeletWriters = 32
)

// node returns a Node of a pool, with the images of a real one.
func node(i, pool int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host(i), Labels: map[string]string{
		corev1.LabelHostname: host(i), poolLabel: fmt.Sprintf("pool-%d", pool),
	}}}
	n.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	for i := range 50 {
		names := []string{fmt.Sprintf("registry.example.com/image-%d@sha256:%064d", i, i)}
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: names})
	}
	return n
}

// nodes simulates the scheduler, and the kubelet of each node that is not down.
type nodes struct {
	client clientset.Interface
	pods   corelisters.PodLister
	writes chan struct{}

	mutex sync.Mutex
	// down: some of the nodes no longer respond.
	down bool
	// pending are the steps of pods that have been started, by the pod's UID and the step.
	pending map[string]bool
	err     error
}

// startNodes starts to watch the pods of all nodes.
func startNodes(ctx context.Context, c clientset.Interface) (*nodes, error) {
	n := &nodes{client: c, writes: make(chan struct{}, kubeletWriters), pending: map[string]bool{}}
	factory := informers.NewSharedInformerFactory(c, 0)
	pods := factory.Core().V1().Pods()
	n.pods = pods.Lister()
	observe := func(o any) {
		if p, ok := o.(*corev1.Pod); ok {
			n.observe(ctx, p)
		}
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: observe, UpdateFunc: func(_, o any) { observe(o) },
	}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return n, ctx.Err()
}

// observe starts the next step of a pod.
func (n *nodes) observe(ctx context.Context, p *corev1.Pod) {
	switch {
	case p.Spec.NodeName == "":
		n.step(ctx, p, "bind", 0, n.bind)
	case !n.responds(p.Spec.NodeName):
	case p.DeletionTimestamp != nil:
		n.step(ctx, p, "end", shutdown, n.end)
	case p.Status.Phase != corev1.PodRunning:
		n.step(ctx, p, "run", startup, n.run)
	}
}

// responds reports whether the kubelet of a node responds.
func (n *nodes) responds(name string) bool {
	i, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return err != nil || !n.down || !isDown(i)
}

// step runs a step of a pod once, after a delay.
func (n *nodes) step(ctx context.Context, p *corev1.Pod, name string, delay time.Duration, do func(context.Context, *corev1.Pod) error) {
	key := name + string(p.UID)
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.pending[key] {
		return
	}
	n.pending[key] = true
	time.AfterFunc(delay, func() {
		n.writes <- struct{}{}
		defer func() { <-n.writes }()
		if err := do(ctx, p); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			n.mutex.Lock()
			defer n.mutex.Unlock()
			n.err = fmt.Errorf("%s %s/%s: %w", name, p.Namespace, p.Name, err)
		}
	})
}

// failed returns the last error of a step.
func (n *nodes) failed() error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.err
}

// bind binds a pod to the node that the controller of DaemonSets has selected.
func (n *nodes) bind(ctx context.Context, p *corev1.Pod) error {
	for _, term := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField {
				return n.client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
					ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
					Target:     corev1.ObjectReference{Kind: "Node", Name: field.Values[0]},
				}, metav1.CreateOptions{})
			}
		}
	}
	return fmt.Errorf("the pod %s has no node", p.Name)
}

// run reports a pod as ready.
func (n *nodes) run(ctx context.Context, p *corev1.Pod) error {
	return n.report(ctx, p, corev1.ConditionTrue)
}

// end confirms that a pod has ended.
func (n *nodes) end(ctx context.Context, p *corev1.Pod) error {
	now := int64(0)
	return n.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID},
	})
}

// report writes the status of a running pod.
func (n *nodes) report(ctx context.Context, p *corev1.Pod, ready corev1.ConditionStatus) error {
	p = p.DeepCopy()
	// The object has the version before the binding. Only the kubelet writes the status.
	p.ResourceVersion = ""
	now := metav1.Now()
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, HostIP: "10.0.0.1", PodIP: "10.0.0.1"}
	for _, typ := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status := corev1.ConditionTrue
		if typ == corev1.PodReady {
			status = ready
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: typ, Status: status, LastTransitionTime: now})
	}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	_, err := n.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// fail makes some of the nodes stop to respond: their kubelets do nothing, and their objects have the state that Kubernetes' controller of
// nodes gives them after a minute.
func (n *nodes) fail(ctx context.Context, count int) error {
	n.mutex.Lock()
	n.down = true
	n.mutex.Unlock()
	pods, err := n.pods.List(labels.NewSelector())
	if err != nil {
		return err
	}
	if err := parallel(count, func(i int) error {
		if !isDown(i) {
			return nil
		}
		o, err := n.client.CoreV1().Nodes().Get(ctx, host(i), metav1.GetOptions{})
		if err != nil {
			return err
		}
		o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
		if o, err = n.client.CoreV1().Nodes().Update(ctx, o, metav1.UpdateOptions{}); err != nil {
			return err
		}
		o.Status.Conditions[0].Status, o.Status.Conditions[0].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
		_, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, o, metav1.UpdateOptions{})
		return err
	}); err != nil {
		return err
	}
	return parallel(len(pods), func(i int) error {
		if p := pods[i]; p.Spec.NodeName == "" || n.responds(p.Spec.NodeName) {
			return nil
		}
		return n.report(ctx, pods[i], corev1.ConditionFalse)
	})
}
