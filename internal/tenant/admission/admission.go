// Package admission verifies that the chart's admission policies are in force; otherwise nothing is composed. The policies
// protect the fields with which a claim selects its Composition, and objects on which others rely. enforcedCompositionRef
// alone is not sufficient: Crossplane 2.3.4, 2.3.5 and 2.4.0 use the claim's own choice if they fail to list definitions.
package admission

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Version is the version of the policies with which this function was built. The chart sets it on each policy. It is
// incremented when a policy starts to enforce something on which the function relies.
const Version = 1

// VersionAnnotation is the annotation of a policy with the Version of its chart.
const VersionAnnotation = "crossplane.c5c3.io/admission-version"

// Metadata of a control plane's namespace that the policies read. Only the creator of the namespace may set it.
const (
	// InstanceLabel and InstanceLabelValue mark the namespace of a control plane.
	InstanceLabel      = "app.kubernetes.io/managed-by"
	InstanceLabelValue = "crossplane-cobaltcore"
	// ClaimAnnotation contains the claim to which the namespace belongs: <namespace>/<name>.
	ClaimAnnotation = "crossplane.c5c3.io/claim"
	// StoreAnnotation contains the secret store of the control plane: <kind>/<name>.
	StoreAnnotation = "crossplane.c5c3.io/secret-store"
	// PathAnnotation contains the path of its entries in that store.
	PathAnnotation = "crossplane.c5c3.io/secret-path"
)

// Names with which a Composition requires the policies and their bindings.
const (
	PolicyRequirement  = "admission-policies"
	BindingRequirement = "admission-bindings"
)

// Names are the policies of the management cluster. Each binding has the name of its policy.
var Names = []string{
	"cobaltcore-claims", "cobaltcore-companion", "cobaltcore-companion-objects", "cobaltcore-composites", "cobaltcore-deletion",
	"cobaltcore-namespaces", "cobaltcore-node-signers", "cobaltcore-pod-labels",
}

// Check returns an error unless every policy is in force: it and its binding exist, deny requests, are not restricted, and
// have this version or a later one. The content of a policy is the responsibility of the platform team; only the version
// identifies it as the chart's.
func Check(required map[string][]*structpb.Struct) error {
	policies, queried := required[PolicyRequirement]
	bindings, bindingsQueried := required[BindingRequirement]
	if !queried || !bindingsQueried {
		return errors.New("the Composition does not request the admission policies and is older than this function; " +
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
		return refuse("is missing, so tenant restrictions are not enforced")
	}
	constraints, stamp := p.At("spec", "matchConstraints"), p.At("metadata", "annotations", VersionAnnotation).Text()
	version, err := strconv.Atoi(stamp)
	switch {
	case err != nil || version < Version:
		return refuse(fmt.Sprintf("is of version %q, and this function needs %d", stamp, Version))
	case p.At("spec", "failurePolicy").Text() != "Fail":
		return refuse("must have failurePolicy Fail")
	case selects(constraints.Field("namespaceSelector")), selects(constraints.Field("objectSelector")),
		len(constraints.Field("excludeResourceRules").List()) > 0:
		return refuse("is restricted by selectors or exceptions")
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
		return refuse("is missing, so its policy is not enforced")
	case b.At("spec", "policyName").Text() != name:
		return refuse("binds another policy")
	case !slices.Contains(b.At("spec", "validationActions").List(), any("Deny")):
		return refuse("must have validationActions Deny")
	case selects(match.Field("namespaceSelector")), selects(match.Field("objectSelector")),
		len(match.Field("resourceRules").List()) > 0, len(match.Field("excludeResourceRules").List()) > 0:
		return refuse("is restricted by matchResources")
	case len(b.At("spec", "paramRef").Map()) > 0:
		return refuse("is bound to parameters")
	}
	return nil
}

// selects reports whether a label selector is not empty. The API server adds an empty selector if none is set.
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

// Requirements returns the policies as installed by the chart, with the fields that Check reads. It is used for previews,
// which assume that they exist.
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
		panic(err) // Maps of strings can always be converted.
	}
	return s
}
