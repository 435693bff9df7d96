package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/input"
)

// reportInputs are inputs of validate: valid and invalid claims, several files, standard input, invalid YAML, and messages with special
// characters.
var reportInputs = map[string]struct {
	args []string
	in   string
}{
	"valid":          {args: []string{"-f", "../../examples/controlplane/claim.yaml"}},
	"several files":  {args: []string{"-f", "../../examples/complete"}},
	"missing claim":  {args: []string{"-f", "../../examples/complete/hypervisors.yaml"}},
	"standard input": {args: []string{"-f", "-"}, in: "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: ControlPlaneCluster\nmetadata: {name: a, namespace: b}\nspec: {x<&>: 1}\n"},
	"invalid YAML":   {args: []string{"-f", "-"}, in: "a: [\n"},
	"nothing":        {args: []string{"-f", "-"}, in: "\n"},
}

// reports returns the output of validate in a format for each input.
func reports(t *testing.T, format string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, in := range reportInputs {
		var stdout, stderr bytes.Buffer
		if code := run(append([]string{"validate", "--format", format}, in.args...), strings.NewReader(in.in), &stdout, &stderr); code > exitInvalid {
			t.Fatalf("%s: exit code %d: %s", name, code, stderr.String())
		}
		out[name] = stdout.Bytes()
	}
	return out
}

// TestSARIFMatchesSchema validates the output with the JSON Schema of SARIF 2.1.0, testdata/schema/sarif-2.1.0.json.
func TestSARIFMatchesSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/schema/sarif-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(data []byte) error {
		report, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return err
		}
		return schema.Validate(report)
	}
	for name, data := range reports(t, "sarif") {
		t.Run(name, func(t *testing.T) {
			if err := check(data); err != nil {
				t.Errorf("%v\n%s", err, data)
			}
		})
	}
	if err := check([]byte(`{"version": "2.1.0", "runs": [{"results": []}]}`)); err == nil {
		t.Error("a run without a tool is valid")
	}
}

// TestJUnitReportsMatchXMLSchema validates the output with the XML Schema of JUnit, testdata/schema/junit-10.xsd: elements, their
// attributes and where text is allowed. There is no library for XML Schema in Go; the order of elements and the patterns of attributes,
// which the output does not use, are not validated.
func TestJUnitReportsMatchXMLSchema(t *testing.T) {
	data, err := os.ReadFile("testdata/schema/junit-10.xsd")
	if err != nil {
		t.Fatal(err)
	}
	definitions := xmlNode{}
	if err := xml.Unmarshal(data, &definitions); err != nil {
		t.Fatal(err)
	}
	for name, data := range reports(t, "junit") {
		t.Run(name, func(t *testing.T) {
			root := xmlNode{}
			if err := xml.Unmarshal(data, &root); err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			for _, problem := range definitions.problems(root) {
				t.Errorf("%s\n%s", problem, data)
			}
		})
	}
	bad := xmlNode{}
	if err := xml.Unmarshal([]byte(`<testsuites><testsuite name="a" x="1">text<failure/></testsuite></testsuites>`), &bad); err != nil {
		t.Fatal(err)
	}
	if got := definitions.problems(bad); len(got) != 6 {
		t.Errorf("problems: %q", got)
	}
}

// xmlNode is an element of XML.
type xmlNode struct {
	XMLName  xml.Name   `xml:""`
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []xmlNode  `xml:",any"`
}

func (n xmlNode) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// all returns the elements with a name below a node.
func (n xmlNode) all(name string) []xmlNode {
	var out []xmlNode
	for _, c := range n.Children {
		if c.XMLName.Local == name {
			out = append(out, c)
		}
		out = append(out, c.all(name)...)
	}
	return out
}

// problems returns the deviations of an element from an XML Schema.
func (n xmlNode) problems(of xmlNode) []string {
	name := of.XMLName.Local
	at := slices.IndexFunc(n.Children, func(c xmlNode) bool { return c.XMLName.Local == "element" && c.attr("name") == name })
	if at < 0 {
		return []string{name + " is not an element of the schema"}
	}
	declared := n.Children[at]
	var out, attributes, children []string
	for _, a := range declared.all("attribute") {
		attributes = append(attributes, a.attr("name"))
		if a.attr("use") == "required" && of.attr(a.attr("name")) == "" {
			out = append(out, fmt.Sprintf("%s has no attribute %s", name, a.attr("name")))
		}
	}
	for _, a := range of.Attrs {
		if !slices.Contains(attributes, a.Name.Local) {
			out = append(out, fmt.Sprintf("%s has the attribute %s", name, a.Name.Local))
		}
	}
	for _, c := range declared.all("element") {
		children = append(children, c.attr("ref"))
	}
	mixed := slices.ContainsFunc(declared.all("complexType"), func(c xmlNode) bool { return c.attr("mixed") == "true" })
	if strings.TrimSpace(of.Text) != "" && !mixed && declared.attr("type") != "xs:string" {
		out = append(out, name+" contains text")
	}
	for _, c := range of.Children {
		if !slices.Contains(children, c.XMLName.Local) {
			out = append(out, fmt.Sprintf("%s contains %s", name, c.XMLName.Local))
		}
		out = append(out, n.problems(c)...)
	}
	return out
}

// TestPublishedSchemasAcceptClaimsWithKnownFields tests that the schemas for editors and portals accept every claim of the examples and of
// test/claims that the schema of the API accepts, and that they reject unknown fields.
func TestPublishedSchemasAcceptClaimsWithKnownFields(t *testing.T) {
	accepted, rejected := 0, 0
	for _, folder := range []string{"../../examples", "../../test/claims"} {
		for _, file := range yamlFiles(t, folder) {
			docs, err := input.Read([]string{file}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				claim := map[string]any{}
				if yaml.Unmarshal(d.Data, &claim) != nil {
					continue
				}
				kind, _ := claim["kind"].(string)
				version, _ := claim["apiVersion"].(string)
				published := publishedSchema(t, kind)
				v, err := definition.Validator(version, kind)
				if published == nil || err != nil {
					continue
				}
				if len(v.Validate(claim)) > 0 {
					rejected++
					continue
				}
				accepted++
				if err := published.Validate(decoded(t, claim)); err != nil {
					t.Errorf("%s: the API accepts %s, and docs/reference/schema does not: %v", file, kind, err)
				}
			}
		}
	}
	if accepted < 100 || rejected < 100 {
		t.Errorf("%d claims are accepted, and %d rejected", accepted, rejected)
	}
	claim := map[string]any{
		"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "ControlPlaneCluster", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"unknown": 1},
	}
	if publishedSchema(t, "ControlPlaneCluster").Validate(decoded(t, claim)) == nil {
		t.Error("an unknown field is accepted")
	}
}

func yamlFiles(t *testing.T, folder string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".yaml") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var publishedSchemas = map[string]*jsonschema.Schema{}

// publishedSchema returns the schema of a claim, or nil if it does not exist.
func publishedSchema(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	path := filepath.Join("../../docs/reference/schema", strings.ToLower(kind)+".json")
	if s, ok := publishedSchemas[kind]; ok || kind == "" {
		return s
	}
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	s, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	publishedSchemas[kind] = s
	return s
}

// decoded returns a value with the types of a JSON decoder.
func decoded(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
