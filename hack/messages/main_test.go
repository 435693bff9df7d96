package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestCollect(t *testing.T) {
	cases := map[string]struct {
		reason, file, data string
		want               []message
	}{
		"error": {
			reason: "Values are placeholders by the last name of their expression, and %q has quotes.",
			file:   "internal/a/a.go",
			data:   `func f() error { return fmt.Errorf("cannot read %s of %q: %w", m.Name, string(o.Host), err) }`,
			want:   []message{{"errors", "internal/a", `cannot read {Name} of "{Host}": {err}`}},
		},
		"field": {
			reason: "The field is in front, a constant has its value, and a text in two literals is one.",
			file:   "functions/a/a.go",
			data:   "const remedy = \"set it to 3\"\n\nvar e = invalid.Field(\"spec.replicas\", \"must be odd, \"+\n\t\"not %d; %s\", n, remedy)",
			want:   []message{{"errors", "functions/a", "spec.replicas: must be odd, not {n}; set it to 3"}},
		},
		"numbered values": {
			reason: "A value may stand twice.",
			file:   "internal/a/a.go",
			data:   `var e = errors.New(fmt.Sprintf("the name %[2]s is %[1]s, and %[2]s is not", a, b))`,
			want:   []message{{"errors", "internal/a", "the name {b} is {a}, and {b} is not"}},
		},
		"condition": {
			reason: "The reason is in front.",
			file:   "companion/a/a.go",
			data:   `var c = condition.False("Waiting", "waiting for Job "+job.Name)`,
			want:   []message{{"conditions", "companion/a", "Waiting: waiting for Job {Name}"}},
		},
		"event":  {"Steps have notes.", "companion/a/a.go", `var d = Decision{Note: "rotated the keys"}`, []message{{"events", "companion/a", "rotated the keys"}}},
		"alert":  {"Alerts have two texts.", "functions/a/a.go", `var a = Alert{Summary: "No pod is ready."}`, []message{{"alerts", "functions/a", "No pod is ready."}}},
		"option": {"The function has a prefix.", "internal/openstack/override/a.go", `var o = reserved("tokens are required")`, []message{{"options", "internal/openstack/override", "cannot be set: tokens are required"}}},
		"part":   {"The user is unknown.", "internal/a/a.go", `func f() string { return "a size with its unit" }`, []message{{"parts", "internal/a", "a size with its unit"}}},
		"constants": {
			"A constant in another one is not a message, in any order.", "internal/a/a.go",
			"const a = \"some text and \" + z\n\nconst z = \"two small words\"", []message{{"parts", "internal/a", "some text and two small words"}},
		},
		"flag": {"Help is in tags.", "cmd/a/a.go", "type flags struct {\n\tFile string `help:\"File to read.\" short:\"f\"`\n}", []message{{"help", "cmd/a", "File to read."}}},
		"rule": {
			reason: "Rules are in comments of the types.",
			file:   "apis/a/v1/a.go",
			data:   "// +kubebuilder:validation:XValidation:rule=\"self.a == 'b'\",message=\"a must be \\\"b\\\"\"\ntype a struct{}",
			want:   []message{{"rules", "apis/a/v1", `a must be "b"`}},
		},
		"no message": {"Names, programs and dashboards are for machines.", "internal/a/a.go",
			"var a, b, c = Get(\"spec\", \"replicas\"), \"SELECT name from table\", Panel{Title: \"all the pods\"}", nil},
		"test":         {"Tests show nothing to a person.", "internal/a/a_test.go", `var e = errors.New("it is not so")`, nil},
		"test package": {"Their fakes have messages of other projects.", "internal/atest/a.go", `var e = errors.New("it is not so")`, nil},
		"policy": {
			reason: "A message is in one line or folded, and may have a value.",
			file:   "package/chart/templates/a.yaml",
			data: "    - expression: a\n      message: it is set by the platform\n    - expression: b\n      message: >-\n        first line\n        second line\n" +
				"      reason: Forbidden\n      message: {{ printf \"%s is set\" .a | quote }}\n{{- fail \"a.b: set it\" }}\n",
			want: []message{
				{"rules", "package/chart/templates", "%s is set"}, {"rules", "package/chart/templates", "a.b: set it"},
				{"rules", "package/chart/templates", "first line second line"}, {"rules", "package/chart/templates", "it is set by the platform"},
			},
		},
		"shell":  {"Containers log it.", "functions/a/a.sh", "echo \"there is no key in $file\" >&2\necho '[section]'\n", []message{{"scripts", "functions/a", "there is no key in $file"}}},
		"python": {"A text may have several literals.", "functions/a/a.py", "sys.exit(f\"the key {key} \"\n  \"is missing\")\n", []message{{"scripts", "functions/a", "the key {key} is missing"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if strings.HasSuffix(tc.file, ".go") {
				tc.data = "package a\n\n" + tc.data + "\n"
			}
			root := fstest.MapFS{tc.file: {Data: []byte(tc.data)}}
			for _, folder := range folders {
				root[folder+"/README.md"] = &fstest.MapFile{}
			}
			got, err := collect(root)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(message{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEveryKindHasMessages checks that each kind has messages in the project: a renamed function or field makes its texts parts.
func TestEveryKindHasMessages(t *testing.T) {
	all, err := collect(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	number := map[string]int{}
	for _, m := range all {
		number[m.kind]++
	}
	list := string(pages(all)["README.md"])
	for _, k := range kinds {
		if row := fmt.Sprintf("| [%s](%s.md) | %d |", k.title, k.name, number[k.name]); number[k.name] == 0 || !strings.Contains(list, row) {
			t.Errorf("there are %d messages of kind %s; want some, and the row %q in\n%s", number[k.name], k.name, row, list)
		}
		delete(number, k.name)
	}
	if len(number) != 0 {
		t.Errorf("kinds %v have no page", number)
	}
}

func TestDraw(t *testing.T) {
	all := []message{{"errors", "a", "one"}, {"parts", "a", "two"}, {"help", "a", "three"}}
	first, second := draw(all, 5), draw(all, 5)
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(message{})); diff != "" || len(first) != 2 {
		t.Errorf("draw(...) has to return both whole messages in the same order, got %v and %v", first, second)
	}
}
