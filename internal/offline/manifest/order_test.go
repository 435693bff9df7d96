package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
)

// TestPrintsKindAndNameFirst tests that kind and name come first.
func TestPrintsKindAndNameFirst(t *testing.T) {
	s, err := structpb.NewStruct(map[string]any{
		"spec": map[string]any{
			"zone": "z", "name": "n", "list": []any{map[string]any{"b": true, "name": "x"}, nil, []any{1, 2.5}, map[string]any{}, []any{}, "t"},
			"empty": map[string]any{}, "none": []any{}, "null": nil, "text": "one\ntwo\n", "open": "one\n\ntwo",
		},
		"metadata": map[string]any{"namespace": "s", "name": "m", "annotations": map[string]any{"a": "1"}}, "kind": "K", "apiVersion": "v1", "data": 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: v1
kind: K
metadata:
  name: m
  annotations:
    a: "1"
  namespace: s
data: 3
spec:
  name: "n"
  empty: {}
  list:
  - name: x
    b: true
  - null
  - - 1
    - 2.5
  - {}
  - []
  - t
  none: []
  "null": null
  open: |-
    one

    two
  text: |
    one
    two
  zone: z
`
	if diff := cmp.Diff(want, string(YAML(s))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestQuotesAmbiguousStrings tests which strings need no quotes, and which a YAML parser would read as another type.
func TestQuotesAmbiguousStrings(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "/a": true, "a-b_c.d/e(f)": true, "a:b": true, "a b": true, "A1": true,
		"": false, "1": false, "-": false, "a:": false, "a: b": false, "a ": false, "a #": false, "a  b": false, "a::": false, "a,b": false,
		"null": false, "Null": false, "true": false, "FALSE": false, "yes": false, "no": false, "on": false, "off": false, "y": false, "N": false,
		"nan": false, "inf": false, "NaN": false, "nullable": true, "ä": false, "a\tb": false, "~": false, "a[": false,
		strings.Repeat("a", 120): true, strings.Repeat("a", 121): false,
	} {
		if got := isPlain(text); got != want {
			t.Errorf("isPlain(%q) is %t", text, got)
		}
	}
	for text, want := range map[string]bool{
		"a\n": true, "a\nb": true, "a\tb\nc": true, "a": false, "a\n\n": false, "\x20a\n": false, "\ta\n": false, "\na": false,
		"a\u00a0\n": false, "a\u00a1\n": true, "a\u007e\n": true, "a\u007f\n": false, "a\u2028\n": false, "a\u2029\n": false, "a\ufeff\n": false, "a\r\n": false,
	} {
		if got := block(text); got != want {
			t.Errorf("block(%q) is %t", text, got)
		}
	}
	for text, want := range map[string]string{
		"": `""`, "a\"b\\": `"a\"b\\"`, "a\n\t": `"a\n\t"`, "\u00a0": `"\u00a0"`, "\u2028": `"\u2028"`, "\x00": `"\u0000"`, "ä": `"ä"`,
	} {
		if got := string(quoted(nil, text)); got != want {
			t.Errorf("quoted(%q) = %s, want %s", text, got, want)
		}
	}
	for f, want := range map[float64]string{
		0: "0", -1: "-1", 1 << 53: "9007199254740992", 1<<53 + 2: "9.007199254740994e+15", -(1 << 53): "-9007199254740992", 0.5: "0.5", 1e300: "1e+300",
	} {
		if got := string(number(nil, f)); got != want {
			t.Errorf("number(%v) = %s, want %s", f, got, want)
		}
	}
}

// TestLongKeysHaveQuestionMark tests that a key of more than 1024 bytes is printed with a question mark, as YAML requires.
func TestLongKeysHaveQuestionMark(t *testing.T) {
	for n, long := range map[int]bool{998: false, 999: true} { // and two quotes
		s, err := structpb.NewStruct(map[string]any{"a": map[string]any{strings.Repeat("k", n): "v"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(YAML(s)), "? "); got != long {
			t.Errorf("a key of %d bytes: a question mark is %t", n, got)
		}
	}
}
