package manifest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files again")

// readers are two common YAML parsers: the parser of kubectl, for YAML 1.1, and the usual one of Go programs. Their results are compared
// as JSON values.
var readers = map[string]func([]byte) (map[string]any, error){
	"sigs.k8s.io/yaml": func(b []byte) (map[string]any, error) {
		out := map[string]any{}
		return out, yaml.UnmarshalStrict(b, &out)
	},
	"go.yaml.in/yaml/v3": func(b []byte) (map[string]any, error) {
		out := map[string]any{}
		if err := yamlv3.Unmarshal(b, &out); err != nil {
			return nil, err
		}
		return jsonValues(out)
	},
}

// jsonValues makes every number a float64, as in protobuf.
func jsonValues(m map[string]any) (map[string]any, error) {
	s, err := structpb.NewStruct(m)
	return s.AsMap(), err
}

// checkRoundTrip fails if a reader finds anything else in the YAML than was printed.
func checkRoundTrip(t interface {
	Helper()
	Errorf(format string, args ...any)
}, want *structpb.Struct,
) {
	t.Helper()
	text := YAML(want)
	for name, read := range readers {
		got, err := read(text)
		if err != nil {
			t.Errorf("%s cannot read: %v\n%.500q", name, err, text)
			continue
		}
		if diff := cmp.Diff(want.AsMap(), got); diff != "" {
			t.Errorf("%s reads something else (-printed +read):\n%.2000s\n%.500q", name, diff, text)
		}
	}
}

// scalars are strings that some reader takes for something else, or that block and plain scalars cannot hold.
var scalars = []string{
	"", " ", "a", " a", "a ", "a b", "a  b", "\ta", "a\t", "a\tb",
	"null", "Null", "~", "true", "True", "FALSE", "yes", "No", "on", "OFF", "y", "N", "nan", ".nan", "inf", ".inf", "-.INF",
	"0", "-1", "+1", "1.5", "1e3", "0x1f", "0o7", "07", "1_000", "12:30:45", "2026-05-01", "2026-05-01T03:00:00Z", "=", "<<", "!", "!!str a",
	"a: b", "a:b", "a:", ":a", "a #b", "a#b", "#a", "- a", "-", "--- a", "...", "? a", "{a}", "[a]", "a, b", "*a", "&a", "|", ">", "%a", "@a", "`a",
	`"a"`, `'a'`, `a"b`, `a\b`, `\n`, `{{ .password }}`, "$(DATABASE_PASSWORD)", "100m", "512Mi", "*/5 * * * *", "/etc/keystone", "(a)", "k8s.io/a-b_c",
	"a\nb", "a\nb\n", "a\n\n", "a\n\nb", "\na", "\n", "\n\n", " a\nb", "a\n b\n", "a\n\tb\n", "a\n \n", "a\n ", "a\n#b", "a: b\nc: d\n", "- a\n- b\n", "---\na\n",
	"a\rb", "a\r\nb\n", "a\x00b", "a\x1bb\nc", "\x7f", "\u0080", "\u0085", "\u009f", "a\u0085\nb", "\u00a0", "\u2028a\nb", "\u2029", "\ufeff", "a\ufeff\nb", "\ufffd", "\ufffe", "a\uffff\nb",
	"ä", "日本", "日本\n語\n", "🙂", "🙂\n🙂", "\U0010ffff",
	strings.Repeat("a", 119), strings.Repeat("a ", 200), strings.Repeat("long line ", 50) + "\nb\n",
}

// genScalar mixes known difficult strings with random ones.
var genScalar = rapid.OneOf(
	rapid.SampledFrom(scalars),
	rapid.StringOf(rapid.RuneFrom([]rune(" \t\n\r:-#'\"\\{}[],&*!|>%@`?~=<0123456789abnotyesulf.\u0085\u2028\ufeff"))),
	rapid.String(),
)

// genValue is any JSON value of a depth.
func genValue(t *rapid.T, depth int) any {
	kinds := []string{"string", "string", "string", "number", "bool", "null"}
	if depth > 0 {
		kinds = append(kinds, "map", "map", "list", "list")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "number":
		return rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Int(), func(i int) float64 { return float64(i) })).Draw(t, "number")
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "null":
		return nil
	case "map":
		return genMap(t, depth-1)
	case "list":
		out := make([]any, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range out {
			out[i] = genValue(t, depth-1)
		}
		return out
	}
	return genScalar.Draw(t, "string")
}

func genMap(t *rapid.T, depth int) map[string]any {
	out := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "keys") {
		out[genScalar.Draw(t, "key")] = genValue(t, depth)
	}
	return out
}

func object(tb testing.TB, m map[string]any) *structpb.Struct {
	tb.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestYAMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, err := structpb.NewStruct(genMap(rt, 4))
		if err != nil {
			rt.Fatal(err)
		}
		checkRoundTrip(rt, s)
	})
}

// TestYAMLPreservesDifficultStrings puts every difficult string where a string can stand: as a key, a value, an item, and an item of an
// item.
func TestYAMLPreservesDifficultStrings(t *testing.T) {
	keys := append([]string{strings.Repeat("k", 1100), strings.Repeat("\n", 1100)}, scalars...)
	for _, s := range keys {
		for name, m := range map[string]map[string]any{
			"value":           {"a": s, "b": "c"},
			"nested value":    {"a": map[string]any{"b": s, "c": "d"}},
			"key":             {s: "a"},
			"key of a map":    {s: map[string]any{"b": "c"}},
			"key of a list":   {s: []any{"b", map[string]any{s: s}}},
			"key of nothing":  {s: nil},
			"item":            {"a": []any{s, "b"}},
			"nested item":     {"a": []any{[]any{s, s}, s}},
			"item's member":   {"a": []any{map[string]any{"b": s, "c": s}}},
			"empty container": {s: map[string]any{}, "a": []any{[]any{}, map[string]any{}, s}},
		} {
			t.Run(name, func(t *testing.T) { checkRoundTrip(t, object(t, m)) })
		}
	}
}

// TestYAMLMatchesGoldens compares the output with testdata/<name>.yaml. Each input is testdata/<name>.json.
func TestYAMLMatchesGoldens(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.json")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			s := &structpb.Struct{}
			if err := s.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(input, ".json") + ".yaml"
			got := YAML(s)
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkRoundTrip(t, s)
		})
	}
}

func FuzzYAML(f *testing.F) {
	for _, s := range scalars {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		// Protocol buffers hold no other strings.
		key, value = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(value, "?")
		checkRoundTrip(t, object(t, map[string]any{key: value, "list": []any{value, map[string]any{key: []any{value}}}}))
	})
}

func BenchmarkYAML(b *testing.B) {
	data, err := os.ReadFile("testdata/deployment.json")
	if err != nil {
		b.Fatal(err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(data, &m); err != nil {
		b.Fatal(err)
	}
	s := object(b, m)
	b.SetBytes(int64(len(YAML(s))))
	b.ReportAllocs()
	for b.Loop() {
		YAML(s)
	}
}
