package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	podKind        = corev1.SchemeGroupVersion.WithKind("Pod")
	eventKind      = corev1.SchemeGroupVersion.WithKind("Event")
	volumeKind     = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	nodeKind       = corev1.SchemeGroupVersion.WithKind("Node")
	namespaceKind  = corev1.SchemeGroupVersion.WithKind("Namespace")
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	// ownedKinds are the kinds that operators create, whose pods are followed.
	ownedKinds = []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "StatefulSet"},
		deploymentKind,
		{Group: "apps", Version: "v1", Kind: "DaemonSet"},
		{Group: "batch", Version: "v1", Kind: "Job"},
	}
)

func isWorkload(kind schema.GroupKind) bool {
	return slices.ContainsFunc(ownedKinds, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind })
}

// owned returns the causes for the workloads that the operator of an object has created.
func (w *walk) owned(ctx context.Context, chain []Ref, o object) []Cause {
	self := chain[len(chain)-1]
	if self.Namespace == "" || self.Cluster != "" {
		return nil
	}
	var causes []Cause
	for _, kind := range ownedKinds {
		for _, u := range w.list(ctx, kind, self.Namespace) {
			if !isOwner(o.raw, u) {
				continue
			}
			child, err := observed(u.Object)
			if err != nil || child.check().Ready {
				continue
			}
			causes = append(causes, w.workload(ctx, chain, child.ref(), u.Object)...)
		}
	}
	return causes
}

// isOwner reports whether an object owns another.
func isOwner(owner map[string]any, u unstructured.Unstructured) bool {
	is := unstructured.Unstructured{Object: owner}
	return slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		if r.UID != "" && is.GetUID() != "" {
			return r.UID == is.GetUID()
		}
		return r.Kind == is.GetKind() && r.Name == is.GetName() && r.APIVersion == is.GetAPIVersion()
	})
}

// workload returns the causes for the pods of a Deployment, StatefulSet, DaemonSet or Job, or for its missing pods.
func (w *walk) workload(ctx context.Context, chain []Ref, self Ref, o map[string]any) []Cause {
	var causes []Cause
	for _, u := range w.list(ctx, podKind, self.Namespace) {
		if !selects(o, u) {
			continue
		}
		pod := corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &pod); err != nil {
			continue
		}
		if c, bad := w.pod(ctx, appended(chain, self), &pod); bad {
			causes = append(causes, c)
		}
	}
	if len(causes) == 0 {
		if c, bad := w.withoutPods(ctx, chain, self, o); bad {
			causes = append(causes, c)
		}
	}
	return causes
}

// selects reports whether a workload has a pod.
func selects(workload map[string]any, pod unstructured.Unstructured) bool {
	selector, ok, _ := unstructured.NestedMap(workload, "spec", "selector")
	if !ok {
		return isOwner(workload, pod)
	}
	s := metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &s); err != nil {
		return false
	}
	matcher, err := metav1.LabelSelectorAsSelector(&s)
	return err == nil && !matcher.Empty() && matcher.Matches(labels.Set(pod.GetLabels()))
}

// withoutPods returns the cause for a workload whose pods cannot be created: a quota, a webhook or a policy refuses them.
func (w *walk) withoutPods(ctx context.Context, chain []Ref, self Ref, o map[string]any) (Cause, bool) {
	text := ""
	if child, err := observed(o); err == nil {
		if c, ok := child.Condition("ReplicaFailure"); ok && c.Status == "True" {
			text = c.Message
		}
	}
	if text == "" {
		text = w.event(ctx, self.Namespace, func(e *corev1.Event) bool {
			of := e.InvolvedObject
			return e.Reason == "FailedCreate" && (of.Name == self.Name && of.Kind == self.Kind || isReplicaSetOf(of, self))
		})
	}
	if text == "" {
		return Cause{}, false
	}
	reason, next := classify(text, self)
	return Cause{
		Object: self, Chain: chain, Reason: cmp.Or(reason, "PodsNotCreated"), Message: message(text), rank: rankSpecific,
		Next: append([]string{describe(self)}, next...),
	}, true
}

// isReplicaSetOf reports whether an object is a ReplicaSet of a Deployment: its name is the Deployment's with a hash.
func isReplicaSetOf(of corev1.ObjectReference, deployment Ref) bool {
	hash, ok := strings.CutPrefix(of.Name, deployment.Name+"-")
	return ok && of.Kind == "ReplicaSet" && deployment.Kind == deploymentKind.Kind && !strings.Contains(hash, "-")
}

// event returns the message of the last matching warning, or "".
func (w *walk) event(ctx context.Context, namespace string, match func(*corev1.Event) bool) string {
	text, last := "", metav1.Time{}
	for _, u := range w.list(ctx, eventKind, namespace) {
		e := corev1.Event{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &e); err != nil || !match(&e) {
			continue
		}
		at := e.LastTimestamp
		if at.IsZero() {
			at = metav1.Time{Time: e.EventTime.Time}
		}
		if text == "" || last.Before(&at) {
			text, last = e.Message, at
		}
	}
	return text
}

// podEvent returns the last warning of a pod with any of the reasons.
func (w *walk) podEvent(ctx context.Context, pod *corev1.Pod, reasons ...string) string {
	return w.event(ctx, pod.Namespace, func(e *corev1.Event) bool {
		return e.InvolvedObject.Kind == "Pod" && e.InvolvedObject.Name == pod.Name && slices.Contains(reasons, e.Reason)
	})
}

// pod returns why a pod is not ready, and false if it is ready or complete.
func (w *walk) pod(ctx context.Context, chain []Ref, pod *corev1.Pod) (Cause, bool) {
	self := Ref{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
	cause := func(reason, text string, next ...string) (Cause, bool) {
		return Cause{
			Object: self, Chain: chain, Reason: reason, Message: message(text), Runbook: podRunbooks[reason], rank: rankSpecific,
			Next: append(next, describe(self)),
		}, true
	}
	if pod.Status.Phase == corev1.PodSucceeded || podCondition(pod, corev1.PodReady).Status == corev1.ConditionTrue {
		return Cause{}, false
	}
	if pod.Spec.NodeName != "" {
		if c, down := w.node(ctx, appended(chain, self), pod.Spec.NodeName); down {
			return c, true
		}
	}
	if pod.DeletionTimestamp != nil {
		return transient(cause(reasonTerminating, "the pod is being deleted; finalizers: "+cmp.Or(strings.Join(pod.Finalizers, ", "), "none")))
	}
	if scheduled := podCondition(pod, corev1.PodScheduled); scheduled.Status == corev1.ConditionFalse {
		if c, pending := w.volumes(ctx, appended(chain, self), pod, scheduled.Message); pending {
			return c, true
		}
		return cause("Unschedulable", scheduled.Message, "kubectl get nodes")
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if reason, text, bad := container(pod, c); bad {
			if reason == "ProbeFailing" {
				text = cmp.Or(w.podEvent(ctx, pod, "Unhealthy"), text)
			}
			return cause(reason, text, containerSteps(self, c, reason, text)...)
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return cause(cmp.Or(pod.Status.Reason, "PodFailed"), cmp.Or(pod.Status.Message, "the pod has failed"),
			fmt.Sprintf("kubectl logs %s -n %s --all-containers", word(pod.Name), word(pod.Namespace)))
	}
	if text := w.podEvent(ctx, pod, "FailedMount", "FailedAttachVolume", "FailedMapVolume"); text != "" {
		reason := "VolumeNotMounted"
		if missingObject(text) != nil {
			reason = reasonMissingObject
		}
		return cause(reason, text, missingSteps(text, pod.Namespace)...)
	}
	if text := w.podEvent(ctx, pod, "FailedCreatePodSandBox", "NetworkNotReady"); text != "" {
		return cause("SandboxNotCreated", text)
	}
	return transient(cause("Starting", "the pod is starting: its phase is "+cmp.Or(string(pod.Status.Phase), "unknown")))
}

// transient returns a cause that usually ends without an action, and is shown after others.
func transient(c Cause, bad bool) (Cause, bool) {
	c.rank = rankNotReady
	return c, bad
}

// podRunbooks contains the runbooks for reasons of pods.
var podRunbooks = map[string]string{"OOMKilled": "ContainerOutOfMemory", "CrashLoopBackOff": "ContainerRestarting"}

func podCondition(pod *corev1.Pod, typ corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == typ {
			return c
		}
	}
	return corev1.PodCondition{}
}

const reasonOutOfMemory = "OOMKilled"

// container returns why a container does not run or is not ready.
func container(pod *corev1.Pod, c corev1.ContainerStatus) (reason, text string, bad bool) {
	init := slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
	last := c.LastTerminationState.Terminated
	if c.State.Terminated != nil {
		last = c.State.Terminated
	}
	failed := last != nil && last.ExitCode != 0
	waiting := c.State.Waiting
	switch {
	case c.Ready || init && c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
		return "", "", false
	case failed && last.Reason == reasonOutOfMemory:
		return reasonOutOfMemory, fmt.Sprintf("container %s exceeded its memory limit %s and was restarted %d times", c.Name,
			memoryLimit(pod, c.Name), c.RestartCount), true
	case waiting != nil && waiting.Reason == "CrashLoopBackOff" && last != nil:
		return waiting.Reason, fmt.Sprintf("container %s exits with code %d (%s) and was restarted %d times: %s", c.Name, last.ExitCode,
			last.Reason, c.RestartCount, cmp.Or(last.Message, "see its log")), true
	case waiting != nil && waiting.Reason == "CreateContainerConfigError" && missingObject(waiting.Message) != nil:
		return reasonMissingObject, fmt.Sprintf("container %s cannot start: %s", c.Name, waiting.Message), true
	case waiting != nil && !slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, waiting.Reason):
		return waiting.Reason, fmt.Sprintf("container %s: %s", c.Name, cmp.Or(waiting.Message, "image "+c.Image)), true
	case c.State.Terminated != nil && failed:
		return "ContainerFailed", fmt.Sprintf("container %s exited with code %d (%s): %s", c.Name, last.ExitCode, last.Reason,
			cmp.Or(last.Message, "see its log")), true
	case c.State.Running != nil && !init:
		return "ProbeFailing", fmt.Sprintf("container %s runs and is not ready", c.Name), true
	case c.State.Running != nil:
		return "InitContainerRunning", fmt.Sprintf("init container %s has not finished", c.Name), true
	}
	return "", "", false
}

// containerSteps returns the next commands for a container.
func containerSteps(pod Ref, c corev1.ContainerStatus, reason, text string) []string {
	logs := fmt.Sprintf("kubectl logs %s -c %s -n %s", word(pod.Name), word(c.Name), word(pod.Namespace))
	switch reason {
	case "CrashLoopBackOff", reasonOutOfMemory:
		return []string{logs + " --previous"}
	case "ContainerFailed", "ProbeFailing", "InitContainerRunning":
		return []string{logs}
	case reasonMissingObject:
		return missingSteps(text, pod.Namespace)
	}
	return nil
}

func memoryLimit(pod *corev1.Pod, name string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; c.Name == name && ok {
			return limit.String()
		}
	}
	return "of the node"
}

// volumes returns the cause for a pod whose volume is not provisioned. Many volumes are provisioned only once the pod has a node: such a
// volume is a cause if it has a warning, or if the scheduler's message names volumes.
func (w *walk) volumes(ctx context.Context, chain []Ref, pod *corev1.Pod, scheduler string) (Cause, bool) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		self := Ref{APIVersion: "v1", Kind: volumeKind.Kind, Namespace: pod.Namespace, Name: name}
		u, err := w.get(ctx, volumeKind, pod.Namespace, name)
		if err != nil {
			continue
		}
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == string(corev1.ClaimBound) {
			continue
		}
		text := w.event(ctx, pod.Namespace, func(e *corev1.Event) bool {
			return e.Type == corev1.EventTypeWarning && e.InvolvedObject.Kind == volumeKind.Kind && e.InvolvedObject.Name == name
		})
		if text == "" && scheduler != "" && !strings.Contains(strings.ToLower(scheduler), "volume") {
			continue
		}
		class, _, _ := unstructured.NestedString(u.Object, "spec", "storageClassName")
		return Cause{
			Object: self, Chain: chain, Reason: "VolumePending", rank: rankSpecific,
			Message: message(cmp.Or(text, fmt.Sprintf("the volume of storage class %q is not provisioned", class))),
			Next:    []string{describe(self), "kubectl get storageclasses"},
		}, true
	}
	return Cause{}, false
}

// node returns the cause for the node of a pod, if the node is not ready.
func (w *walk) node(ctx context.Context, chain []Ref, name string) (Cause, bool) {
	u, err := w.get(ctx, nodeKind, "", name)
	if err != nil {
		return Cause{}, false
	}
	n := corev1.Node{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &n); err != nil {
		return Cause{}, false
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			self := Ref{APIVersion: "v1", Kind: nodeKind.Kind, Name: name}
			return Cause{
				Object: self, Chain: chain, Reason: "NodeNotReady", Message: message(cmp.Or(c.Message, "the node is not ready")),
				rank: rankSpecific, Next: []string{describe(self)},
			}, true
		}
	}
	return Cause{}, false
}

// companionName is the name of the companion's Deployment.
const companionName = "companion"

// companion returns the causes for the companion of a namespace.
func (w *walk) companion(ctx context.Context, chain []Ref, namespace string) []Cause {
	var causes []Cause
	for _, u := range w.list(ctx, deploymentKind, namespace) {
		if !strings.Contains(u.GetName(), companionName) {
			continue
		}
		o, err := observed(u.Object)
		if err != nil || o.check().Ready || w.visited[o.ref()] {
			continue
		}
		w.visited[o.ref()] = true
		found := w.workload(ctx, chain, o.ref(), u.Object)
		if len(found) == 0 {
			found = []Cause{notReadyCause(chain, o.ref(), o.check())}
		}
		for i := range found {
			found[i].Runbook = cmp.Or(found[i].Runbook, "CompanionDown")
		}
		causes = append(causes, found...)
	}
	return causes
}
