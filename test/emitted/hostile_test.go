package emitted

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// marked is the text that a test replaces in freeText by a hostile one.
const marked = "MARKED"

// freeText is a claim with marked text in every field whose schema accepts a hostile text.
const freeText = `{
	global: {exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}, annotations: {a: MARKED}}},
	infrastructure: {rabbitmq: {exposure: {type: LoadBalancer, networks: [10.0.0.0/8], annotations: {a: MARKED}}}},
	services: {
		keystone: {config: {DEFAULT: {logging_context_format_string: MARKED}}, policy: {"identity:list_projects": MARKED},
			federation: {provider: a, metadataURL: "https://a.b/c", issuer: "https://a.b", clientID: a, clientSecretRef: {name: a, key: b}},
			identityBackends: [{domain: a, ldap: {url: "ldaps://ldap.example.com", user: MARKED, passwordSecretRef: {name: ldap, key: password},
				suffix: MARKED, userTreeDN: MARKED, groupTreeDN: MARKED, options: {user_filter: MARKED}}}]},
		placement: {enabled: true, policy: {"placement:usages": MARKED}}, barbican: {enabled: true, policy: {"secret:get": MARKED}},
		heat: {enabled: true, policy: {"stacks:index": MARKED}},
		horizon: {enabled: true, title: MARKED, websso: {choices: [{name: company, label: MARKED}]}},
		glance: {enabled: true, policy: {add_image: MARKED}, stores: [{name: main, description: MARKED, file: {storageSize: 100Gi}}]},
		neutron: {enabled: true, policy: {get_network: MARKED}, ovn: {southbound: {exposure: {type: LoadBalancer, networks: [10.0.0.0/8], annotations: {a: MARKED}}}}},
		nova: {enabled: true, policy: {"os_compute_api:servers:index": MARKED}, aggregates: [{name: a, metadata: {b: MARKED}}],
			flavors: [{name: a, vcpus: 1, memoryMiB: 64, description: MARKED, extraSpecs: {"aggregate_instance_extra_specs:b": MARKED}}]},
		cinder: {enabled: true, policy: {"volume:get": MARKED}, backends: [{name: archive, rbd: {secretRef: {name: ceph}, networks: [10.1.0.0/16]}}],
			defaultVolumeType: a, volumeTypes: [{name: a, backend: archive, description: MARKED, extraSpecs: {b: MARKED}}]}},
	tempest: {enabled: true, allowAdministration: true, tests: {includeRegex: MARKED, excludeRegex: MARKED}}}`

// neverInFiles are fields whose text reaches no file, by a pattern of their paths, with the reason.
var neverInFiles = map[string]string{
	`^spec\.(composition|resourceRef|writeConnectionSecretToRef)`: "fields of Crossplane",
	`\.tolerations\[\]\.(key|value)$`:                             "fields of pods, with the syntax that Kubernetes requires (internal/tenant/syntax)",
	`^spec\.keystoneServices\[\]\.(type|additionalTypes\[\])$`:    "compared with the catalog of a KeystoneService",
	`\.ceph\.pool$`: "must be a pool of a StorageCluster",
	`^spec\.services\.cinder\.(defaultVolumeType|volumeTypes\[\]\.backend)$`: "must be the name of a volume type, or of a backend",
	`^spec\.services\.neutron\.dnsServers\[\]$`:                              "must be an address (CEL)",
	`^spec\.services\.horizon\.websso\.initialChoice$`:                       "must be the ID of a choice",
}

// hostileTexts have all characters that are special in INI files, Python, YAML, JSON, templates, shells, Apache and regular expressions.
var hostileTexts = []string{
	`a"b'c\d $e ${f} $(g) %h %(i)s {{ .j }} #k ;l =m [n] <o> &p |q, r`,
	"a\n[DEFAULT]\ndebug = true\n- b: c\n",
}

// TestHostileTextInFiles sets each text of a claim to hostile text. A claim that is not rejected has files with the same keys as with harmless
// text, which all parsers read. A field that is missing in freeText fails.
func TestHostileTextInFiles(t *testing.T) {
	if !effort.Long() {
		t.Skip("composes a whole cloud several times, for 25 CPU-seconds: make test-long does")
	}
	var fields []string
	eachMarked("spec", parse(t, freeText), func(path string) { fields = append(fields, path) })
	requireEveryText(t, fields)
	harmless := filesWith(t, nil, "", nil)
	if harmless == nil {
		t.Fatal("the claim with harmless text is rejected")
	}
	for _, text := range hostileTexts {
		rejected := map[string]bool{}
		for range fields {
			var refused []string
			files := filesWith(t, fields, text, rejected)
			if files != nil {
				for _, name := range slices.Sorted(maps.Keys(files)) {
					compareFiles(t, name, harmless[name], files[name])
				}
				break
			}
			for f := range rejected {
				refused = append(refused, f)
			}
			if len(refused) == len(fields) {
				break
			}
		}
		t.Logf("%q is rejected in %v", text, slices.Sorted(maps.Keys(rejected)))
	}
}

// contentHash matches the hash in the name of a ConfigMap.
var contentHash = regexp.MustCompile(`-[0-9a-f]{10}$`)

// fieldInError matches the path of a field in an error.
var fieldInError = regexp.MustCompile(`spec\.[A-Za-z.\[\]0-9]+`)

// eachMarked calls visit for the path of each marked text.
func eachMarked(path string, v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			eachMarked(path+"."+k, v[k], visit)
		}
	case []any:
		for i := range v {
			eachMarked(fmt.Sprintf("%s[%d]", path, i), v[i], visit)
		}
	case string:
		if v == marked {
			visit(path)
		}
	}
}

// replaceMarked replaces marked texts by the result of a function of their paths.
func replaceMarked(path string, v any, text func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = replaceMarked(path+"."+k, v[k], text)
		}
	case []any:
		for i := range v {
			v[i] = replaceMarked(fmt.Sprintf("%s[%d]", path, i), v[i], text)
		}
	case string:
		if v == marked {
			return text(path)
		}
	}
	return v
}

// textOf returns a text in the form that a field requires.
func textOf(path, text string) string {
	switch {
	case strings.Contains(path, ".policy."):
		return "role:" + text
	case strings.HasSuffix(path, ".user_filter"):
		return "(cn=" + text + ")"
	case strings.Contains(path, ".ldap."):
		return "o=" + text
	}
	return text
}

// filesWith returns the files of all ConfigMaps of the claim with a text in some fields. Nil: the claim is rejected, and the fields with
// errors are added to rejected.
func filesWith(t *testing.T, fields []string, text string, rejected map[string]bool) map[string]string {
	t.Helper()
	spec := parse(t, freeText)
	replaceMarked("spec", spec, func(path string) string {
		if !slices.Contains(fields, path) || rejected[path] {
			return textOf(path, "harmless")
		}
		return textOf(path, text)
	})
	platform := document(t, "PlatformConfig", "default", parse(t, platforms["rich"]), "")
	r, err := preview.Run(document(t, "ControlPlaneCluster", "cloud", spec, "2025.2"), platform, kinds.Runners())
	if err != nil {
		found := false
		for _, named := range fieldInError.FindAllString(err.Error(), -1) {
			for _, f := range fields {
				if !rejected[f] && (strings.HasPrefix(f, named) || strings.HasPrefix(named, f)) {
					rejected[f], found = true, true
				}
			}
		}
		if !found {
			t.Fatalf("an error names none of the fields: %v", err)
		}
		return nil
	}
	files := map[string]string{}
	for _, o := range r.Objects {
		if o.Kind != "ConfigMap" {
			continue
		}
		data, _ := unwrapped(o.Manifest.AsMap())["data"].(map[string]any)
		for name, content := range data {
			files[contentHash.ReplaceAllString(o.Name, "")+" "+name], _ = content.(string)
		}
	}
	return files
}

// unwrapped returns the manifest in an Object of provider-kubernetes, or the object itself.
func unwrapped(m map[string]any) map[string]any {
	spec, _ := m["spec"].(map[string]any)
	provider, _ := spec["forProvider"].(map[string]any)
	if inner, ok := provider["manifest"].(map[string]any); ok {
		return inner
	}
	return m
}

// compareFiles fails unless the reader of a file finds the same keys in both texts.
func compareFiles(t *testing.T, name, harmless, hostile string) {
	t.Helper()
	keys := func(text string) any {
		switch {
		case strings.HasSuffix(name, ".conf"):
			file, err := oslo.Parse(text)
			if err != nil {
				return err.Error()
			}
			options := map[string][]string{}
			for group, entries := range file {
				for option := range entries {
					options[group] = append(options[group], option)
				}
				slices.Sort(options[group])
			}
			return options
		case strings.HasSuffix(name, ".yaml"):
			return yamlKeys(text)
		case strings.HasSuffix(name, ".json"):
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return err.Error()
			}
			return yamlKeys(text)
		case strings.HasSuffix(name, ".py"):
			return run(t, text, "python3", "-c", "import ast, sys\n"+
				"for n in ast.walk(t := ast.parse(sys.stdin.read())):\n  if isinstance(n, ast.Constant): n.value = 0\nprint(ast.dump(t))")
		case strings.HasSuffix(name, ".sh"):
			return run(t, text, "sh", "-n") + fmt.Sprint(strings.Count(text, "\n"))
		default:
			return strings.Count(text, "\n")
		}
	}
	if diff := cmp.Diff(keys(harmless), keys(hostile)); diff != "" {
		t.Errorf("%s: hostile text changes the file (-harmless +hostile):\n%s\n%s", name, diff, hostile)
	}
}

// run returns the output of a program, or nothing if it is not installed.
func run(t *testing.T, input string, command ...string) string {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		return ""
	}
	c := exec.Command(command[0], command[1:]...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return string(out)
}

// requireEveryText fails for each field of a ControlPlaneCluster that accepts a hostile text and is neither marked nor in neverInFiles.
func requireEveryText(t *testing.T, fields []string) {
	t.Helper()
	all, err := definition.All()
	if err != nil {
		t.Fatal(err)
	}
	index := slices.IndexFunc(all, func(c *apiextensionsv1.CustomResourceDefinition) bool {
		return c.Spec.Names.Kind == "ControlPlaneCluster"
	})
	spec := all[index].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	position := regexp.MustCompile(`\[[0-9]+\]`)
	known := map[string]bool{}
	for _, f := range fields {
		known[position.ReplaceAllString(f, "[]")] = true
	}
	used := map[string]bool{}
	var walk func(path string, p apiextensionsv1.JSONSchemaProps)
	walk = func(path string, p apiextensionsv1.JSONSchemaProps) {
		for name, below := range p.Properties {
			walk(path+"."+name, below)
		}
		if p.Items != nil {
			walk(path+"[]", *p.Items.Schema)
		}
		if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
			walk(path+".*", *p.AdditionalProperties.Schema)
		}
		if p.Type != "string" || len(p.Enum) > 0 || p.Format != "" || p.Pattern != "" && !regexp.MustCompile(p.Pattern).MatchString(`a"b`) {
			return
		}
		for pattern := range neverInFiles {
			if regexp.MustCompile(pattern).MatchString(path) {
				used[pattern] = true
				return
			}
		}
		for f := range known {
			if head, _, isMap := strings.Cut(path, ".*"); f == path || isMap && strings.HasPrefix(f, head+".") {
				return
			}
		}
		t.Errorf("%s accepts any text: mark it in freeText, or add it to neverInFiles", path)
	}
	for name, below := range spec.Properties {
		walk("spec."+name, below)
	}
	for pattern := range neverInFiles {
		if !used[pattern] {
			t.Errorf("%s matches no field that accepts any text", pattern)
		}
	}
}
