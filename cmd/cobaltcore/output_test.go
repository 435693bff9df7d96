package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	internal "github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestYAMLContainsObjectsOfJSON: every document is the manifest of one object of the JSON output, in the same order.
func TestYAMLContainsObjectsOfJSON(t *testing.T) {
	for name, claim := range controlPlanes(t) {
		t.Run(name, func(t *testing.T) {
			docs := strings.Split(printed(t, claim)["yaml"], "---\n")[1:]
			objects := printedJSON(t, claim).Objects
			if len(docs) != len(objects) {
				t.Fatalf("%d documents for %d objects", len(docs), len(objects))
			}
			for i, doc := range docs {
				got := map[string]any{}
				if err := yaml.UnmarshalStrict([]byte(doc), &got); err != nil {
					t.Fatalf("document %d: %v\n%s", i, err, doc)
				}
				if diff := cmp.Diff(objects[i].Manifest, got); diff != "" {
					t.Errorf("document %d (-json +yaml):\n%s", i, diff)
				}
				if head := fmt.Sprintf("# stage %02d, %s\n", objects[i].Stage, objects[i].Component); !strings.HasPrefix(doc, head) {
					t.Errorf("document %d does not start with %q", i, head)
				}
			}
		})
	}
}

// TestJSONFieldsAreDocumented checks the fields against the table in docs/cli.md.
func TestJSONFieldsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "## JSON\n")
	section, _, _ = strings.Cut(section, "\n## ")
	version := regexp.MustCompile("`apiVersion: (\\S+)`").FindStringSubmatch(section)
	documented := map[string][]string{"": {"apiVersion"}}
	code := regexp.MustCompile("`[^`]+`")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		for _, c := range code.FindAllString(cells[1], -1) {
			field, members, nested := strings.Cut(strings.Trim(c, "`"), ".")
			field, list := strings.CutSuffix(field, "[]")
			documented[""] = append(documented[""], field)
			if nested {
				documented[field] = strings.Split(strings.Trim(members, "{}"), ",")
			}
			if list {
				for _, m := range code.FindAllString(cells[2], -1) {
					documented[field] = append(documented[field], strings.Trim(m, "`"))
				}
			}
		}
	}

	claim, err := examples.Files.ReadFile("controlplane/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := json.Unmarshal(shown(t, claim, "--format", "json"), &got); err != nil {
		t.Fatal(err)
	}
	if len(version) != 2 || got["apiVersion"] != version[1] || version[1] != internal.JSONVersion {
		t.Errorf("apiVersion %v, documented %v, in code %v", got["apiVersion"], version, internal.JSONVersion)
	}
	for field, want := range documented {
		members := map[string]bool{}
		switch v := got[field].(type) {
		case nil:
			collect(members, got)
		case map[string]any:
			collect(members, v)
		case []any:
			if len(v) == 0 {
				t.Errorf("%s is empty", field)
			}
			for _, item := range v {
				collect(members, item.(map[string]any))
			}
		}
		for _, m := range want {
			if !members[m] {
				t.Errorf("%q is documented in %q and not there", m, field)
			}
			delete(members, m)
		}
		if len(members) > 0 {
			t.Errorf("in %q but not documented: %v", field, members)
		}
	}
}

func collect(into map[string]bool, m map[string]any) {
	for k := range m {
		into[k] = true
	}
}

// TestDotGraphIsValidAndAcyclic checks that Graphviz accepts every line, every arrow connects existing boxes, and there is no cycle.
func TestDotGraphIsValidAndAcyclic(t *testing.T) {
	line := regexp.MustCompile(`^ *("[^"]+" \[label="[^"]+"\];|"[^"]+" -> "[^"]+";|subgraph "[^"]+" \{|digraph "[^"]+" \{|label="[^"]+";|rankdir=LR;|node \[.*\];|\})$`)
	for name, claim := range controlPlanes(t) {
		t.Run(name, func(t *testing.T) {
			text := printed(t, claim)["dot"]
			depth, boxes, after := 0, map[string]bool{}, map[string][]string{}
			for l := range strings.Lines(text) {
				l = strings.TrimSuffix(l, "\n")
				if !line.MatchString(l) {
					t.Errorf("a line that is none: %s", l)
				}
				depth += strings.Count(l, "{") - strings.Count(l, "}")
				from, to, arrow := strings.Cut(strings.Trim(l, " ;"), " -> ")
				box, _, label := strings.Cut(strings.TrimSpace(l), " [label=")
				switch {
				case arrow:
					after[to] = append(after[to], from)
				case label:
					boxes[box] = true
				}
			}
			if depth != 0 || len(boxes) == 0 || len(after) == 0 {
				t.Errorf("%d braces are open, %d boxes, %d arrows", depth, len(boxes), len(after))
			}
			for to, froms := range after {
				for _, from := range append(froms, to) {
					if !boxes[from] {
						t.Errorf("an arrow touches %s, which is no box", from)
					}
				}
			}
			var visit func(string, []string)
			visit = func(box string, path []string) {
				if slices.Contains(path, box) {
					t.Fatalf("a circle: %v", append(path, box))
				}
				for _, from := range after[box] {
					visit(from, append(path, box))
				}
			}
			for box := range boxes {
				visit(box, nil)
			}
		})
	}
}

// TestTreeListsEachObjectOnce: every object is named once, and the sum is right.
func TestTreeListsEachObjectOnce(t *testing.T) {
	for name, claim := range controlPlanes(t) {
		t.Run(name, func(t *testing.T) {
			text := printed(t, claim)["tree"]
			r := printedJSON(t, claim)
			if want := fmt.Sprintf("\n%d objects in %d stages; ", len(r.Objects), r.Stages); !strings.Contains(text, want) {
				t.Errorf("want%sin:\n%s", want, text)
			}
			for _, o := range r.Objects {
				mine := regexp.MustCompile(fmt.Sprintf(`(?m)^.. %02d %s +\d+ .*\b%s\b[^,]* %s(†|,|$| )`, o.Stage, o.Component, o.Kind, regexp.QuoteMeta(o.Name)))
				if !mine.MatchString(text) {
					t.Errorf("%s %s of %s is not in stage %d:\n%s", o.Kind, o.Name, o.Component, o.Stage, text)
				}
			}
		})
	}
}

// TestOutputIsDeterministic: the same claim gives the same bytes, in every format, however its keys are ordered.
func TestOutputIsDeterministic(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, claim := range controlPlanes(t) {
		t.Run(name, func(t *testing.T) {
			want := printed(t, claim)
			var m any
			if err := yaml.Unmarshal(claim, &m); err != nil {
				t.Fatal(err)
			}
			for range effort.Of(1, 3) {
				if diff := cmp.Diff(want, printed(t, shuffled(rnd, m))); diff != "" {
					t.Errorf("(-first +again):\n%s", diff)
				}
			}
		})
	}
}

// previews holds the results of printed, by claim, because most of these tests use the same previews.
var previews = map[string]map[string]string{}

// printed returns the output of one preview of a claim, by format.
func printed(t *testing.T, claim []byte) map[string]string {
	t.Helper()
	if out, ok := previews[string(claim)]; ok {
		return out
	}
	r, err := internal.Run(claim, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, format := range internal.Formats {
		var text strings.Builder
		if err := r.Print(&text, format); err != nil {
			t.Fatal(err)
		}
		out[format] = text.String()
	}
	previews[string(claim)] = out
	return out
}

// printedJSON returns the JSON output of one preview of a claim.
func printedJSON(t *testing.T, claim []byte) result {
	t.Helper()
	r := result{}
	if err := json.Unmarshal([]byte(printed(t, claim)["json"]), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// shuffled is a value as JSON, with the keys of every object in a random order.
func shuffled(rnd *rand.Rand, v any) []byte {
	var b bytes.Buffer
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		rnd.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for i, k := range keys {
			fmt.Fprintf(&b, "%s%q: %s", separator(i), k, shuffled(rnd, v[k]))
		}
		return []byte("{" + b.String() + "}")
	case []any:
		for i, item := range v {
			fmt.Fprintf(&b, "%s%s", separator(i), shuffled(rnd, item))
		}
		return []byte("[" + b.String() + "]")
	}
	scalar, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was just read
	}
	return scalar
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// suspicious are texts that hold a secret value rather than name one.
var suspicious = map[string]*regexp.Regexp{
	"a password in a URL":       regexp.MustCompile(`://[^\s/:@"]+:([^$@\s"{][^@\s"]*)@`),
	"a password":                regexp.MustCompile(`(?im)^\s*"?(password|passwd|secret|token|passphrase|private_?key)"? *[:=] *"?[^\s"{$][^\n]*`),
	"a key":                     regexp.MustCompile(`-----BEGIN|PRIVATE KEY`),
	"a Secret":                  regexp.MustCompile(`(?m)^\s*kind: "?Secret"?$|stringData:`),
	"connection details":        regexp.MustCompile(`connectionDetails|writeConnectionSecretToRef|publishConnectionDetailsTo`),
	"a value that is copied":    regexp.MustCompile(`patchesFrom`),
	"something of high entropy": regexp.MustCompile(`\b[A-Za-z0-9+/]{60,}={0,2}\b`),
}

// secretNames are keys that hold a secret wherever they hold a text.
var secretNames = regexp.MustCompile(`(?i)(password|passphrase|secret|private.?key|credential)$`)

// TestOutputContainsNoSecretValues searches for secret values in all output, and in the responses of functions to observed objects that
// contain many of them.
func TestOutputContainsNoSecretValues(t *testing.T) {
	searched := map[string]bool{} // Examples and formats have most lines in common, and every form is in one line.
	for name, claim := range controlPlanes(t) {
		t.Run(name, func(t *testing.T) {
			for format, text := range printed(t, claim) {
				var added strings.Builder
				for line := range strings.Lines(strings.ReplaceAll(text, monitoring.Runbooks, "")) { // Long paths look like keys.
					if !searched[line] {
						searched[line] = true
						added.WriteString(line)
					}
				}
				text = added.String()
				for description, form := range suspicious {
					for _, found := range form.FindAllString(text, -1) {
						t.Errorf("%s contains %s: %.200q", format, description, found)
					}
				}
			}
			for _, o := range printedJSON(t, claim).Objects {
				checkMembers(t, o.Kind+" "+o.Name, o.Manifest)
			}

			if !effort.Long() && name != "services.yaml" && name != "full.yaml" {
				return // make test plants secrets below the examples with all services and all features.
			}
			planted := map[string]function.Runner{}
			for kind, runner := range kinds.Runners() {
				planted[kind] = planter{runner, t}
			}
			r, err := internal.Run(claim, examples.Platform, planted)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for _, format := range internal.Formats {
				if err := r.Print(&out, format); err != nil {
					t.Fatal(err)
				}
			}
			if bytes.Contains(out.Bytes(), []byte(marker)) {
				t.Errorf("an observed secret is shown")
			}
		})
	}
}

// checkMembers looks at every text in a manifest by the name that it stands under, environment variables included.
func checkMembers(t *testing.T, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["name"].(string); ok && secretNames.MatchString(name) && v["value"] != nil {
			t.Errorf("%s: the variable %s has a value", at, name)
		}
		for k, member := range v {
			text, isText := member.(string)
			// In External Secrets and aggregates a template stands for the value; a Secret's key may be called password.
			if isText && secretNames.MatchString(k) && !strings.HasPrefix(text, "{{ .") && text != "" {
				t.Errorf("%s: %s is %q", at, k, text)
			}
			checkMembers(t, at+"."+k, member)
		}
	case []any:
		for i, item := range v {
			checkMembers(t, fmt.Sprintf("%s[%d]", at, i), item)
		}
	}
}

// marker is a secret value that must not appear in any output.
const marker = "PLANTED-hunter2"

// planter puts secrets wherever a function could observe some, and fails the test if its answer has one.
type planter struct {
	function.Runner
	t *testing.T
}

func (p planter) Explain(req *wire.Request) (*wire.Response, compose.Plan, error) {
	planted := *req
	planted.Composite = proto.CloneOf(req.Composite)
	plantAll(planted.Composite)
	planted.Observed = map[string]encoded.Struct{}
	for name, o := range req.Observed {
		tree := o.Tree()
		plantAll(tree)
		planted.Observed[name] = encoded.Of(tree)
	}
	rsp, plan, err := p.Runner.Explain(&planted)
	if err != nil {
		return rsp, plan, err
	}
	if text := protojson.Format(rsp.Message()); strings.Contains(text, marker) {
		i := strings.Index(text, marker)
		p.t.Errorf("a function returns an observed secret: …%s", text[max(0, i-300):i+50])
	}
	return rsp, plan, nil
}

// plantAll plants secrets wherever an object could hold some. Connection details and credentials do not come as far as a function.
func plantAll(o *structpb.Struct) {
	plant(o, "data", "password")
	plant(o, "status", "password")
	plant(o, "status", "atProvider", "manifest", "data", "password")
	plant(o, "status", "atProvider", "manifest", "status", "password")
	plant(o, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
}

// plant sets a field of an object, if all but the last two parts of its path exist.
func plant(o *structpb.Struct, path ...string) {
	for i, part := range path[:len(path)-1] {
		next := o.GetFields()[part].GetStructValue()
		if next == nil {
			if i < len(path)-2 || o == nil {
				return
			}
			next = &structpb.Struct{Fields: map[string]*structpb.Value{}}
			o.Fields[part] = structpb.NewStructValue(next)
		}
		o = next
	}
	o.Fields[path[len(path)-1]] = structpb.NewStringValue(marker)
}
