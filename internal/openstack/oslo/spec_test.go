package oslo_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// written returns a spec with one option, in the tenant's notation.
func written(json string) common.Config {
	return common.Config{"g": {"o": apiextensionsv1.JSON{Raw: []byte(json)}}}
}

func repeated(_, option string) bool { return option == "o" }

func TestFromSpec(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   string
		multi  func(group, option string) bool
		want   any
		text   string
	}{
		"String":      {"A string stays one.", `"a"`, nil, "a", "a"},
		"Dollar":      {"A tenant's dollar sign is one.", `"$a"`, nil, "$a", "$$a"},
		"Bool":        {"A boolean.", `true`, nil, true, "true"},
		"Whole":       {"A whole number has no point, however it was written.", `3.6e3`, nil, int64(3600), "3600"},
		"Negative":    {"Nor a negative one.", `-1.0`, nil, int64(-1), "-1"},
		"Fraction":    {"A fraction.", `0.25`, nil, 0.25, "0.25"},
		"Small":       {"Python reads exponents of floats.", `1e-9`, nil, 1e-9, "1e-09"},
		"LargestInt":  {"2^53 is exact.", `9007199254740992`, nil, int64(1 << 53), "9007199254740992"},
		"List":        {"A list, its items as they would be alone.", `["a", true, 8080, 0.5]`, nil, []string{"a", "true", "8080", "0.5"}, "a,true,8080,0.5"},
		"Repeated":    {"A list for an option that is repeated.", `["a", "b,c"]`, repeated, oslo.Multi{"a", "b,c"}, "a\no = b,c"},
		"RepeatedOne": {"A string for an option that is repeated.", `"a,b"`, repeated, "a,b", "a,b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := oslo.FromSpec("spec.config", written(tc.args), tc.multi)
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(one(tc.want), got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			text, err := got.Render()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("[g]\no = "+tc.text+"\n", text); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFromSpecRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   common.Config
		multi  func(group, option string) bool
		want   string
	}{
		"Null":          {"Nothing is no value.", written(`null`), nil, "spec.config.g.o: it has no value"},
		"Absent":        {"Nor is no JSON.", written(``), nil, "spec.config.g.o: it has no value"},
		"Broken":        {"Broken JSON.", written(`{`), nil, "spec.config.g.o: it is not valid JSON"},
		"Object":        {"An object.", written(`{"a": 1}`), nil, "spec.config.g.o: it is an object"},
		"Nested":        {"A list of lists.", written(`["a", ["b"]]`), nil, "spec.config.g.o: item 2 of the list"},
		"TooLarge":      {"The number would change on its way.", written(`9007199254740994`), nil, "spec.config.g.o: the number is too large"},
		"TooLargeItem":  {"In a list too.", written(`[1e300]`), nil, "spec.config.g.o: the number is too large"},
		"LineBreak":     {"It cannot be rendered.", written(`"a\nb"`), nil, "spec.config.g.o: its value holds a control character"},
		"Comma":         {"A comma in a list.", written(`["a,b"]`), nil, `spec.config.g.o: item "a,b" of the list`},
		"EmptyRepeated": {"An empty list for an option that is repeated.", written(`[]`), repeated, "spec.config.g.o: a repeated option cannot be empty"},
		"Name":          {"A name that would break the file.", common.Config{"g": {"o\n": {Raw: []byte(`1`)}}}, nil, "the option's name"},
		"SameGroup":     {"Two spellings of a group.", common.Config{"Cache": {"a": {Raw: []byte(`1`)}}, "cache": {"b": {Raw: []byte(`1`)}}}, nil, "spec.config: [Cache] and [cache] are one group"},
		"All":           {"All mistakes at once, sorted.", common.Config{"b": {"o": {}}, "a": {"o": {}}}, nil, "remove the option\nspec.config.b.o"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := oslo.FromSpec("spec.config", tc.args, tc.multi)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot error %v, want one with %q", tc.reason, err, tc.want)
			}
			if !invalid.Is(err) {
				t.Errorf("%s\nthe tenant can fix %v, so it has to be an invalid.Spec", tc.reason, err)
			}
			if got != nil {
				t.Errorf("%s\ngot a configuration and an error: %v", tc.reason, got)
			}
		})
	}
}
