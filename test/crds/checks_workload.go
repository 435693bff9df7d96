package crds

import (
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var spec = field.NewPath("spec")

// selector ignores Jobs: the server sets their selectors.
func selector(o object) field.ErrorList {
	var desired *metav1.LabelSelector
	switch t := o.typed.(type) {
	case *appsv1.Deployment:
		desired = t.Spec.Selector
	case *appsv1.StatefulSet:
		desired = t.Spec.Selector
	case *appsv1.DaemonSet:
		desired = t.Spec.Selector
	default:
		return nil
	}
	path := spec.Child("selector")
	if desired == nil || len(desired.MatchLabels)+len(desired.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if errs := validSelector(path, desired); len(errs) > 0 {
		return errs
	}
	matches, err := metav1.LabelSelectorAsSelector(desired)
	if err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	}
	if !matches.Matches(labels.Set(o.pod.meta.Labels)) {
		path := o.pod.path.Child("metadata", "labels")
		return field.ErrorList{field.Invalid(path, o.pod.meta.Labels, "the selector does not select them")}
	}
	return nil
}

func validSelector(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

func counts(o object) field.ErrorList {
	var errs field.ErrorList
	check := func(path *field.Path, names []string, values ...*int32) {
		for i, value := range values {
			if value != nil {
				errs = append(errs, notNegative(path.Child(names[i]), *value)...)
			}
		}
	}
	job := []string{"parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished"}
	switch t := o.typed.(type) {
	case *appsv1.Deployment:
		check(spec, []string{"replicas", "revisionHistoryLimit", "progressDeadlineSeconds"},
			t.Spec.Replicas, t.Spec.RevisionHistoryLimit, t.Spec.ProgressDeadlineSeconds)
	case *appsv1.StatefulSet:
		check(spec, []string{"replicas", "revisionHistoryLimit"}, t.Spec.Replicas, t.Spec.RevisionHistoryLimit)
	case *batchv1.Job:
		check(spec, job, t.Spec.Parallelism, t.Spec.Completions, t.Spec.BackoffLimit, t.Spec.TTLSecondsAfterFinished)
	case *batchv1.CronJob:
		s := t.Spec.JobTemplate.Spec
		check(spec.Child("jobTemplate", "spec"), job, s.Parallelism, s.Completions, s.BackoffLimit, s.TTLSecondsAfterFinished)
		check(spec, []string{"successfulJobsHistoryLimit", "failedJobsHistoryLimit"},
			t.Spec.SuccessfulJobsHistoryLimit, t.Spec.FailedJobsHistoryLimit)
	}
	return errs
}

func notNegative(path *field.Path, value int32) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(path, value, "must not be negative")}
	}
	return nil
}

func strategy(o object) field.ErrorList {
	d, ok := o.typed.(*appsv1.Deployment)
	if !ok {
		return nil
	}
	path, s := spec.Child("strategy"), d.Spec.Strategy
	types := []appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType}
	switch {
	case s.Type == appsv1.RecreateDeploymentStrategyType && s.RollingUpdate != nil:
		return field.ErrorList{field.Forbidden(path.Child("rollingUpdate"), "only the type RollingUpdate has it")}
	case s.Type != "" && !slices.Contains(types, s.Type):
		return field.ErrorList{field.NotSupported(path.Child("type"), s.Type, types)}
	}
	if r := s.RollingUpdate; r != nil && isZero(r.MaxSurge) && isZero(r.MaxUnavailable) {
		path := path.Child("rollingUpdate", "maxUnavailable")
		return field.ErrorList{field.Invalid(path, r.MaxUnavailable.String(), "must not be 0 when maxSurge is 0")}
	}
	return nil
}

func volumeClaims(o object) field.ErrorList {
	var errs field.ErrorList
	claim := func(path *field.Path, c corev1.PersistentVolumeClaimSpec) {
		if len(c.AccessModes) == 0 {
			errs = append(errs, field.Required(path.Child("accessModes"), ""))
		}
		if size := c.Resources.Requests[corev1.ResourceStorage]; size.Sign() <= 0 {
			errs = append(errs, field.Required(path.Child("resources", "requests").Key("storage"), ""))
		}
	}
	switch t := o.typed.(type) {
	case *corev1.PersistentVolumeClaim:
		claim(spec, t.Spec)
	case *appsv1.StatefulSet:
		for i, c := range t.Spec.VolumeClaimTemplates {
			claim(spec.Child("volumeClaimTemplates").Index(i).Child("spec"), c.Spec)
		}
	}
	return errs
}

func schedule(o object) field.ErrorList {
	c, ok := o.typed.(*batchv1.CronJob)
	if !ok {
		return nil
	}
	var errs field.ErrorList
	path := spec.Child("schedule")
	if strings.Contains(c.Spec.Schedule, "TZ") {
		errs = append(errs, field.Invalid(path, c.Spec.Schedule, "the time zone belongs into timeZone"))
	} else if _, err := cron.ParseStandard(c.Spec.Schedule); err != nil {
		errs = append(errs, field.Invalid(path, c.Spec.Schedule, err.Error()))
	}
	if zone := c.Spec.TimeZone; zone != nil {
		if _, err := time.LoadLocation(*zone); err != nil || *zone == "" || strings.EqualFold(*zone, "Local") {
			errs = append(errs, field.Invalid(spec.Child("timeZone"), *zone, "must be the name of a time zone such as Etc/UTC"))
		}
	}
	return errs
}
