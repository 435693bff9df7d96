package python

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		module Module
		want   string
	}{
		"Nothing": {"No settings are an empty module.", nil, ""},
		"Plain": {
			"Each kind of value has its literal.",
			Module{{"A", nil}, {"B", true}, {"C", false}, {"D_2", 3}, {"E", int32(-4)}, {"F", "text"}},
			"A = None\nB = True\nC = False\nD_2 = 3\nE = -4\nF = \"text\"\n",
		},
		"Nested": {
			"Keys are sorted, and lines indented.",
			Module{{"A", Dict{"b": List{"x", 1}, "a": Dict{}, "c": Tuple{Tuple{"k", "v"}}}}},
			"A = {\n    \"a\": {},\n    \"b\": [\n        \"x\",\n        1,\n    ],\n    \"c\": (\n        (\n            \"k\",\n            \"v\",\n        ),\n    ),\n}\n",
		},
		"Empty": {"Nothing in it takes no lines.", Module{{"A", List{}}, {"B", Tuple{}}}, "A = []\nB = ()\n"},
		"File":  {"A secret is read, and stands nowhere.", Module{{"A", FileText("/a/b")}}, "A = open(\"/a/b\", encoding=\"ascii\").read()\n"},
		"Code": {
			"The content of a text cannot end its literal.",
			Module{{"A", "\"\nimport os\n#\\"}, {"B", "é\u2028☃😀\x00\x7f"}, {"C", FileText(`"); import os #`)}},
			`A = "\"\nimport os\n#\\"` + "\n" + `B = "\u00e9\u2028\u2603\U0001f600\x00\x7f"` + "\n" +
				`C = open("\"); import os #", encoding="ascii").read()` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.module.Render()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRenderRejectsInvalidModule(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		module Module
		want   string
	}{
		"Lower": {"Django reads no such name.", Module{{"debug", true}}, `"debug" is not the name`},
		"Code":  {"A name is no place for code.", Module{{"A = 1\nB", true}}, "is not the name"},
		"Twice": {"The second would hide the first.", Module{{"A", 1}, {"A", 2}}, "stands there twice"},
		"Type":  {"A new type needs a literal.", Module{{"A", 1.5}}, "cannot write A: a value of type float64 has no literal"},
		"Bytes": {"Go and Python read them differently.", Module{{"A", Dict{"a": List{"\xff"}}}}, "a text has to be UTF-8"},
		"Key":   {"Keys are texts, too.", Module{{"A", Dict{"\xff": 1}}}, "a text has to be UTF-8"},
		"Inner": {"Nested values are checked, too.", Module{{"A", Tuple{struct{}{}}}}, "has no literal"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.module.Render()
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %q and the error %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}

// FuzzText checks that a text is one ASCII literal on one line, which ends at its last character and evaluates to the same
// text.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a", `"`, `\`, `\"`, "\n", "\r", "'''", `"""`, "\\N{DIGIT ONE}", "{}", "é", "\u2028", "\U0010ffff", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, err := Module{{"A", text}}.Render()
		if !utf8.ValidString(text) {
			if err == nil {
				t.Fatalf("%q was written as %s", text, line)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		value, ok := strings.CutPrefix(line, `A = "`)
		value, end := strings.CutSuffix(value, "\"\n")
		if !ok || !end {
			t.Fatalf("%q is no literal", line)
		}
		for i := 0; i < len(value); i++ {
			switch c := value[i]; {
			case c < ' ' || c > '~' || c == '"':
				t.Fatalf("%q has %q in its middle", line, c)
			case c == '\\':
				i++ // The next character is escaped. The last character cannot be a backslash, which would escape the closing quote.
				if i == len(value) || !strings.ContainsRune(`abfnrtv\"xuU`, rune(value[i])) {
					t.Fatalf("%q has an escape that Python reads otherwise", line)
				}
			}
		}
		if back, err := strconv.Unquote(`"` + value + `"`); err != nil || back != text {
			t.Fatalf("%q evaluates to %q, want %q: %v", line, back, text, err)
		}
	})
}
