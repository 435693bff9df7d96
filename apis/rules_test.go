package apis_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// kindCases are specs of one kind. Each case is a merge patch for the base: fields that it does not set have the value of the base, and
// null removes a field.
type kindCases struct {
	base  string
	cases map[string]specCase
}

// specCase is a spec that is sent to the API server.
type specCase struct {
	reason string
	// old is the spec before the update, as a patch for the base; nil creates a new object.
	old  *string
	spec string
	// field and message are the field and the message of the expected error; if empty, the spec is accepted.
	field, message string
}

// otherCases are the cases of kinds that no function creates. The cases of other kinds are in apis/<folder>/testdata/rules.yaml.
var otherCases = map[string]kindCases{
	"ControlPlaneCluster": controlPlaneCases,
	"HypervisorCluster":   hypervisorCases,
	"StorageCluster":      storageCases,
	"KeystoneService":     keystoneServiceCases,
	"OpenStackCluster":    cloudCases,
	"PlatformConfig":      platformCases,
	"WorkloadCluster":     workloadClusterCases,
	"KeyRepository":       keyRepositoryCases,
	"CellMapping":         cellMappingCases,
	"ComputeCatalog":      computeCatalogCases,
	"DatabaseSync":        databaseSyncCases,
	"RaftCluster":         raftClusterCases,
	"RoleAssignment":      roleAssignmentCases,
	"CredentialRotation":  credentialRotationCases,
	"SecretAggregate":     secretAggregateCases,
	"HypervisorRecovery":  hypervisorRecoveryCases,
	"NodeMaintenance":     nodeMaintenanceCases,
	"ServiceCheck":        serviceCheckCases,
}

// readCases returns the cases of all kinds.
func readCases(t *testing.T) map[string]kindCases {
	t.Helper()
	out := maps.Clone(otherCases)
	for _, k := range kindregistry.WithForm(kindregistry.Composed) {
		data, err := os.ReadFile(k.Folder + "/testdata/rules.yaml")
		if errors.Is(err, fs.ErrNotExist) {
			continue // TestEveryRuleHasACase fails if a rule has no case.
		} else if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Base  map[string]any
			Cases map[string]struct {
				Reason         string
				Old            *map[string]any
				Spec           map[string]any
				Field, Message string
			}
		}
		if err := yaml.UnmarshalStrict(data, &file); err != nil {
			t.Fatalf("%s: %v", k.Folder, err)
		}
		cases := kindCases{base: text(t, file.Base), cases: map[string]specCase{}}
		for name, c := range file.Cases {
			sc := specCase{reason: c.Reason, spec: text(t, c.Spec), field: c.Field, message: c.Message}
			if c.Old != nil {
				old := text(t, *c.Old)
				sc.old = &old
			}
			cases.cases[name] = sc
		}
		out[k.Kind] = cases
	}
	return out
}

// text returns a document as JSON, which is YAML.
func text(t *testing.T, document map[string]any) string {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRulesAcceptOrRejectSpecs(t *testing.T) {
	all := crds(t)
	for kind, k := range readCases(t) {
		k.test(t, all[kind])
	}
}

func (k kindCases) test(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	kind := crd.Spec.Names.Kind
	v, err := schema.New(crd, crd.Spec.Versions[0].Name)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	if errs := v.Validate(object(t, crd, k.base, "{}")); len(errs) > 0 {
		t.Errorf("%s: the base is refused: %v", kind, errs)
	}
	for name, c := range k.cases {
		t.Run(kind+"/"+name, func(t *testing.T) {
			errs := v.Validate(object(t, crd, k.base, c.spec))
			if c.old != nil {
				old := object(t, crd, k.base, *c.old)
				if errs := v.Validate(old); len(errs) > 0 {
					t.Fatalf("%s: the spec before the update is refused: %v", c.reason, errs)
				}
				v.Default(old)
				errs = v.ValidateUpdate(object(t, crd, k.base, c.spec), old)
			}
			switch {
			case c.message == "" && len(errs) > 0:
				t.Errorf("%s: refused: %v", c.reason, errs)
			case c.message != "" && len(errs) != 1:
				t.Errorf("%s: got %d errors, want one at %s: %v", c.reason, len(errs), c.field, errs)
			case c.message != "" && (errs[0].Field != c.field || !strings.Contains(errs[0].ErrorBody(), c.message)):
				t.Errorf("%s:\n got %s: %s\nwant %s: %s", c.reason, errs[0].Field, errs[0].ErrorBody(), c.field, c.message)
			}
		})
	}
}

// TestEveryRuleHasACase holds that each CEL rule refuses something, and that its message belongs to it alone.
func TestEveryRuleHasACase(t *testing.T) {
	tried := map[string]bool{}
	for _, k := range readCases(t) {
		for _, c := range k.cases {
			tried[c.message] = true
		}
	}
	rules := map[string]string{} // message to rule
	for kind, crd := range crds(t) {
		root := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		note := func(path string, p apiextensionsv1.JSONSchemaProps, _ bool) bool {
			for _, r := range p.XValidations {
				if other, ok := rules[r.Message]; ok && other != r.Rule {
					t.Errorf("%s: two rules have the message %q", path, r.Message)
				}
				rules[r.Message] = r.Rule
			}
			return true
		}
		note(kind, root, false)
		walk(kind, root, note)
	}
	for _, message := range slices.Sorted(maps.Keys(rules)) {
		if !tried[message] {
			t.Errorf("no case in apis/<folder>/testdata/rules.yaml for %q (%s)", message, rules[message])
		}
	}
}

// exponent is the condition of a rule for amounts that the API server must not parse: it would compute all digits of 1e999999999.
const exponent = `.matches('[eE][-+]?[0-9.]')`

// TestAmountsWithExponentsAreNotParsed requires that each amount in a claim is rejected if it has an exponent, and that no rule parses
// such an amount, because the API server evaluates all rules of a value.
func TestAmountsWithExponentsAreNotParsed(t *testing.T) {
	parsed := regexp.MustCompile(`isQuantity\((string\([a-zA-Z.]+\))\)`)
	for kind, crd := range crds(t) {
		claim := slices.ContainsFunc(kindregistry.WithForm(kindregistry.Claimed), func(k kindregistry.Kind) bool { return k.Kind == kind })
		walk(kind, *crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(path string, p apiextensionsv1.JSONSchemaProps, _ bool) bool {
			for _, r := range p.XValidations {
				for _, m := range parsed.FindAllStringSubmatchIndex(r.Rule, -1) {
					if guard := strings.Index(r.Rule, r.Rule[m[2]:m[3]]+exponent+" ||"); guard < 0 || guard > m[0] {
						t.Errorf("%s: rule %s parses an amount with an exponent; put %s%s || before it", path, r.Rule, r.Rule[m[2]:m[3]], exponent)
					}
				}
			}
			isAmount := p.XIntOrString && strings.Contains(p.Pattern, "numkMGTPE")
			if claim && isAmount && strings.Contains(p.Pattern, "[eE]") && !strings.HasPrefix(path, kind+".status") {
				t.Errorf("%s accepts an amount with an exponent, which functions would parse; add the pattern of the other amounts", path)
			}
			return true
		})
	}
}

// object makes an object of a kind whose spec is the base with a patch laid over it.
func object(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition, base, patch string) map[string]any {
	t.Helper()
	spec := merge(parse(t, base), parse(t, patch))
	o := map[string]any{
		"apiVersion": crd.Spec.Group + "/" + crd.Spec.Versions[0].Name,
		"kind":       crd.Spec.Names.Kind,
		"metadata":   map[string]any{"name": "example"},
		"spec":       spec,
	}
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		o["metadata"].(map[string]any)["namespace"] = "tenant"
	}
	out, err := schema.Normalize(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

// merge lays a patch over a document (RFC 7386).
func merge(doc, patch map[string]any) map[string]any {
	for name, p := range patch {
		inner, isMap := p.(map[string]any)
		previous, wasMap := doc[name].(map[string]any)
		switch {
		case p == nil:
			delete(doc, name)
		case isMap && wasMap:
			doc[name] = merge(previous, inner)
		default:
			doc[name] = p
		}
	}
	return doc
}
