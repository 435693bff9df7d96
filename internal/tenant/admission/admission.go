// Package admission knows the admission policies of our chart, without which nothing is composed: they keep a tenant from the fields by
// which a claim chooses what composes it, and from what others rely on. enforcedCompositionRef does not hold that alone: Crossplane 2.3.4,
// 2.3.5 and 2.4.0 take a claim's own choice where they fail to list definitions.
package admission

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Version of the policies that this function was built with. The chart stamps it on each; it grows when a policy starts to hold something
// that the function relies on.
const Version = 1

// VersionAnnotation of a policy is the Version of its chart.
const VersionAnnotation = "crossplane.c5c3.io/admission-version"

// What the policies read of a control plane's namespace, and let nobody write but whoever makes it.
const (
	// InstanceLabel and InstanceLabelValue mark the namespace of a control plane.
	InstanceLabel      = "app.kubernetes.io/managed-by"
	InstanceLabelValue = "crossplane-cobaltcore"
	// ClaimAnnotation names the claim that it belongs to: <namespace>/<name>.
	ClaimAnnotation = "crossplane.c5c3.io/claim"
	// StoreAnnotation is the secret store of the control plane: <kind>/<name>.
	StoreAnnotation = "crossplane.c5c3.io/secret-store"
	// PathAnnotation is the path in that store below which its entries lie.
	PathAnnotation = "crossplane.c5c3.io/secret-path"
)

// Names under which a Composition asks for the policies and their bindings.
const (
	PolicyRequirement  = "admission-policies"
	BindingRequirement = "admission-bindings"
)

// Names are the policies of the management cluster. The binding of each has its name.
var Names = []string{
	"cobaltcore-claims", "cobaltcore-companion", "cobaltcore-composites", "cobaltcore-deletion", "cobaltcore-namespaces",
}

// Check reports whether every policy is in force: that it and its binding are there, refuse, are not narrowed, and are of this version or
// a later one. What a policy says is the platform team's to keep: that it is the chart's is known from the version only.
func Check(required map[string][]*structpb.Struct) error {
	policies, queried := required[PolicyRequirement]
	bindings, askedToo := required[BindingRequirement]
	if !queried || !askedToo {
		return errors.New("the Composition does not ask for the admission policies, so it is older than this function; " +
			"the platform team has to upgrade the Configuration c5c3-configuration-cobaltcore")
	}
	for _, name := range Names {
		if err := checkPolicy(name, find(policies, name)); err != nil {
			return err
		}
		if err := checkBinding(name, find(bindings, name)); err != nil {
			return err
		}
	}
	return nil
}

const remedy = "the platform team has to install the chart crossplane-cobaltcore, of this function's version or a later one, again"

func checkPolicy(name string, p encoded.Struct) error {
	refuse := func(why string) error {
		return fmt.Errorf("the ValidatingAdmissionPolicy %s %s; %s", name, why, remedy)
	}
	if p == nil {
		return refuse("is missing, so that tenants are not kept from what is not theirs")
	}
	constraints, stamp := p.At("spec", "matchConstraints"), p.At("metadata", "annotations", VersionAnnotation).Text()
	version, err := strconv.Atoi(stamp)
	switch {
	case err != nil || version < Version:
		return refuse(fmt.Sprintf("is of version %q, and this function needs %d", stamp, Version))
	case p.At("spec", "failurePolicy").Text() != "Fail":
		return refuse("lets pass what it fails to judge: its failurePolicy is not Fail")
	case selects(constraints.Field("namespaceSelector")), selects(constraints.Field("objectSelector")),
		len(constraints.Field("excludeResourceRules").List()) > 0:
		return refuse("is narrowed by selectors or exceptions")
	case len(p.At("spec", "paramKind").Map()) > 0:
		return refuse("takes parameters")
	}
	return nil
}

func checkBinding(name string, b encoded.Struct) error {
	refuse := func(why string) error {
		return fmt.Errorf("the ValidatingAdmissionPolicyBinding %s %s; %s", name, why, remedy)
	}
	match := b.At("spec", "matchResources")
	switch {
	case b == nil:
		return refuse("is missing, so that its policy holds nobody")
	case b.At("spec", "policyName").Text() != name:
		return refuse("binds another policy")
	case !slices.Contains(b.At("spec", "validationActions").List(), any("Deny")):
		return refuse("does not deny what its policy refuses")
	case selects(match.Field("namespaceSelector")), selects(match.Field("objectSelector")),
		len(match.Field("resourceRules").List()) > 0, len(match.Field("excludeResourceRules").List()) > 0:
		return refuse("is narrowed by matchResources")
	case len(b.At("spec", "paramRef").Map()) > 0:
		return refuse("is bound to parameters")
	}
	return nil
}

// selects reports whether a label selector selects: an API server puts an empty one where there is none.
func selects(selector encoded.Value) bool {
	return len(selector.Field("matchLabels").Map()) > 0 || len(selector.Field("matchExpressions").List()) > 0
}

func find(objects []*structpb.Struct, name string) encoded.Struct {
	for _, o := range objects {
		if o.GetFields()["metadata"].GetStructValue().GetFields()["name"].GetStringValue() == name {
			return encoded.Of(o)
		}
	}
	return nil
}

// Requirements are policies as the chart installs them, as far as Check reads: for a preview, which takes them for granted.
func Requirements() map[string][]*structpb.Struct {
	out := map[string][]*structpb.Struct{}
	for _, name := range Names {
		policy := installed("ValidatingAdmissionPolicy", name, map[string]any{"failurePolicy": "Fail"})
		binding := installed("ValidatingAdmissionPolicyBinding", name, map[string]any{"policyName": name, "validationActions": []any{"Deny"}})
		out[PolicyRequirement], out[BindingRequirement] = append(out[PolicyRequirement], policy), append(out[BindingRequirement], binding)
	}
	return out
}

func installed(kind, name string, spec map[string]any) *structpb.Struct {
	s, err := structpb.NewStruct(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
		"metadata": map[string]any{
			"name": name, "labels": map[string]any{"app.kubernetes.io/part-of": "cobaltcore"},
			"annotations": map[string]any{VersionAnnotation: strconv.Itoa(Version)},
		},
		"spec": spec,
	})
	if err != nil {
		panic(err) // Maps of strings always fit.
	}
	return s
}
