package pages

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	xv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

type props = apiextensionsv1.JSONSchemaProps

// kubernetes are the names by which pages refer to kinds of Kubernetes, of Crossplane's core and its packages, and of programs that the
// platform team installs. The project has no definitions of them.
var kubernetes = []string{
	"certificatesigningrequests", "configmap", "cronjob", "cronjobs", "daemonsets", "deploy", "deployment", "deployments", "events", "job",
	"jobs", "lease", "namespace", "namespaces", "networkpolicies", "node", "nodes", "pod", "pods", "pvc", "quota", "rolebinding", "secret",
	"service", "statefulset", "statefulsets", "configuration.pkg.crossplane.io", "function.pkg.crossplane.io",
	"provider.pkg.crossplane.io",
}

// definitions returns the schemas of kinds by the names that kubectl accepts. The schema of a category is nil.
func definitions(t *testing.T) map[string][]*props {
	t.Helper()
	out := map[string][]*props{}
	add := func(group string, schema *props, categories []string, names ...string) {
		for _, name := range names {
			if name = strings.ToLower(name); name != "" {
				out[name], out[name+"."+group] = append(out[name], schema), append(out[name+"."+group], schema)
			}
		}
		for _, name := range categories {
			out[name] = nil
		}
	}
	crd := func(data []byte) {
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &d); err != nil {
			t.Fatal(err)
		}
		n := d.Spec.Names
		for _, v := range d.Spec.Versions {
			add(d.Spec.Group, v.Schema.OpenAPIV3Schema, n.Categories, append(n.ShortNames, n.Kind, n.Plural, n.Singular)...)
		}
	}
	folders := map[string]bool{}
	for _, k := range kindregistry.All() {
		folders[k.Folder] = true
	}
	for folder := range folders {
		data, err := apis.Definition(folder)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			switch {
			case strings.Contains(doc, "\nkind: CustomResourceDefinition\n"):
				crd([]byte(doc))
			case strings.Contains(doc, "\nkind: CompositeResourceDefinition\n"):
				var d xv1.CompositeResourceDefinition
				if err := yaml.Unmarshal([]byte(doc), &d); err != nil {
					t.Fatal(err)
				}
				schema := &props{}
				if err := json.Unmarshal(d.Spec.Versions[0].Schema.OpenAPIV3Schema.Raw, schema); err != nil {
					t.Fatal(err)
				}
				n := d.Spec.Names
				add(d.Spec.Group, schema, n.Categories, n.Kind, n.Plural, n.Singular)
				if n := d.Spec.ClaimNames; n != nil {
					add(d.Spec.Group, schema, n.Categories, n.Kind, n.Plural, n.Singular)
				}
			}
		}
	}
	dir, err := crds.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd(data)
	}
	for _, name := range kubernetes {
		if _, ok := out[name]; !ok {
			out[name] = nil
		}
	}
	return out
}

// heredoc matches the content of a here-document.
var heredoc = regexp.MustCompile(`(?ms)<<-?'?EOF'?(.*?\n)(.*?)^ *EOF$`)

// commands splits shell code into commands, and each into words without quotes.
func commands(code string) [][]string {
	var (
		out     [][]string
		command []string
		word    strings.Builder
		started bool
	)
	flushWord := func() {
		if started {
			command = append(command, word.String())
		}
		word.Reset()
		started = false
	}
	flush := func() {
		if flushWord(); len(command) > 0 {
			out = append(out, command)
		}
		command = nil
	}
	code = strings.ReplaceAll(heredoc.ReplaceAllString(code, "$1"), "\\\n", " ")
	var quote byte
	for i := 0; i < len(code); i++ {
		c := code[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == '\\' && i+1 < len(code):
			i++
			word.WriteByte(code[i])
			started = true
		case c == '#' && !started:
			for i+1 < len(code) && code[i+1] != '\n' {
				i++
			}
		case c == '$' && strings.HasPrefix(code[i:], "$("):
			flush()
			i++
		case strings.IndexByte("\n;|&()", c) >= 0:
			flush()
		case c == ' ' || c == '\t':
			flushWord()
		default:
			word.WriteByte(c)
			started = true
		}
	}
	flush()
	return out
}

// valued are the flags of kubectl whose value is the next word, if it is not in the same one.
var valued = []string{
	"-n", "-l", "-o", "-c", "-f", "-p", "--type", "--from", "--sort-by", "--field-selector", "--tail", "--for", "--timeout",
	"--patch-file",
}

// jsonPaths matches the fields of an expression of kubectl, and the ends of ranges.
var jsonPaths = regexp.MustCompile(`\{(range )?(\.[^{}]+)\}|\{end\}`)

// argumentsOf splits a command of kubectl into positional arguments, and pairs of a flag and its value.
func argumentsOf(command []string) (positional []string, flags [][2]string) {
	for i := 1; i < len(command) && command[i] != "--"; i++ {
		w := command[i]
		flag, value, ok := strings.Cut(w, "=")
		switch {
		case !strings.HasPrefix(w, "-"):
			positional = append(positional, w)
		case !ok && slices.Contains(valued, w) && i+1 < len(command):
			i++
			flags = append(flags, [2]string{w, command[i]})
		default:
			flags = append(flags, [2]string{flag, value})
		}
	}
	return positional, flags
}

// kubectlErrors returns the names of kinds and the fields of a command of kubectl that do not exist.
func kubectlErrors(kinds map[string][]*props, command []string) []string {
	positional, flags := argumentsOf(command)
	var fields, out []string
	for _, f := range flags {
		switch f[0] {
		case "-o", "--for", "--sort-by":
			fields = append(fields, pathsOf(f[1])...)
		case "-p":
			paths, err := patchPaths(f[1])
			if err != nil {
				out = append(out, fmt.Sprintf("patch %s: %v", f[1], err))
			}
			fields = append(fields, paths...)
		}
	}
	var schemas []*props
	for _, name := range kindsOf(positional) {
		found, ok := kinds[strings.ToLower(name)]
		switch {
		case !ok:
			out = append(out, "no kind has the name "+name)
		case found == nil:
			return out // The project has no schema of the kind.
		}
		schemas = append(schemas, found...)
	}
	for _, field := range fields {
		if len(schemas) > 0 && !slices.ContainsFunc(schemas, func(s *props) bool { return hasField(s, strings.Split(field, ".")) }) {
			out = append(out, "no field "+field)
		}
	}
	return out
}

// kindsOf returns the kinds among the positional arguments of kubectl, the first of which is the verb.
func kindsOf(arguments []string) []string {
	if len(arguments) < 2 {
		return nil
	}
	var out []string
	switch verb, first := arguments[0], arguments[1]; verb {
	case "auth":
		out = arguments[min(3, len(arguments)):min(4, len(arguments))]
	case "get", "describe", "wait", "patch", "delete", "annotate", "label", "edit", "create", "top", "scale":
		for name := range strings.SplitSeq(first, ",") {
			kind, _, _ := strings.Cut(name, "/")
			out = append(out, kind)
		}
		for _, w := range arguments[2:] {
			if kind, _, ok := strings.Cut(w, "/"); ok && strings.Contains(first, "/") {
				out = append(out, kind)
			}
		}
	case "rollout":
		kind, _, _ := strings.Cut(arguments[min(2, len(arguments)-1)], "/")
		out = append(out, kind)
	case "logs", "exec", "port-forward":
		if kind, _, ok := strings.Cut(first, "/"); ok {
			out = append(out, kind)
		}
	}
	// A variable or a placeholder is no kind.
	return slices.DeleteFunc(out, func(kind string) bool { return strings.HasPrefix(kind, "$") || kind == strings.ToUpper(kind) })
}

// pathsOf returns the fields below spec and status of a JSONPath, or of columns.
func pathsOf(value string) []string {
	for _, kind := range []string{"jsonpath=", "custom-columns="} {
		value = strings.TrimPrefix(value, kind)
	}
	var raw []string
	base := ""
	for _, m := range jsonPaths.FindAllStringSubmatch(value, -1) {
		switch {
		case m[0] == "{end}":
			base = ""
		case m[1] != "":
			base = m[2]
		default:
			raw = append(raw, base+m[2])
		}
	}
	if raw == nil {
		for column := range strings.SplitSeq(value, ",") {
			if _, path, ok := strings.Cut(column, ":"); ok {
				column = path
			}
			if strings.HasPrefix(column, ".") {
				raw = append(raw, column)
			}
		}
	}
	var out []string
	for _, p := range raw {
		p, _, _ = strings.Cut(strings.TrimPrefix(p, ".items[*]"), "=")
		p = regexp.MustCompile(`\[[^\]]*\]?`).ReplaceAllString(p, "")
		if p = strings.Trim(p, "."); strings.HasPrefix(p, "spec.") || strings.HasPrefix(p, "status.") {
			out = append(out, p)
		}
	}
	return out
}

// patchPaths returns the fields of a patch. Variables of the shell stand for values.
func patchPaths(patch string) ([]string, error) {
	var content any
	if err := json.Unmarshal([]byte(patch), &content); err != nil {
		return nil, err
	}
	if list, ok := content.([]any); ok { // a JSON patch
		var out []string
		for _, operation := range list {
			o, _ := operation.(map[string]any)
			path, _ := o["path"].(string)
			out = append(out, strings.ReplaceAll(strings.Trim(path, "/"), "/", "."))
		}
		return out, nil
	}
	return leavesOf("", content), nil
}

// leavesOf returns the paths of values below a prefix.
func leavesOf(prefix string, content any) []string {
	switch c := content.(type) {
	case map[string]any:
		var out []string
		for _, k := range slices.Sorted(maps.Keys(c)) {
			out = append(out, leavesOf(strings.TrimPrefix(prefix+"."+k, "."), c[k])...)
		}
		if len(c) > 0 {
			return out
		}
	case []any:
		var out []string
		for _, v := range c {
			out = append(out, leavesOf(prefix, v)...)
		}
		if len(c) > 0 {
			return out
		}
	}
	return []string{prefix}
}

// ofCrossplane are the fields of spec that Crossplane adds to definitions.
var ofCrossplane = []string{"claimRef", "compositionRevisionSelector"}

// hasField reports whether a schema has a field. Conditions and metadata are fields of Kubernetes.
func hasField(s *props, path []string) bool {
	if len(path) > 1 && path[0] == "spec" && slices.Contains(ofCrossplane, path[1]) {
		return true
	}
	for i, name := range path {
		for s.Items != nil && s.Items.Schema != nil {
			s = s.Items.Schema
		}
		if name == "" || name == "conditions" || i == 0 && slices.Contains([]string{"metadata", "apiVersion", "kind"}, name) {
			return true
		}
		if s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields {
			return true
		}
		child, ok := s.Properties[name]
		switch {
		case ok:
			s = &child
		case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			s = s.AdditionalProperties.Schema
		default:
			return s.Type == "object" && len(s.Properties) == 0 && i > 0 // The schema has no fields.
		}
	}
	return true
}

// codeOf returns the code of a page in languages, without the indentation of the first line.
func codeOf(text string, languages ...string) []string {
	var out []string
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		if slices.Contains(languages, m[1]) {
			indent := m[2][:len(m[2])-len(strings.TrimLeft(m[2], " "))]
			out = append(out, strings.ReplaceAll(strings.TrimPrefix(m[2], indent), "\n"+indent, "\n"))
		}
	}
	return out
}

// isCobaltcore reports whether a word is the command line of this project.
func isCobaltcore(word string) bool { return word == "cobaltcore" || word == "./cmd/cobaltcore" }

// TestCommandsOfPages checks that kinds and fields in commands of kubectl exist, and so do targets of make, and commands and flags of
// the command line.
func TestCommandsOfPages(t *testing.T) {
	kinds, pages := definitions(t), readPages(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	flags := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(-[-a-z]+)").FindAllStringSubmatch(pages["docs/cli.md"], -1) {
		flags[m[1]] = true
	}
	subcommands := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| \\[?`cobaltcore ([a-z]+)`").FindAllStringSubmatch(pages["docs/cli.md"], -1) {
		subcommands[m[1]] = true
	}
	quotedMake := regexp.MustCompile("`make ([a-z0-9-]+)[^`]*`")
	checked, used := 0, map[string]bool{}
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, m := range quotedMake.FindAllStringSubmatch(pages[page], -1) {
			if !targets[m[1]] {
				t.Errorf("%s: make has no target %s", page, m[1])
			}
		}
		for _, code := range codeOf(pages[page], "sh") {
			for _, command := range commands(code) {
				if i := slices.Index(command, "kubectl"); i >= 0 {
					checked++
					positional, options := argumentsOf(command[i:])
					for _, name := range kindsOf(positional) {
						used[name] = true
					}
					for _, f := range options {
						used[f[0]] = true
					}
					for _, problem := range kubectlErrors(kinds, command[i:]) {
						t.Errorf("%s: %s: %s", page, strings.Join(command[i:], " "), problem)
					}
				}
				if command[0] == "make" && len(command) > 1 && !targets[command[1]] {
					t.Errorf("%s: make has no target %s", page, command[1])
				}
				// Helm has a release of this name, and kubectl a category.
				i := slices.IndexFunc(command, isCobaltcore)
				if command[0] != "helm" && command[0] != "kubectl" && i >= 0 && i+1 < len(command) {
					for _, w := range command[i+2:] {
						if name, _, _ := strings.Cut(w, "="); len(name) > 1 && name[0] == '-' && !flags[name] {
							t.Errorf("%s: cobaltcore has no flag %s", page, w)
						}
					}
					if !subcommands[command[i+1]] {
						t.Errorf("%s: cobaltcore has no command %s", page, command[i+1])
					}
				}
			}
		}
	}
	for _, name := range slices.Concat(kubernetes, valued) {
		if !used[name] {
			t.Errorf("no page has a command with %s", name)
		}
	}
	if checked < 500 || len(targets) < 20 || len(flags) < 5 || len(subcommands) < 3 {
		t.Errorf("found %d commands of kubectl, %d targets, %d flags and the commands %v only", checked, len(targets), len(flags), subcommands)
	}
}

// TestVariablesOfPages checks that a page assigns each variable of its shell code, except the namespace of a control plane, which one page
// explains for all, and the name of the user.
func TestVariablesOfPages(t *testing.T) {
	variable := regexp.MustCompile(`\$\{?([A-Z][A-Z_]+)\b`)
	assigned := regexp.MustCompile(`\b([A-Z][A-Z_]+)=|read -r ([A-Z]+)`)
	pages := readPages(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		code := strings.Join(codeOf(pages[page], "sh"), "\n")
		values := map[string]bool{"INSTANCE": true, "USER": true, "HOME": true, "PWD": true}
		for _, m := range assigned.FindAllStringSubmatch(code, -1) {
			values[m[1]+m[2]] = true
		}
		for _, m := range variable.FindAllStringSubmatch(code, -1) {
			if !values[m[1]] {
				t.Errorf("%s assigns no value to $%s", page, m[1])
				values[m[1]] = true
			}
		}
	}
}

// TestManifestsOfPages checks that manifests on pages have only fields that exist: complete ones, the spec of a claim alone, and values of
// the chart with a PlatformConfig.
func TestManifestsOfPages(t *testing.T) {
	kinds, pages := definitions(t), readPages(t)
	claims := []string{"controlplanecluster", "hypervisorcluster", "storagecluster", "keystoneservice", "platformconfig"}
	checked := 0
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, code := range codeOf(pages[page], "yaml") {
			for doc := range strings.SplitSeq(code, "\n---\n") {
				content := map[string]any{}
				if yaml.Unmarshal([]byte(doc), &content) != nil {
					continue // Several documents, or a part of one.
				}
				candidates := claims
				if platform, ok := content["platformConfig"].(map[string]any); ok {
					content, candidates = platform, []string{"platformconfig"}
				} else if kind, ok := content["kind"].(string); ok {
					candidates = []string{strings.ToLower(kind)}
				}
				spec, ok := content["spec"]
				if !ok || kinds[candidates[0]] == nil {
					continue
				}
				checked++
				paths := leavesOf("", spec)
				if !slices.ContainsFunc(candidates, func(kind string) bool { return len(missing(kinds[kind], paths)) == 0 }) {
					t.Errorf("%s: %s has no fields %v", page, strings.Join(candidates, ", "), missing(kinds[candidates[0]], paths))
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("found %d manifests only", checked)
	}
}

// missing returns the paths below spec that no schema has.
func missing(schemas []*props, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(schemas, func(s *props) bool { return hasField(s, append([]string{"spec"}, strings.Split(path, ".")...)) })
	})
}

func TestSplitsBlocksIntoCommands(t *testing.T) {
	got := commands("A=$(kubectl get pods -o jsonpath='{.a b}') # a comment\nkubectl apply -f - <<EOF | grep 'x y'\nkind: Y\nEOF\nx \\\n  --y=\"1 2\"; z\n")
	want := [][]string{
		{"A="}, {"kubectl", "get", "pods", "-o", "jsonpath={.a b}"}, {"kubectl", "apply", "-f", "-"}, {"grep", "x y"}, {"x", "--y=1 2"}, {"z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKubectlErrors(t *testing.T) {
	text := props{Type: "string"}
	list := props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &props{Type: "object", Properties: map[string]props{"name": text}}}}
	schema := &props{Type: "object", Properties: map[string]props{
		"spec": {Type: "object", Properties: map[string]props{"size": text}}, "status": {Type: "object", Properties: map[string]props{"parts": list}},
	}}
	kinds := map[string][]*props{"thing": {schema}, "things": {schema}, "pods": nil, "job": nil}
	cases := map[string]struct {
		reason, code string
		want         []string
	}{
		"Kinds":    {reason: "Names with and without an object.", code: "kubectl get pods,things; kubectl wait thing/a --for=condition=Ready; kubectl logs job/x"},
		"NoKind":   {reason: "A kind that does not exist.", code: "kubectl describe -n x engine y", want: []string{"no kind has the name engine"}},
		"Variable": {reason: "A variable may be any kind.", code: "kubectl get $KIND; kubectl delete KIND x"},
		"Fields":   {reason: "Fields of ranges, conditions and patches.", code: `kubectl get thing a -o jsonpath='{range .status.parts[*]}{.name}{end}{.status.conditions[?(@.type=="X")].status}'; kubectl patch thing a -p '{"spec":{"size":"b"}}'`},
		"NoField":  {reason: "A field of the status.", code: "kubectl wait thing/a --for=jsonpath='{.status.part}'=b", want: []string{"no field status.part"}},
		"NoPatch":  {reason: "A field of a patch.", code: `kubectl patch thing a --type merge -p '{"spec":{"sise":"b"}}'`, want: []string{"no field spec.sise"}},
		"BadPatch": {reason: "A patch is JSON.", code: `kubectl patch thing a -p '{"spec"}'`, want: []string{`patch {"spec"}: invalid character '}' after object key`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, command := range commands(tc.code) {
				got = append(got, kubectlErrors(kinds, command)...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
