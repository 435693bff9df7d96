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

// releaseLabel is the label with the release of an API pod, if the API needs a cutover.
const releaseLabel = "openstack.c5c3.io/release"

// never is the minReadySeconds of new pods before the cutover: they must not become available, and thereby replace the
// earlier pods, until the Service selects them, however long that takes. The progress deadline must be greater than
// minReadySeconds, and its maximum disables it
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#progress-deadline-seconds).
const (
	never      = noDeadline - 1
	noDeadline = math.MaxInt32
)

// cutover describes how an API switches to another release if the earlier release cannot read data written by the later
// one, so that the two must never serve at the same time. First, as many pods of the new release as of the earlier one
// start; they are ready, but the Service does not select them. Then the selector of the Service is changed to the new
// release. Then the new pods count as available, and the pods of the earlier release are removed.
type cutover struct {
	// to is the release of the pods, serving the release selected by the Service. Empty: the selector has no release.
	to, serving string
	// waits is true while pods of both releases run and the Service does not select the new ones yet.
	waits bool
	// template is the current pod template, kept while its pods serve, or may serve at any moment, without being available.
	// With another template, the Deployment would remove them immediately as unavailable pods. Nil: there are no such pods.
	template *corev1.PodTemplateSpec
}

func (b *Base) deriveCutover(observed observe.State) error {
	to := string(b.Effective)
	b.cutover = cutover{to: to, serving: to}
	svc, led := observed.Get(serviceResource)
	pods, run := observed.Get(b.pods())
	if !led || !run {
		return nil
	}
	serving, of := servingOf(svc), releaseOf(pods)
	switch next := servingOf(svc.Desired()); {
	case next != serving: // The Service may switch at any moment.
		return b.keep(pods, next, waiting(pods.Desired()))
	case of == serving && releaseOf(pods.Desired()) == serving && (waiting(pods) || !counted(pods)):
		return b.keep(pods, serving, false)
	case serving == to:
		return nil
	case of == to && applied(pods) && replaceable(pods):
		return b.keep(pods, to, true)
	}
	b.cutover.serving, b.cutover.waits = serving, true
	return nil
}

// keep keeps the last desired pod template, even if the spec changes meanwhile.
func (b *Base) keep(pods *observe.Object, serving string, waits bool) error {
	b.cutover = cutover{serving: serving, waits: waits, template: &corev1.PodTemplateSpec{}}
	text, err := json.Marshal(pods.Desired().Map("spec", "template"))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, b.cutover.template)
}

func servingOf(svc *observe.Object) string { return svc.String("spec", "selector", releaseLabel) }

func releaseOf(pods *observe.Object) string {
	return pods.String("spec", "template", "metadata", "labels", releaseLabel)
}

// waiting reports whether the pods cannot become available because minReadySeconds is set.
func waiting(pods *observe.Object) bool {
	n, _ := pods.Int("spec", "minReadySeconds")
	return n > 0
}

// counted reports whether all ready pods are available.
func counted(pods *observe.Object) bool {
	return count(pods, "observedGeneration") == pods.Generation() && count(pods, "availableReplicas") >= count(pods, "readyReplicas")
}

func count(pods *observe.Object, field string) int64 { n, _ := pods.Int("status", field); return n }

// applied reports whether the desired state of an object is completely applied.
func applied(o *observe.Object) bool {
	return o.Annotation(compose.HashAnnotation) == o.Desired().Annotation(compose.HashAnnotation)
}

// replaceable reports whether all desired new pods are ready. New pods are not available while they wait; all ready pods of
// the earlier release are available.
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

// roll applies the cutover to the Deployment and the Service of the API.
func (c cutover) roll(pods *appsv1.Deployment, svc *corev1.Service) {
	if c.template != nil {
		pods.Spec.Template = *c.template
	} else {
		pods.Spec.Template.Labels[releaseLabel] = c.to
	}
	if c.serving != "" {
		svc.Spec.Selector[releaseLabel] = c.serving
	}
	if c.waits {
		pods.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromString("100%"))
		pods.Spec.MinReadySeconds, pods.Spec.ProgressDeadlineSeconds = never, new(int32(noDeadline))
	}
}
