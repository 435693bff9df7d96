package oslo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

func TestRender(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   oslo.Config
		want   string
	}{
		"Nothing":     {"No option, no file.", oslo.Config{}, ""},
		"EmptyGroup":  {"A group without options is omitted.", oslo.Config{"token": {}, "cache": nil}, ""},
		"Default":     {"DEFAULT has a header and stands first.", oslo.Config{"a": {"x": 1}, "API": {"x": 3}, "DEFAULT": {"debug": true}}, "[DEFAULT]\ndebug = true\n\n[API]\nx = 3\n\n[a]\nx = 1\n"},
		"Sorted":      {"Groups and options are sorted.", oslo.Config{"b": {"y": 1, "x": 2}, "a": {"z": 3}}, "[a]\nz = 3\n\n[b]\nx = 2\ny = 1\n"},
		"Numbers":     {"Python reads all of them.", one(int64(-1)), "[g]\no = -1\n"},
		"Int32":       {"Replicas and ports are int32.", one(int32(5000)), "[g]\no = 5000\n"},
		"Float":       {"A float keeps its shortest decimal.", one(0.1), "[g]\no = 0.1\n"},
		"False":       {"False is written, not omitted.", one(false), "[g]\no = false\n"},
		"Empty":       {"An empty value is one that can be seen.", one(""), "[g]\no = \"\"\n"},
		"Comment":     {"There are no comments behind a value.", one("a # b ; c"), "[g]\no = a # b ; c\n"},
		"Delimiter":   {"The first = ends the name.", one("=a:b=c"), "[g]\no = =a:b=c\n"},
		"Percent":     {"A percent sign is one.", one("%(asctime)s"), "[g]\no = %(asctime)s\n"},
		"Section":     {"A bracket behind a name is no group.", one("[x]"), "[g]\no = [x]\n"},
		"Backslash":   {"A line does not continue on the next.", one(`a\`), "[g]\no = a\\\n"},
		"Space":       {"Outer spaces need quotes.", one(" a "), "[g]\no = \" a \"\n"},
		"Wide":        {"Python strips wide spaces too.", one("a\u3000"), "[g]\no = \"a\u3000\"\n"},
		"Quoted":      {"One pair of quotes is stripped, so there are two.", one(`"a"`), "[g]\no = '\"a\"'\n"},
		"Apostrophes": {"Either kind.", one(`'a'`), "[g]\no = \"'a'\"\n"},
		"Quote":       {"A single quote is a pair to oslo.config.", one(`"`), "[g]\no = '\"'\n"},
		"Inside":      {"Quotes inside do no harm.", one(`a"b'c`), "[g]\no = a\"b'c\n"},
		"Dollar":      {"A dollar sign is one.", one("$a ${b} $$"), "[g]\no = $$a $${b} $$$$\n"},
		"Escaped":     {"A backslash stays a backslash.", one(`\$a\\`), "[g]\no = \\\\$a\\\\\n"},
		"Template":    {"Only a template refers to other options.", one(oslo.Template("$state_path/x")), "[g]\no = $state_path/x\n"},
		"List":        {"A list is joined.", one([]string{"a", "b c", "$d"}), "[g]\no = a,b c,$$d\n"},
		"EmptyList":   {"An empty list is empty.", one([]string{}), "[g]\no = \"\"\n"},
		"Multi":       {"A multi-valued option is repeated in its order, doubles and empty ones included.", one(oslo.Multi{"b,c", "a", "", "a", "$"}), "[g]\no = b,c\no = a\no = \"\"\no = a\no = $$\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.args.Render()
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func one(value any) oslo.Config { return oslo.Config{"g": {"o": value}} }

func TestRenderRejectsInvalidConfig(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   oslo.Config
		want   string
	}{
		"LineBreak":      {"A value cannot make an option.", one("a\nadmin_token = x"), "[g] o: its value holds a control character"},
		"CarriageReturn": {"Python ends a line there too.", one("a\rb"), "[g] o: its value holds a control character"},
		"Tab":            {"No control character at all.", one("a\tb"), "[g] o: its value holds a control character"},
		"InMulti":        {"Nor in a repeated one.", one(oslo.Multi{"a", "b\nc"}), "[g] o: its value holds a control character"},
		"InList":         {"Nor in a list.", one([]string{"b\nc"}), "[g] o: its value holds a control character"},
		"InTemplate":     {"Nor in a template.", one(oslo.Template("$a\n")), "[g] o: its value holds a control character"},
		"NotUTF8":        {"Python could not read the file.", one("\xff"), "[g] o: its value is not valid UTF-8"},
		"Group":          {"A group cannot make an option.", oslo.Config{"g]\nx = 1\n[h": {"o": 1}}, "the group's name"},
		"GroupComment":   {"Nor begin a comment.", oslo.Config{"": {"o": 1}}, "the group's name"},
		"LowerDefault":   {"oslo.config would ignore it silently.", oslo.Config{"default": {"debug": true}}, "[default] debug: oslo.config ignores this group"},
		"SameGroup":      {"oslo.config lowers the case of groups.", oslo.Config{"Cache": {"a": 1}, "cache": {"a": 2}}, "[Cache] and [cache] are one group"},
		"Option":         {"An option's name ends at =.", oslo.Config{"g": {"a=b": 1}}, "the option's name"},
		"OptionSpace":    {"A space would continue the line before.", oslo.Config{"g": {" a": 1}}, "the option's name"},
		"OptionBreak":    {"Not even at its end.", oslo.Config{"g": {"a\n": 1}}, "the option's name"},
		"Comment":        {"An option would be a comment.", oslo.Config{"g": {"#a": 1}}, "the option's name"},
		"Comma":          {"One item would become two.", one([]string{"a,b"}), `item "a,b" of the list`},
		"EmptyItem":      {"An empty item at the end is dropped.", one([]string{"a", ""}), `item "" of the list`},
		"SpaceItem":      {"Items are stripped.", one([]string{"a "}), `item "a " of the list`},
		"EmptyMulti":     {"It cannot be written.", one(oslo.Multi{}), "cannot be empty"},
		"Nil":            {"Nothing is no value.", one(nil), "[g] o: it has no value"},
		"Duration":       {"Its unit would be a guess.", one(time.Second), "[g] o: it is of type time.Duration"},
		"All":            {"All errors are reported at once, sorted.", oslo.Config{"b": {"o": nil}, "a": {"o": nil}}, "[a] o: it has no value: set one, or remove the option\n[b] o: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.args.Render()
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot error %v, want one with %q", tc.reason, err, tc.want)
			}
			if got != "" {
				t.Errorf("%s\ngot a file and an error: %q", tc.reason, got)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	base := oslo.Config{"DEFAULT": {"debug": false, "workers": 2}, "token": {"expiration": 3600}}
	size := oslo.Config{"DEFAULT": {"workers": 4}, "cache": {"enabled": true}}
	tenant := oslo.Config{"DEFAULT": {"workers": 8, "debug": true}}

	got := base.Merge(size, nil, tenant)
	want := oslo.Config{"DEFAULT": {"debug": true, "workers": 8}, "token": {"expiration": 3600}, "cache": {"enabled": true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("The last layer wins, option by option.\n-want +got:\n%s", diff)
	}

	got["DEFAULT"]["debug"], got["cache"]["enabled"] = "changed", "changed"
	if diff := cmp.Diff(oslo.Config{"DEFAULT": {"debug": false, "workers": 2}, "token": {"expiration": 3600}}, base); diff != "" {
		t.Errorf("The first layer has changed.\n-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(oslo.Config{"DEFAULT": {"workers": 4}, "cache": {"enabled": true}}, size); diff != "" {
		t.Errorf("A later layer has changed.\n-want +got:\n%s", diff)
	}
}

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   string
		want   oslo.File
	}{
		"Comments": {"Comments and empty lines are skipped.", "# a\n[g]\n; b\n\no = 1\n", oslo.File{"g": {"o": {"1"}}}},
		"NoValue":  {"An option without a value has an empty one.", "[g]\no =\n", oslo.File{"g": {"o": {""}}}},
		"Quotes":   {"One pair of quotes goes.", "[g]\no = ''a''\np = \"\n", oslo.File{"g": {"o": {"'a'"}, "p": {`"`}}}},
		"Repeated": {"Every value counts.", "[g]\no = a\no = a\n", oslo.File{"g": {"o": {"a", "a"}}}},
		"Dollar":   {"Nothing is substituted.", "[g]\no = $$a\n", oslo.File{"g": {"o": {"$$a"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := oslo.Parse(tc.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
	for _, broken := range []string{"[g\n", "[g]\nneither\n", "[g]\n= x\n"} {
		if got, err := oslo.Parse(broken); err == nil {
			t.Errorf("Parse(%q) gives %v, want an error", broken, got)
		}
	}
}
