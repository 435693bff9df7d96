package service

import (
	"encoding/json"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// releaseLabel names the release that a pod of an API is of, which cuts over.
const releaseLabel = "openstack.c5c3.io/release"

// never is how long a new pod has to be ready before an earlier one goes, while the cutover is to come: only that ends it, whatever time it
// takes. The deadline has to be later, and the latest one is none
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#progress-deadline-seconds).
const (
	never      = noDeadline - 1
	noDeadline = math.MaxInt32
)

// cutover is how an API goes to another release where the earlier release cannot read what the later one writes: no two answer at the same
// time. As many pods of the new release as there are of the earlier one start beside these, ready and not asked; then the Service leads to
// them, all at once; then they count, and those of the earlier one go.
type cutover struct {
	// to is the release that pods are of now, and serving the one that the Service leads to. Empty: whatever there is.
	to, serving string
	// waits says that pods of both are there until the Service leads to the new ones.
	waits bool
	// template is that of pods which are asked, or will be at any moment, and do not count: with another one they would go at once, as if they
	// did not work. Nil: there are none.
	template *corev1.PodTemplateSpec
}

func (s *Service) deriveCutover(observed observe.State) error {
	to := string(s.Effective)
	s.cutover = cutover{to: to, serving: to}
	leads, led := observed.Get(serviceResource)
	pods, run := observed.Get(s.pods())
	if !led || !run {
		return nil
	}
	serving, of := servingOf(leads), releaseOf(pods)
	switch next := servingOf(leads.Desired()); {
	case next != serving: // at any moment
		return s.keep(pods, next, waiting(pods.Desired()))
	case of == serving && releaseOf(pods.Desired()) == serving && (waiting(pods) || !counted(pods)):
		return s.keep(pods, serving, false)
	case serving == to:
		return nil
	case of == to && applied(pods) && replaceable(pods):
		return s.keep(pods, to, true)
	}
	s.cutover.serving, s.cutover.waits = serving, true
	return nil
}

// keep leaves the template of the pods as it was desired last, whatever is edited meanwhile.
func (s *Service) keep(pods *observe.Object, serving string, waits bool) error {
	s.cutover = cutover{serving: serving, waits: waits, template: &corev1.PodTemplateSpec{}}
	text, err := json.Marshal(pods.Desired().Map("spec", "template"))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, s.cutover.template)
}

func servingOf(leads *observe.Object) string { return leads.String("spec", "selector", releaseLabel) }

func releaseOf(pods *observe.Object) string {
	return pods.String("spec", "template", "metadata", "labels", releaseLabel)
}

// waiting says that the pods of the template do not count however long they are ready.
func waiting(pods *observe.Object) bool {
	n, _ := pods.Int("spec", "minReadySeconds")
	return n > 0
}

// counted says that whatever is ready counts by now.
func counted(pods *observe.Object) bool {
	return count(pods, "observedGeneration") == pods.Generation() && count(pods, "availableReplicas") >= count(pods, "readyReplicas")
}

func count(pods *observe.Object, field string) int64 { n, _ := pods.Int("status", field); return n }

// applied says that nothing which was desired of an object is still to come.
func applied(o *observe.Object) bool {
	return o.Annotation(compose.HashAnnotation) == o.Desired().Annotation(compose.HashAnnotation)
}

// replaceable says that as many new pods are ready as there are to be. None of them is available as long as it waits, and all earlier ones
// are that are ready.
func replaceable(pods *observe.Object) bool {
	desired, _ := pods.Int("spec", "replicas")
	if count(pods, "observedGeneration") != pods.Generation() || count(pods, "updatedReplicas") < desired {
		return false
	}
	ready := count(pods, "readyReplicas")
	if count(pods, "replicas") > count(pods, "updatedReplicas") {
		ready -= count(pods, "availableReplicas")
	}
	return ready >= desired
}

// roll makes the API's pods and its Service cut over.
func (c cutover) roll(pods *appsv1.Deployment, leads *corev1.Service) {
	if c.template != nil {
		pods.Spec.Template = *c.template
	} else {
		pods.Spec.Template.Labels[releaseLabel] = c.to
	}
	if c.serving != "" {
		leads.Spec.Selector[releaseLabel] = c.serving
	}
	if c.waits {
		pods.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromString("100%"))
		pods.Spec.MinReadySeconds, pods.Spec.ProgressDeadlineSeconds = never, new(int32(noDeadline))
	}
}
