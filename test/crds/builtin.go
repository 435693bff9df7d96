package crds

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// builtin contains the API groups of Kubernetes whose objects are emitted.
var builtin = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme,
		batchv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
		rbacv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err) // two groups with the same kind: an error in this list
		}
	}
	return s
}()

// An object is a decoded object of a built-in kind, with the parts that several checks need.
type object struct {
	metav1.Object

	kind  string
	typed any
	// pod is the pod that a workload makes, or the Pod itself; nil for all other kinds.
	pod *pod
}

// A pod contains a pod's metadata and spec, wherever they are in an object.
type pod struct {
	path *field.Path
	meta *metav1.ObjectMeta
	spec *corev1.PodSpec
	// claims are the names of a StatefulSet's volume claim templates, which can be mounted like volumes.
	claims []string
	// restart are the restart policies that the owner allows, none: any. The empty one stands for Always.
	restart []corev1.RestartPolicy
}

// validateBuiltin decodes an object strictly into its Go type and runs the checks on it.
func validateBuiltin(obj map[string]any, gvk runtimeschema.GroupVersionKind) field.ErrorList {
	typed, err := builtin.New(gvk)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	strict, err := kjson.UnmarshalStrict(data, typed)
	if err != nil {
		return field.ErrorList{mistyped(err)}
	}
	var errs field.ErrorList
	for _, err := range strict {
		path, detail := field.NewPath(""), err.Error()
		if at := (kjson.FieldError)(nil); errors.As(err, &at) {
			path, detail = field.NewPath(at.FieldPath()), strings.TrimSuffix(detail, ` "`+at.FieldPath()+`"`)
		}
		errs = append(errs, field.Forbidden(path, detail))
	}
	meta, ok := typed.(metav1.Object)
	if !ok {
		return append(errs, field.Invalid(field.NewPath("kind"), gvk.Kind, "is not a kind of objects that are created"))
	}

	o := object{Object: meta, kind: gvk.Kind, typed: typed, pod: podOf(typed)}
	for _, c := range checks {
		for _, e := range c.run(o) {
			e.Detail = cmp.Or(e.Detail, c.name)
			errs = append(errs, e)
		}
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

// mistyped returns the field with a value that does not fit its Go type.
func mistyped(err error) *field.Error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return field.TypeInvalid(field.NewPath(wrong.Field), wrong.Value, "must be of type "+wrong.Type.String())
	}
	return field.Invalid(nil, field.OmitValueType{}, err.Error())
}

func podOf(typed any) *pod {
	template := field.NewPath("spec", "template")
	always := []corev1.RestartPolicy{"", corev1.RestartPolicyAlways}
	ends := []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}
	switch o := typed.(type) {
	case *corev1.Pod:
		return &pod{meta: &o.ObjectMeta, spec: &o.Spec}
	case *appsv1.Deployment:
		return &pod{path: template, meta: &o.Spec.Template.ObjectMeta, spec: &o.Spec.Template.Spec, restart: always}
	case *appsv1.DaemonSet:
		return &pod{path: template, meta: &o.Spec.Template.ObjectMeta, spec: &o.Spec.Template.Spec, restart: always}
	case *appsv1.StatefulSet:
		p := &pod{path: template, meta: &o.Spec.Template.ObjectMeta, spec: &o.Spec.Template.Spec, restart: always}
		for _, claim := range o.Spec.VolumeClaimTemplates {
			p.claims = append(p.claims, claim.Name)
		}
		return p
	case *batchv1.Job:
		return &pod{path: template, meta: &o.Spec.Template.ObjectMeta, spec: &o.Spec.Template.Spec, restart: ends}
	case *batchv1.CronJob:
		t := &o.Spec.JobTemplate.Spec.Template
		return &pod{path: field.NewPath("spec", "jobTemplate", "spec", "template"), meta: &t.ObjectMeta, spec: &t.Spec, restart: ends}
	}
	return nil
}
