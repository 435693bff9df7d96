//go:build linux

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// revisionLabel identifies the template of a pod.
const revisionLabel = "pod-template-hash"

// revision returns the revision name of a template.
func revision(t *corev1.PodTemplateSpec) (string, error) {
	text, err := json.Marshal(t)
	return names.Hash(10, string(text)), err
}

// owned returns the pods of an owner, the oldest first; those that are being stopped separately.
func (c *Cluster) owned(uid types.UID) (running, stopping []*pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		switch owner := metav1.GetControllerOf(p.object); {
		case owner == nil || owner.UID != uid:
		case p.stopping.Load():
			stopping = append(stopping, p)
		default:
			running = append(running, p)
		}
	}
	slices.SortFunc(running, func(a, b *pod) int {
		return cmp.Or(a.object.CreationTimestamp.Compare(b.object.CreationTimestamp.Time), strings.Compare(a.object.Name, b.object.Name))
	})
	return running, stopping
}

// deployments performs rolling updates of Deployments: with surge pods first, and no pod is removed before its
// successor is available.
func (c *Cluster) deployments(ctx context.Context) error {
	list := &appsv1.DeploymentList{}
	if err := c.Client.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		if err := c.deployment(ctx, &list.Items[i]); err != nil {
			return fmt.Errorf("cannot roll Deployment %s: %w", list.Items[i].Name, err)
		}
	}
	return nil
}

func (c *Cluster) deployment(ctx context.Context, d *appsv1.Deployment) error {
	hash, err := revision(&d.Spec.Template)
	if err != nil {
		return err
	}
	target := replicasOf(d.Spec.Replicas)
	pods, _ := c.owned(d.UID)
	surge := 1
	if r := d.Spec.Strategy.RollingUpdate; r != nil && r.MaxSurge != nil {
		if surge, err = intstr.GetScaledValueFromIntOrPercent(r.MaxSurge, target, true); err != nil {
			return err
		}
	}
	var current, old []*pod
	ready, available, updated := 0, 0, 0
	for _, p := range pods {
		if p.object.Labels[revisionLabel] == hash {
			p.minReady = d.Spec.MinReadySeconds
			current = append(current, p)
			updated++
		} else {
			old = append(old, p)
		}
		if p.ready.Load() {
			ready++
		}
		if p.available() {
			available++
		}
	}
	switch {
	case len(current) < target && len(pods) < target+surge:
		template := d.Spec.Template.DeepCopy()
		metav1.SetMetaDataLabel(&template.ObjectMeta, revisionLabel, hash)
		name := fmt.Sprintf("%s-%s-%s", d.Name, hash, names.Hash(5, fmt.Sprint(numbers.Add(1))))
		if err := c.start(ctx, name, d, "ReplicaSet", template); err != nil {
			return err
		}
	case len(old) > 0 && (available > target || !old[0].available()):
		old[0].terminate()
	case len(old) == 0 && len(current) > target:
		current[0].terminate()
	}
	counted := d.Generation // the object may be another by now
	return setStatus(ctx, c, d, func(d *appsv1.Deployment) {
		s := &d.Status
		s.ObservedGeneration = counted
		s.Replicas, s.UpdatedReplicas = int32(len(pods)), int32(updated)      //nolint:gosec // a handful
		s.ReadyReplicas, s.AvailableReplicas = int32(ready), int32(available) //nolint:gosec // a handful
	})
}

// available reports whether a pod is available. With minReadySeconds it is not, because the time is not simulated.
func (p *pod) available() bool { return p.ready.Load() && p.minReady == 0 }

// statefulSets starts the pods of StatefulSets, and replaces pods of an earlier template one by one.
func (c *Cluster) statefulSets(ctx context.Context) error {
	list := &appsv1.StatefulSetList{}
	if err := c.Client.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		if err := c.statefulSet(ctx, &list.Items[i]); err != nil {
			return fmt.Errorf("cannot roll StatefulSet %s: %w", list.Items[i].Name, err)
		}
	}
	return nil
}

func (c *Cluster) statefulSet(ctx context.Context, s *appsv1.StatefulSet) error {
	hash, err := revision(&s.Spec.Template)
	if err != nil {
		return err
	}
	running, stopping := c.owned(s.UID)
	ready, updated, target := 0, 0, replicasOf(s.Spec.Replicas)
	var old []*pod // by number, the largest last
	for _, p := range running {
		number, err := strconv.Atoi(strings.TrimPrefix(p.object.Name, s.Name+"-"))
		if err == nil && number >= target {
			p.terminate()
		}
	}
	for i := range target {
		name := fmt.Sprintf("%s-%d", s.Name, i)
		is := func(p *pod) bool { return p.object.Name == name }
		at := slices.IndexFunc(running, is)
		if at < 0 {
			if slices.ContainsFunc(stopping, is) {
				continue
			}
			if err := c.start(ctx, name, s, "StatefulSet", templateOf(s, name, hash)); err != nil {
				return err
			}
			continue
		}
		if running[at].object.Labels[revisionLabel] == hash {
			updated++
		} else {
			old = append(old, running[at])
		}
		if running[at].ready.Load() {
			ready++
		}
	}
	replace(old, ready == target)
	counted := s.Generation // the object may be another by now
	return setStatus(ctx, c, s, func(s *appsv1.StatefulSet) {
		s.Status.ObservedGeneration = counted
		s.Status.Replicas, s.Status.ReadyReplicas = int32(len(running)), int32(ready)       //nolint:gosec // a handful
		s.Status.UpdatedReplicas, s.Status.AvailableReplicas = int32(updated), int32(ready) //nolint:gosec // a handful
	})
}

// replace stops one pod of an earlier template: one that is not ready anyway, or, when all are ready, the one with the
// largest number.
func replace(old []*pod, allReady bool) {
	if at := slices.IndexFunc(old, func(p *pod) bool { return !p.ready.Load() }); at >= 0 {
		old[at].terminate()
	} else if len(old) > 0 && allReady {
		old[len(old)-1].terminate()
	}
}

// templateOf returns the template of a StatefulSet's pod.
func templateOf(s *appsv1.StatefulSet, name, hash string) *corev1.PodTemplateSpec {
	out := s.Spec.Template.DeepCopy()
	metav1.SetMetaDataLabel(&out.ObjectMeta, revisionLabel, hash)
	metav1.SetMetaDataLabel(&out.ObjectMeta, appsv1.StatefulSetPodNameLabel, name)
	out.Spec.Hostname, out.Spec.Subdomain = name, s.Spec.ServiceName
	claims(s, name, &out.Spec)
	return out
}

// claims adds a volume for each template to a pod of a StatefulSet, which outlives the pod.
func claims(s *appsv1.StatefulSet, pod string, spec *corev1.PodSpec) {
	for _, t := range s.Spec.VolumeClaimTemplates {
		spec.Volumes = append(slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == t.Name }),
			corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: t.Name + "-" + pod},
			}})
	}
}

// daemonSets runs one pod on each of their nodes, and replaces pods of an earlier template, one after the other: the
// new one starts when the old one has ended.
func (c *Cluster) daemonSets(ctx context.Context) error {
	list := &appsv1.DaemonSetList{}
	if err := c.Client.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		if err := c.daemonSet(ctx, &list.Items[i]); err != nil {
			return fmt.Errorf("cannot roll DaemonSet %s: %w", list.Items[i].Name, err)
		}
	}
	return nil
}

func (c *Cluster) daemonSet(ctx context.Context, d *appsv1.DaemonSet) error {
	hash, err := revision(&d.Spec.Template)
	if err != nil {
		return err
	}
	running, stopping := c.owned(d.UID)
	ready, updated, target := int32(0), int32(0), int32(0)
	for _, node := range slices.Sorted(maps.Keys(c.Nodes)) {
		here, err := runsOn(c.Nodes[node], &d.Spec.Template.Spec)
		if here = here && !c.isRetired(node); here {
			target++
		}
		p := onNode(node, running)
		switch {
		case p != nil && !here:
			p.terminate()
		case p != nil:
			if p.ready.Load() {
				ready++
			}
			if p.object.Labels[revisionLabel] == hash {
				updated++
			} else if len(stopping) == 0 && gives(d, p, running) {
				p.terminate()
				stopping = append(stopping, p)
			}
		case here && onNode(node, stopping) == nil && c.hasPower(node):
			err = c.startOn(ctx, node, d, hash)
		}
		if err != nil {
			return err
		}
	}
	counted := d.Generation // the object may be another by now
	return setStatus(ctx, c, d, func(d *appsv1.DaemonSet) {
		s := &d.Status
		s.ObservedGeneration, s.DesiredNumberScheduled, s.CurrentNumberScheduled = counted, target, target
		s.NumberReady, s.NumberAvailable, s.UpdatedNumberScheduled = ready, ready, updated
	})
}

// startOn starts the pod of a node.
func (c *Cluster) startOn(ctx context.Context, node string, d *appsv1.DaemonSet, hash string) error {
	template := d.Spec.Template.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, revisionLabel, hash)
	template.Spec.NodeName = node
	return c.start(ctx, fmt.Sprintf("%s-%s", d.Name, names.Hash(5, fmt.Sprint(numbers.Add(1)))), d, "DaemonSet", template)
}

// gives reports whether a pod of an earlier template may be replaced: if it is not ready, or while all others are
// ready.
func gives(d *appsv1.DaemonSet, p *pod, all []*pod) bool {
	broken := func(p *pod) bool { return !p.ready.Load() }
	return d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType && (broken(p) || !slices.ContainsFunc(all, broken))
}

// onNode returns the pod of a node; nil if it has none.
func onNode(node string, pods []*pod) *pod {
	if at := slices.IndexFunc(pods, func(p *pod) bool { return p.nodeName() == node }); at >= 0 {
		return pods[at]
	}
	return nil
}

func (c *Cluster) hasPower(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.off[node]
}

// jobs runs Jobs: one pod after the other, until one succeeds or the limit is reached.
func (c *Cluster) jobs(ctx context.Context) error {
	list := &batchv1.JobList{}
	if err := c.Client.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		if err := c.job(ctx, &list.Items[i]); err != nil {
			return fmt.Errorf("cannot run Job %s: %w", list.Items[i].Name, err)
		}
	}
	return c.collect(ctx, list.Items)
}

// collect removes the pods of deleted Jobs, as Kubernetes' garbage collector does.
func (c *Cluster) collect(ctx context.Context, jobs []batchv1.Job) error {
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods); err != nil {
		return err
	}
	for i := range pods.Items {
		o := &pods.Items[i]
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.Kind != "Job" || slices.ContainsFunc(jobs, func(j batchv1.Job) bool { return j.UID == owner.UID }) {
			continue
		}
		c.mu.Lock()
		p := c.pods[o.UID]
		c.mu.Unlock()
		if p != nil {
			p.terminate() // it is removed when it has ended
		} else if err := c.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) job(ctx context.Context, j *batchv1.Job) error {
	if len(j.Status.Conditions) > 0 || ptr.Deref(j.Spec.Suspend, false) {
		return nil
	}
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods, client.InNamespace(j.Namespace), client.MatchingLabels{batchv1.JobNameLabel: j.Name}); err != nil {
		return err
	}
	succeeded, failed := 0, 0
	for i := range pods.Items {
		p := &pods.Items[i]
		switch {
		case !metav1.IsControlledBy(p, j):
			return nil // it belongs to an earlier Job of the same name, and its name is in use until it has ended
		case p.Status.Phase == corev1.PodSucceeded:
			succeeded++
		case p.Status.Phase == corev1.PodFailed:
			failed++
		default:
			return nil // it runs
		}
	}
	limit := int(ptr.Deref(j.Spec.BackoffLimit, 6))
	if succeeded == 0 && failed <= limit {
		template := j.Spec.Template.DeepCopy()
		metav1.SetMetaDataLabel(&template.ObjectMeta, batchv1.JobNameLabel, j.Name)
		metav1.SetMetaDataLabel(&template.ObjectMeta, batchv1.ControllerUidLabel, string(j.UID))
		if err := setStatus(ctx, c, j, func(j *batchv1.Job) {
			j.Status.StartTime = cmp.Or(j.Status.StartTime, new(metav1.Now()))
		}); err != nil {
			return err
		}
		return c.start(ctx, fmt.Sprintf("%s-%d", j.Name, len(pods.Items)), j, "Job", template)
	}
	end := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	if succeeded == 0 {
		end.Type, end.Reason = batchv1.JobFailed, "BackoffLimitExceeded"
	}
	return setStatus(ctx, c, j, func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{end}
		j.Status.Succeeded, j.Status.Failed = int32(succeeded), int32(failed) //nolint:gosec // a handful
	})
}
