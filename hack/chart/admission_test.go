package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	xrdv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	ourschema "github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

const (
	tenant     = "alice"
	crossplane = "system:serviceaccount:crossplane-system:crossplane"
	collector  = "system:serviceaccount:kube-system:generic-garbage-collector"
)

// bound is a claim as Crossplane leaves it.
const bound = `
metadata:
  name: cloud
  namespace: tenant-a
  annotations: {team.example.com/owner: alice, crossplane.io/paused: "false"}
  finalizers: [finalizer.apiextensions.crossplane.io]
spec:
  openStackRelease: "2025.2"
  compositionRef: {name: controlplane}
  compositionRevisionRef: {name: controlplane-1}
  compositionUpdatePolicy: Automatic
  compositeDeletePolicy: Foreground
  resourceRef: {apiVersion: crossplane.c5c3.io/v1alpha1, kind: XControlPlaneCluster, name: cloud-x7k2p}
`

func TestClaimsPolicyRestrictsTenants(t *testing.T) {
	claims := claimValidator(t)
	cases := map[string]struct {
		reason string
		old    string // empty: the claim is created
		patch  string // merged into the old claim, or into the example
		user   string
		group  string
		want   string // part of a refusal; empty: allowed
	}{
		"Create":            {"A claim without special fields is allowed.", "", "{}", tenant, "", ""},
		"CreateReference":   {"The definition enforces a Composition; a reference is an attempt to replace it.", "", "spec: {compositionRef: {name: other}}", tenant, "", "spec.compositionRef is set by the platform"},
		"CreateSelector":    {"The same by labels.", "", "spec: {compositionSelector: {matchLabels: {a: b}}}", tenant, "", "spec.compositionSelector is set by the platform"},
		"CreateRevision":    {"A revision of another Composition escapes the enforcement.", "", "spec: {compositionRevisionRef: {name: other-1}}", tenant, "", "spec.compositionRevisionRef is set by the platform"},
		"CreateChannel":     {"The platform chooses the channel.", "", "spec: {compositionRevisionSelector: {matchLabels: {channel: canary}}}", tenant, "", "spec.compositionRevisionSelector is set by the platform"},
		"CreateManual":      {"Tenants cannot pin an old revision.", "", "spec: {compositionUpdatePolicy: Manual}", tenant, "", "spec.compositionUpdatePolicy is set by the platform"},
		"CreateBound":       {"Tenants cannot adopt a composite resource.", "", "spec: {resourceRef: {name: theirs}}", tenant, "", "spec.resourceRef is set by the platform"},
		"CreateSecret":      {"There are no connection details.", "", "spec: {writeConnectionSecretToRef: {name: s}}", tenant, "", "spec.writeConnectionSecretToRef is not supported"},
		"CreateBackground":  {"Deletion has an order.", "", "spec: {compositeDeletePolicy: Background}", tenant, "", "spec.compositeDeletePolicy must be Foreground"},
		"CreateForeground":  {"The default may be written down.", "", "spec: {compositeDeletePolicy: Foreground}", tenant, "", ""},
		"CreateNamespaced":  {"A claim's namespaced form has the same fields in a group.", "", "spec: {crossplane: {compositionRevisionRef: {name: other-1}}}", tenant, "", "spec.crossplane is set by the platform"},
		"EditNamespaced":    {"They stay.", "metadata: {name: cloud}\nspec: {crossplane: {compositionRef: {name: controlplane-namespaced}}}", "spec: {crossplane: null}", tenant, "", "spec.crossplane is set by the platform"},
		"NamespacedBinds":   {"Crossplane writes them.", "", "spec: {crossplane: {compositionRef: {name: controlplane-namespaced}}}", crossplane, "", ""},
		"CreatePaused":      {"Crossplane copies its annotations to the composite resource.", "", "metadata: {annotations: {crossplane.io/paused: 'true'}}", tenant, "", "metadata.annotations of crossplane.io"},
		"CreateUsage":       {"The same applies to the annotations of its other groups.", "", "metadata: {annotations: {usage.crossplane.io/x: y}}", tenant, "", "metadata.annotations of crossplane.io"},
		"CreateAnnotation":  {"Others are the tenant's.", "", "metadata: {annotations: {notcrossplane.io/paused: 'true', note: hello}}", tenant, "", ""},
		"Edit":              {"The spec's own fields are the tenant's.", bound, "spec: {openStackRelease: '2026.1'}", tenant, "", ""},
		"EditAnnotation":    {"So are his annotations.", bound, "metadata: {annotations: {team.example.com/owner: null, new: x}}", tenant, "", ""},
		"EditReference":     {"The Composition stays.", bound, "spec: {compositionRef: {name: other}}", tenant, "", "spec.compositionRef is set by the platform"},
		"EditRevision":      {"The revision stays.", bound, "spec: {compositionRevisionRef: {name: other-1}}", tenant, "", "spec.compositionRevisionRef is set by the platform"},
		"EditManual":        {"The update policy stays.", bound, "spec: {compositionUpdatePolicy: Manual}", tenant, "", "spec.compositionUpdatePolicy is set by the platform"},
		"Unbind":            {"A claim without its reference would create another cloud.", bound, "spec: {resourceRef: null}", tenant, "", "spec.resourceRef is set by the platform"},
		"EditBackground":    {"The order of deletion stays.", bound, "spec: {compositeDeletePolicy: Background}", tenant, "", "must be Foreground"},
		"EditPaused":        {"A value is kept, too.", bound, "metadata: {annotations: {crossplane.io/paused: 'true'}}", tenant, "", "metadata.annotations of crossplane.io"},
		"EditUnpaused":      {"The platform paused it for a reason.", bound, "metadata: {annotations: {crossplane.io/paused: null}}", tenant, "", "metadata.annotations of crossplane.io"},
		"EditFinalizer":     {"Without its finalizer a claim goes and its cloud stays.", bound, "metadata: {finalizers: null}", tenant, "", "metadata.finalizers of Crossplane"},
		"EditOwnFinalizer":  {"Other finalizers come and go.", bound, "metadata: {finalizers: [finalizer.apiextensions.crossplane.io, example.com/mine]}", tenant, "", ""},
		"CrossplaneBinds":   {"Crossplane writes its own fields.", "", "spec: {resourceRef: {name: cloud-x7k2p}, compositionRef: {name: controlplane}}", crossplane, "", ""},
		"CrossplaneLetsGo":  {"And takes its finalizer off.", bound, "metadata: {finalizers: null}", crossplane, "", ""},
		"OtherController":   {"Other service accounts have no exception.", bound, "spec: {resourceRef: null}", "system:serviceaccount:tenant-a:crossplane", "", "spec.resourceRef is set by the platform"},
		"ExemptGroup":       {"The platform team may pause.", bound, "metadata: {annotations: {crossplane.io/paused: 'true'}}", "bob", "cobaltcore:platform", ""},
		"GroupOfNoImport":   {"Another group may not.", bound, "metadata: {annotations: {crossplane.io/paused: 'true'}}", "bob", "guests", "metadata.annotations of crossplane.io"},
		"DeletingKeep":      {"The policy of a deleted claim is immutable.", "spec: {deletionPolicy: Delete}\nmetadata: {deletionTimestamp: x}", "spec: {deletionPolicy: Retain}", tenant, "", "spec.deletionPolicy cannot be changed"},
		"DeletingDefault":   {"Retain is the default.", "spec: {deletionPolicy: Delete}\nmetadata: {deletionTimestamp: x}", "spec: {deletionPolicy: null}", tenant, "", "spec.deletionPolicy cannot be changed"},
		"DeletingEdit":      {"Other edits of it do no harm.", "spec: {deletionPolicy: Retain}\nmetadata: {deletionTimestamp: x}", "spec: {openStackRelease: '2026.1'}", tenant, "", ""},
		"AdministratorsToo": {"The policy applies to cluster administrators: GitOps tools that apply tenants' claims often are administrators.", bound, "spec: {resourceRef: null}", "root", "system:masters", "spec.resourceRef is set by the platform"},
	}
	p := policy(t, domain, "cobaltcore-claims")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var old *unstructured.Unstructured
			operation, base := admission.Create, string(examples.Claim)
			if tc.old != "" {
				old, operation, base = parse(t, tc.old, ""), admission.Update, tc.old
			}
			claim := parse(t, base, tc.patch)
			// A policy sees the definition's defaults as if the tenant had written them.
			claims.Default(claim.Object)
			check(t, tc.reason, p.validationError(t, request{object: claim, old: old, operation: operation, user: tc.user, group: tc.group}), tc.want)
		})
	}
}

func TestCompositesPolicyRejectsDirectDeletion(t *testing.T) {
	const (
		claimed  = "metadata: {name: cloud-x7k2p}\nspec: {claimRef: {kind: ControlPlaneCluster, namespace: tenant-a, name: cloud}}"
		alone    = "metadata: {name: cloud}\nspec: {}"
		composed = "metadata: {name: keystone, namespace: i, ownerReferences: [{kind: XControlPlaneCluster, name: x, controller: true}]}\nspec: {}"
		owned    = "metadata: {name: keystone, namespace: i, ownerReferences: [{kind: Other, name: x}]}\nspec: {}"
		empty    = "metadata: {name: keystone, namespace: i}"
	)
	cases := map[string]struct{ reason, object, user, want string }{
		"Claimed":             {"It would be made again.", claimed, "root", "cannot be deleted directly"},
		"ClaimedByCrossplane": {"Crossplane deletes it when its claim goes.", claimed, crossplane, ""},
		"ClaimedByCollector":  {"The garbage collector deletes the objects of a deleted owner.", claimed, collector, ""},
		"Composed":            {"The same applies to objects of another composite resource.", composed, "root", "cannot be deleted directly"},
		"ComposedByCollector": {"The garbage collector does it in the foreground.", composed, collector, ""},
		"Namespace":           {"A namespace takes its contents along.", composed, "system:serviceaccount:kube-system:namespace-controller", ""},
		"Alone":               {"Without a claim, it belongs to its creator.", alone, "root", ""},
		"Owned":               {"An owner that does not control is no parent.", owned, "root", ""},
		"NoSpec":              {"An object without a spec is no error.", empty, "root", ""},
		"Function":            {"No other service account may.", claimed, "system:serviceaccount:crossplane-system:function", "cannot be deleted directly"},
	}
	p := policy(t, domain, "cobaltcore-composites")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, tc.reason, p.validationError(t, request{old: parse(t, tc.object, ""), operation: admission.Delete, user: tc.user}), tc.want)
		})
	}
}

// TestMachineryIsCovered: every field that Crossplane adds to a claim is mentioned by the policy.
func TestMachineryIsCovered(t *testing.T) {
	xrd, crd := claimCRD(t)
	managed := map[string]any{}
	if err := yaml.Unmarshal(xrd.Spec.Versions[0].Schema.OpenAPIV3Schema.Raw, &managed); err != nil {
		t.Fatal(err)
	}
	own := at(managed, "properties", "spec", "properties").(map[string]any)
	var all []string
	for _, v := range policy(t, domain, "cobaltcore-claims").spec.Validations {
		all = append(all, v.Expression)
	}
	added := 0
	for field := range crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties {
		if own[field] != nil {
			continue
		}
		added++
		if !slices.ContainsFunc(all, func(e string) bool {
			return strings.Contains(e, "object.spec."+field) || strings.Contains(e, "object.spec.?"+field)
		}) {
			t.Errorf("the policy does not mention spec.%s", field)
		}
	}
	if added < 6 {
		t.Errorf("only %d fields are Crossplane's", added)
	}
}

// claimCRD is the definition of a claim, and the CRD that Crossplane makes of it.
func claimCRD(t *testing.T) (*xrdv1.CompositeResourceDefinition, *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	data, err := apis.Definition("controlplane")
	if err != nil {
		t.Fatal(err)
	}
	xrd, err := ourschema.ParseXRD(data)
	if err != nil {
		t.Fatal(err)
	}
	crd, err := ourschema.ClaimCRD(xrd)
	if err != nil {
		t.Fatal(err)
	}
	return xrd, crd
}

func claimValidator(t *testing.T) *ourschema.Validator {
	t.Helper()
	_, crd := claimCRD(t)
	v, err := ourschema.New(crd, crd.Spec.Versions[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// compiled is a policy as an API server runs it.
type compiled struct {
	spec                    admissionregistrationv1.ValidatingAdmissionPolicySpec
	conditions, validations plugincel.ConditionEvaluator
	// messages are made by validations that have an expression for it, by their index.
	messages map[int]plugincel.ConditionEvaluator
}

// policy renders and compiles a policy, with the CEL of the oldest Kubernetes that the chart supports.
func policy(t *testing.T, values, name string) compiled {
	t.Helper()
	data, err := json.Marshal(rendered(t, values)["ValidatingAdmissionPolicy/"+name])
	if err != nil {
		t.Fatal(err)
	}
	p := admissionregistrationv1.ValidatingAdmissionPolicy{}
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(utilversion.MajorMinor(1, 30)))
	if err != nil {
		t.Fatal(err)
	}
	options := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	var variables []plugincel.NamedExpressionAccessor
	for _, v := range p.Spec.Variables {
		variables = append(variables, expression{v.Name, v.Expression, true})
	}
	compiler.CompileAndStoreVariables(variables, options, environment.NewExpressions)
	var conditions, validations []plugincel.ExpressionAccessor
	for _, c := range p.Spec.MatchConditions {
		conditions = append(conditions, expression{c.Name, c.Expression, false})
	}
	for _, v := range p.Spec.Validations {
		validations = append(validations, expression{"", v.Expression, false})
	}
	c := compiled{
		spec: p.Spec, messages: map[int]plugincel.ConditionEvaluator{},
		conditions:  compiler.CompileCondition(conditions, options, environment.NewExpressions),
		validations: compiler.CompileCondition(validations, options, environment.NewExpressions),
	}
	errs := append(c.conditions.CompilationErrors(), c.validations.CompilationErrors()...)
	for i, v := range p.Spec.Validations {
		if v.MessageExpression != "" {
			created := []plugincel.ExpressionAccessor{expression{"", v.MessageExpression, true}}
			c.messages[i] = compiler.CompileCondition(created, options, environment.NewExpressions)
			errs = append(errs, c.messages[i].CompilationErrors()...)
		}
	}
	for _, err := range errs {
		t.Fatal(err)
	}
	return c
}

// expression is a CEL expression that gives true or false; a variable gives anything.
type expression struct {
	name, text string
	variable   bool
}

func (e expression) GetName() string       { return e.name }
func (e expression) GetExpression() string { return e.text }
func (e expression) ReturnTypes() []*cel.Type {
	if e.variable {
		return []*cel.Type{cel.AnyType, cel.DynType}
	}
	return []*cel.Type{cel.BoolType}
}

type request struct {
	object, old *unstructured.Unstructured
	operation   admission.Operation
	user, group string
	// orphan: the deletion keeps dependent objects.
	orphan bool
	// namespace that the object is in, and rights of the user, as "verb resource.group", or "verb resource.group name" in this namespace.
	namespace *corev1.Namespace
	rights    []string
}

// Authorize implements an authorizer with the permissions of a request.
func (r request) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	right, namespace := a.GetVerb()+" "+a.GetResource()+"."+a.GetAPIGroup(), ""
	if a.GetName() != "" {
		right, namespace = right+" "+a.GetName(), r.namespace.Name
	}
	if a.GetNamespace() == namespace && slices.Contains(r.rights, right) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// validationError is the message of the first validation that fails; empty: the request passes. An error in an expression fails the
// test: the API server would refuse the request with a message that no tenant understands.
func (c compiled) validationError(t *testing.T, r request) string {
	t.Helper()
	who := &user.DefaultInfo{Name: r.user, Groups: []string{r.group, "system:authenticated"}}
	attributes := &admission.VersionedAttributes{Attributes: admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "",
		schema.GroupVersionResource{}, "", r.operation, nil, false, who)}
	if r.object != nil {
		attributes.VersionedObject = admission.NewLazyObject(r.object)
	}
	if r.old != nil {
		attributes.VersionedOldObject = admission.NewLazyObject(r.old)
	}
	req := &admissionv1.AdmissionRequest{
		Operation: admissionv1.Operation(r.operation),
		UserInfo:  authenticationv1.UserInfo{Username: r.user, Groups: []string{r.group, "system:authenticated"}},
	}
	if r.orphan {
		req.Options = runtime.RawExtension{Raw: []byte(`{"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"}`)}
	}
	bindings := plugincel.OptionalVariableBindings{Authorizer: r}
	run := func(e plugincel.ConditionEvaluator, namespace *corev1.Namespace) []plugincel.EvaluationResult {
		results, _, err := e.ForInput(t.Context(), attributes, req, bindings, namespace, celconfig.RuntimeCELCostBudget)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			if result.Error != nil {
				t.Fatalf("%s: %v", result.ExpressionAccessor.GetExpression(), result.Error)
			}
		}
		return results
	}
	// Conditions do not see the namespace.
	for _, result := range run(c.conditions, nil) {
		if result.EvalResult != types.True {
			return ""
		}
	}
	for i, result := range run(c.validations, plugincel.CreateNamespaceObject(r.namespace)) {
		if result.EvalResult != types.True {
			if c.messages[i] != nil {
				if created, ok := run(c.messages[i], nil)[0].EvalResult.Value().(string); ok && sayable(created) {
					return created
				}
			}
			return c.spec.Validations[i].Message
		}
	}
	return ""
}

// sayable reports whether an API server accepts a message from an expression: it must have one line and a limited length. Otherwise, the
// API server uses the static message.
func sayable(message string) bool {
	const most = 5 << 10
	return strings.TrimSpace(message) != "" && len(message) <= most && !strings.Contains(message, "\n")
}

func check(t *testing.T, reason, got, want string) {
	t.Helper()
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("%s\nwant a refusal with %q, got %q", reason, want, got)
	}
}

// parse reads an object and merges a patch into it (RFC 7386: null removes).
func parse(t *testing.T, object, patch string) *unstructured.Unstructured {
	t.Helper()
	o, p := map[string]any{}, map[string]any{}
	if err := yaml.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(patch), &p); err != nil {
		t.Fatal(err)
	}
	merge(o, p)
	return &unstructured.Unstructured{Object: o}
}

func merge(into, patch map[string]any) {
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(into, k)
		case map[string]any:
			next, ok := into[k].(map[string]any)
			if !ok {
				next = map[string]any{}
				into[k] = next
			}
			merge(next, v)
		default:
			into[k] = v
		}
	}
}
