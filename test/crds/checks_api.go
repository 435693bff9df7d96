package crds

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

func policyRules(o object) field.ErrorList {
	var rules []rbacv1.PolicyRule
	switch t := o.typed.(type) {
	case *rbacv1.Role:
		rules = t.Rules
	case *rbacv1.ClusterRole:
		rules = t.Rules
	}
	var errs field.ErrorList
	for i, r := range rules {
		path := field.NewPath("rules").Index(i)
		if len(r.Verbs) == 0 {
			errs = append(errs, field.Required(path.Child("verbs"), ""))
		}
		switch {
		case len(r.NonResourceURLs) > 0:
			if o.kind == "Role" {
				errs = append(errs, field.Forbidden(path.Child("nonResourceURLs"), "a namespace has none"))
			}
		case len(r.APIGroups) == 0:
			errs = append(errs, field.Required(path.Child("apiGroups"), ""))
		case len(r.Resources) == 0:
			errs = append(errs, field.Required(path.Child("resources"), ""))
		}
	}
	return errs
}

func roleBinding(o object) field.ErrorList {
	var ref rbacv1.RoleRef
	var subjects []rbacv1.Subject
	switch t := o.typed.(type) {
	case *rbacv1.RoleBinding:
		ref, subjects = t.RoleRef, t.Subjects
	case *rbacv1.ClusterRoleBinding:
		ref, subjects = t.RoleRef, t.Subjects
	default:
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("roleRef")
	if ref.APIGroup != rbacv1.GroupName {
		errs = append(errs, field.NotSupported(path.Child("apiGroup"), ref.APIGroup, []string{rbacv1.GroupName}))
	}
	if ref.Kind != "ClusterRole" && (ref.Kind != "Role" || o.kind == "ClusterRoleBinding") {
		errs = append(errs, field.Invalid(path.Child("kind"), ref.Kind, "must be ClusterRole, or Role in a namespace"))
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	for i, s := range subjects {
		path := field.NewPath("subjects").Index(i)
		group := rbacv1.GroupName
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			group = ""
			if s.Namespace == "" {
				errs = append(errs, field.Required(path.Child("namespace"), ""))
			}
		case rbacv1.UserKind, rbacv1.GroupKind:
		default:
			known := []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}
			errs = append(errs, field.NotSupported(path.Child("kind"), s.Kind, known))
			continue
		}
		if s.APIGroup != group && s.APIGroup != "" {
			errs = append(errs, field.NotSupported(path.Child("apiGroup"), s.APIGroup, []string{group}))
		}
		if s.Name == "" {
			errs = append(errs, field.Required(path.Child("name"), ""))
		}
	}
	return errs
}

func customResourceDefinition(o object) field.ErrorList {
	crd, ok := o.typed.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil
	}
	if err := schema.CheckCRD(crd); err != nil {
		return field.ErrorList{field.Invalid(spec, field.OmitValueType{}, err.Error())}
	}
	return nil
}
