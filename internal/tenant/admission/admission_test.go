package admission

import (
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// TestCheck checks that a policy that is not in force results in an error.
func TestCheck(t *testing.T) {
	set := func(requirement string, value any, path ...string) func(map[string][]*structpb.Struct) {
		return func(r map[string][]*structpb.Struct) {
			o := r[requirement][0].AsMap()
			at := o
			for _, p := range path[:len(path)-1] {
				next, _ := at[p].(map[string]any)
				if next == nil {
					next = map[string]any{}
					at[p] = next
				}
				at = next
			}
			at[path[len(path)-1]] = value
			s, err := structpb.NewStruct(o)
			if err != nil {
				panic(err)
			}
			r[requirement][0] = s
		}
	}
	policy := func(value any, path ...string) func(map[string][]*structpb.Struct) {
		return set(PolicyRequirement, value, path...)
	}
	binding := func(value any, path ...string) func(map[string][]*structpb.Struct) {
		return set(BindingRequirement, value, path...)
	}
	object := func(fields ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(fields); i += 2 {
			out[fields[i].(string)] = fields[i+1]
		}
		return out
	}
	cases := map[string]struct {
		reason string
		change func(map[string][]*structpb.Struct)
		want   string
	}{
		"Installed":         {"The chart is installed.", func(map[string][]*structpb.Struct) {}, ""},
		"Newer":             {"A later chart holds as much.", policy("7", "metadata", "annotations", VersionAnnotation), ""},
		"Defaults":          {"An API server writes empty selectors.", policy(object("namespaceSelector", object(), "objectSelector", object()), "spec", "matchConstraints"), ""},
		"BindingDefaults":   {"So it does in a binding.", binding(object("namespaceSelector", object(), "objectSelector", object(), "matchPolicy", "Equivalent"), "spec", "matchResources"), ""},
		"Audited":           {"Denied requests may also be audited.", binding([]any{"Audit", "Deny"}, "spec", "validationActions"), ""},
		"OlderComposition":  {"Its Composition does not require the policies.", func(r map[string][]*structpb.Struct) { delete(r, PolicyRequirement) }, "upgrade the Configuration"},
		"OlderComposition2": {"Nor for the bindings.", func(r map[string][]*structpb.Struct) { delete(r, BindingRequirement) }, "upgrade the Configuration"},
		"None":              {"There is no chart.", func(r map[string][]*structpb.Struct) { r[PolicyRequirement], r[BindingRequirement] = nil, nil }, "Policy cobaltcore-claims is missing"},
		"OneMissing":        {"Each is needed.", func(r map[string][]*structpb.Struct) { r[PolicyRequirement] = r[PolicyRequirement][:5] }, "cobaltcore-namespaces is missing"},
		"NoBinding":         {"A policy without a binding is not enforced.", func(r map[string][]*structpb.Struct) { r[BindingRequirement] = r[BindingRequirement][1:] }, "Binding cobaltcore-claims is missing"},
		"NoVersion":         {"An older chart has policies without a version.", policy("", "metadata", "annotations", VersionAnnotation), `is of version ""`},
		"Older":             {"An older chart holds less.", policy("0", "metadata", "annotations", VersionAnnotation), `is of version "0", and this function needs 1`},
		"Ignore":            {"A policy that fails lets everything pass.", policy("Ignore", "spec", "failurePolicy"), "must have failurePolicy Fail"},
		"NoFailurePolicy":   {"An API server writes it down.", policy(nil, "spec", "failurePolicy"), "must have failurePolicy Fail"},
		"Namespaces":        {"Some namespaces only.", policy(object("matchLabels", object("a", "b")), "spec", "matchConstraints", "namespaceSelector"), "is restricted"},
		"Objects":           {"Some objects only.", policy(object("matchExpressions", []any{object("key", "a", "operator", "Exists")}), "spec", "matchConstraints", "objectSelector"), "is restricted"},
		"Except":            {"But not for some.", policy([]any{object("resources", []any{"*"})}, "spec", "matchConstraints", "excludeResourceRules"), "is restricted"},
		"Parameters":        {"Parameters that are missing.", policy(object("kind", "ConfigMap", "apiVersion", "v1"), "spec", "paramKind"), "takes parameters"},
		"ParametersOfKind":  {"Whichever.", policy(object("kind", "ConfigMap"), "spec", "paramKind"), "takes parameters"},
		"OtherPolicy":       {"A binding of that name for another policy.", binding("other", "spec", "policyName"), "binds another policy"},
		"Warn":              {"A warning does not deny requests.", binding([]any{"Warn", "Audit"}, "spec", "validationActions"), "must have validationActions Deny"},
		"BoundNamespaces":   {"Bound in some namespaces.", binding(object("matchLabels", object("a", "b")), "spec", "matchResources", "namespaceSelector"), "is restricted by matchResources"},
		"BoundObjects":      {"Bound for some objects.", binding(object("matchLabels", object("a", "b")), "spec", "matchResources", "objectSelector"), "is restricted by matchResources"},
		"BoundRules":        {"Bound for some resources.", binding([]any{object("resources", []any{"pods"})}, "spec", "matchResources", "resourceRules"), "is restricted by matchResources"},
		"BoundExcept":       {"Bound except for some.", binding([]any{object("resources", []any{"*"})}, "spec", "matchResources", "excludeResourceRules"), "is restricted by matchResources"},
		"BoundParameters":   {"Bound to parameters.", binding(object("name", "x"), "spec", "paramRef"), "is bound to parameters"},
		"OtherForms":        {"Fields of another type count as missing.", policy("text", "spec"), "must have failurePolicy Fail"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			required := Requirements()
			tc.change(required)
			switch err := Check(required); {
			case tc.want == "" && err != nil:
				t.Errorf("%s\nerror %v", tc.reason, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "the platform team has to")):
				t.Errorf("%s\nerror %v, want one with %q and an action of the platform team", tc.reason, err, tc.want)
			case invalid.Is(err):
				t.Errorf("%s\nit is an error of the tenant: %v", tc.reason, err)
			}
		})
	}
}

// TestRequirementsHaveCurrentVersion checks that a preview assumes the policies of this chart version, not of a later one.
func TestRequirementsHaveCurrentVersion(t *testing.T) {
	for requirement, objects := range Requirements() {
		for _, o := range objects {
			metadata := o.AsMap()["metadata"].(map[string]any)
			if got, want := metadata["annotations"].(map[string]any)[VersionAnnotation], strconv.Itoa(Version); got != want {
				t.Errorf("%s %v is of version %v, want %s", requirement, metadata["name"], got, want)
			}
		}
	}
}
