package registry

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// examples is the file that hack/registry/verify.py also validates with the real libraries.
type examples struct {
	Options []struct {
		Group    string   `json:"group"`
		Option   string   `json:"option"`
		Value    any      `json:"value"`
		Accept   bool     `json:"accept"`
		Releases []string `json:"releases"`
	} `json:"options"`
	Types []struct {
		Type   Type   `json:"type"`
		Value  string `json:"value"`
		Accept bool   `json:"accept"`
	} `json:"types"`
	Policies []struct {
		Check  string `json:"check"`
		Accept bool   `json:"accept"`
	} `json:"policies"`
}

func loadExamples(t testing.TB) examples {
	t.Helper()
	text, err := os.ReadFile("testdata/oslo.json")
	if err != nil {
		t.Fatal(err)
	}
	var out examples
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Options) == 0 || len(out.Types) == 0 || len(out.Policies) == 0 {
		t.Fatal("there are no examples")
	}
	return out
}

func TestExampleValuesMatchTheirTypes(t *testing.T) {
	all := loadExamples(t)
	for _, release := range releases {
		r := keystone(t, release)
		for _, e := range all.Options {
			if len(e.Releases) > 0 && !slices.Contains(e.Releases, release) {
				continue
			}
			if _, err := r.CheckOption(e.Group, e.Option, e.Value); (err == nil) != e.Accept {
				t.Errorf("%s [%s] %s = %#v: accepted must be %t: %v", release, e.Group, e.Option, e.Value, e.Accept, err)
			}
		}
		for _, e := range all.Policies {
			if err := r.CheckPolicy("identity:get_user", e.Check); (err == nil) != e.Accept {
				t.Errorf("%s %q: accepted must be %t: %v", release, e.Check, e.Accept, err)
			}
		}
	}
	for _, e := range all.Types {
		if _, ok := e.Type.accepts(e.Value); ok != e.Accept {
			t.Errorf("%+v %q: accepted must be %t", e.Type, e.Value, e.Accept)
		}
	}
}

func TestCheckOption(t *testing.T) {
	type args struct {
		release, group, option string
		value                  any
	}
	type want struct {
		finding Finding
		err     string
	}
	cases := map[string]struct {
		reason string
		args   args
		want   want
	}{
		"Integer": {
			"A number of JSON that is whole is an integer.",
			args{"2025.2", "token", "expiration", 3600.0}, want{},
		},
		"IntegerTooSmall": {
			"The error contains the valid values and the actual value.",
			args{"2025.2", "fernet_tokens", "max_active_keys", 0.0},
			want{err: `[fernet_tokens] max_active_keys must be a whole number of at least 1, but "0" is not`},
		},
		"IntegerInterval": {
			"Both ends are named.",
			args{"2025.2", "oslo_messaging_rabbit", "kombu_reconnect_delay", 5.0},
			want{err: `[oslo_messaging_rabbit] kombu_reconnect_delay must be a number from 0.0 to 4.5, but "5" is not`},
		},
		"Boolean": {
			"Words that oslo.config does not know are refused.",
			args{"2025.2", "DEFAULT", "debug", "maybe"},
			want{err: `[DEFAULT] debug must be true or false, but "maybe" is not`},
		},
		"Choices": {
			"The choices are listed, and an empty one is seen.",
			args{"2025.2", "DEFAULT", "rate_limit_except_level", "FATAL"},
			want{err: `[DEFAULT] rate_limit_except_level must be one of CRITICAL, ERROR, INFO, WARNING, DEBUG, "", but "FATAL" is not`},
		},
		"YAMLBoolean": {
			"YAML reads off as a boolean, where this option has a choice of that name.",
			args{"2025.2", "resource", "domain_name_url_safe", false},
			want{err: "[resource] domain_name_url_safe must be one of off, new, strict, but it is the boolean false: quote it if you mean a string"},
		},
		"Fraction": {
			"1.10 has become 1.1 before we see it.",
			args{"2025.2", "identity", "driver", 1.1},
			want{err: "[identity] driver must be a string, but it is a fraction: quote it if you mean a string"},
		},
		"List": {
			"A list is given as one.",
			args{"2025.2", "auth", "methods", []any{"password", "token"}}, want{},
		},
		"ListOfStrings": {
			"Nor does it matter who has decoded it.",
			args{"2025.2", "auth", "methods", []string{"password", "token"}}, want{},
		},
		"ListComma": {
			"An item with a comma would become two.",
			args{"2025.2", "auth", "methods", []any{"password", "a,b"}},
			want{err: "[auth] methods must be a list, and no item may be empty, hold a comma, or begin or end with a space: item 2 does"},
		},
		"ListItem": {
			"The item that is wrong is shown, not the list.",
			args{"2025.2", "security_compliance", "report_invalid_password_hash", []any{"event", "log"}},
			want{err: `[security_compliance] report_invalid_password_hash must be a list, each item one of event, but "log" is not`},
		},
		"ListNested": {
			"A list has no lists.",
			args{"2025.2", "auth", "methods", []any{"password", []any{}}},
			want{err: "[auth] methods must be a list, but in item 2 it is neither a string nor a boolean nor a number"},
		},
		"NotAList": {
			"A list where one value is wanted is refused, even a list of one.",
			args{"2025.2", "token", "expiration", []any{3600.0}},
			want{err: "[token] expiration must be a whole number from 0 to 9223372036854775807, not a list"},
		},
		"Multi": {
			"An option that is repeated takes a list, and its values may have commas.",
			args{"2025.2", "federation", "trusted_dashboard", []any{"https://a.example/?x=1,2", "https://b.example/"}}, want{},
		},
		"MultiEmpty": {
			"It cannot be written no times.",
			args{"2025.2", "federation", "trusted_dashboard", []any{}},
			want{err: "[federation] trusted_dashboard cannot be an empty list: set a value, or remove the option"},
		},
		"Dict": {
			"Pairs are written as text.",
			args{"2025.2", "profiler_jaeger", "process_tags", "a=1"},
			want{err: `[profiler_jaeger] process_tags must be pairs key:value with commas between them, but "a=1" is not`},
		},
		"DictOfLists": {
			"Lists in pairs stand in brackets.",
			args{"2025.2", "domain_config", "additional_whitelisted_options", "ldap:url"},
			want{err: `[domain_config] additional_whitelisted_options must be pairs key:value with commas between them, each value a list in [], but "url" is not`},
		},
		"Nil": {
			"An option without a value is a mistake.",
			args{"2025.2", "identity", "driver", nil},
			want{err: "[identity] driver must be a string, but it has no value: set one, or remove the option"},
		},
		"Map": {
			"Objects are no values.",
			args{"2025.2", "identity", "driver", map[string]any{"a": "b"}},
			want{err: "[identity] driver must be a string, but it is neither a string nor a boolean nor a number"},
		},
		"LineBreak": {
			"A line break would begin another option.",
			args{"2025.2", "identity", "driver", "sql\n[DEFAULT]"},
			want{err: "[identity] driver must be a string, but it holds a control character, such as a line break or a tab"},
		},
		"Large": {
			"A JSON number this large is not exact.",
			args{"2025.2", "token", "expiration", 1e17},
			want{err: "[token] expiration must be a whole number from 0 to 9223372036854775807, but the number is too large to be represented exactly: quote it"},
		},
		"Long": {
			"A value of any length makes a short sentence.",
			args{"2025.2", "cache", "enabled", strings.Repeat("é", 1000)},
			want{err: `[cache] enabled must be true or false, but "` + strings.Repeat("é", 60) + `…" is not`},
		},
		"DeprecatedName": {
			"It is accepted with a finding that contains the current name.",
			args{"2025.2", "DEFAULT", "logdir", "/var/log"},
			want{finding: Finding{true, "[DEFAULT] logdir is a deprecated name: use [DEFAULT] log_dir instead"}},
		},
		"DeprecatedGroup": {
			"So it is for a group, in any case.",
			args{"2025.2", "Assignment", "list_limit", 5.0},
			want{finding: Finding{true, "[Assignment] list_limit is a deprecated name: use [resource] list_limit instead"}},
		},
		"DeprecatedNameBadValue": {
			"The value is checked all the same.",
			args{"2025.2", "assignment", "caching", "many"},
			want{err: `[assignment] caching must be true or false, but "many" is not`},
		},
		"DeprecatedForRemoval": {
			"It is accepted with a finding that contains the reason.",
			args{"2025.2", "DEFAULT", "max_param_size", 64.0},
			want{finding: Finding{true, "[DEFAULT] max_param_size is deprecated and going to be removed, as announced in 2025.1: This option has had no effect"}},
		},
		"CurrentAndDeprecated": {
			"An option that shares its name with a former name of another is itself.",
			args{"2025.2", "keystone_authtoken", "auth_uri", "https://example.org"},
			want{finding: Finding{true, "[keystone_authtoken] auth_uri is deprecated and going to be removed, as announced in Queens: " +
				"The auth_uri option is deprecated in favor of www_authenticate_uri and will be removed in the S release"}},
		},
		"Removed": {
			"An option of an earlier release.",
			args{"2026.2", "oslo_policy", "enforce_scope", true},
			want{err: "keystone 2026.2 has no option enforce_scope in the group [oslo_policy]: it was removed after 2026.1"},
		},
		"New": {
			"An option of a later release.",
			args{"2025.2", "jwt_tokens", "jws_algorithm", "ES256"},
			want{err: "keystone 2025.2 has no option jws_algorithm in the group [jwt_tokens]: it is new in 2026.2"},
		},
		"ComeAndGone": {
			"An option that this release alone does not have.",
			args{"2025.2", "oslo_messaging_rabbit", "ssl_enforce_hostname_verification", true},
			want{err: "keystone 2025.2 has no option ssl_enforce_hostname_verification in the group [oslo_messaging_rabbit]: it is only in 2025.1, 2026.2"},
		},
		"Typo": {
			"The nearest name is suggested.",
			args{"2025.2", "token", "expiraton", 1.0},
			want{err: "keystone 2025.2 has no option expiraton in the group [token]: did you mean [token] expiration?"},
		},
		"Hyphen": {
			"oslo.config looks in files for underscores only.",
			args{"2025.2", "DEFAULT", "log-dir", "/var/log"},
			want{err: "keystone 2025.2 has no option log-dir in the group [DEFAULT]: the configuration file uses log_dir"},
		},
		"OtherGroup": {
			"A name that several other groups have is no guess.",
			args{"2025.2", "DEFAULT", "max_active_keys", 3.0},
			want{err: "keystone 2025.2 has no option max_active_keys in the group [DEFAULT]: see the configuration reference of keystone for its options"},
		},
		"OneOtherGroup": {
			"A name that one other group has is suggested there.",
			args{"2025.2", "DEFAULT", "minimum_password_age", 3.0},
			want{err: "keystone 2025.2 has no option minimum_password_age in the group [DEFAULT]: did you mean [security_compliance] minimum_password_age?"},
		},
		"GroupTypo": {
			"The nearest group that has the option is suggested.",
			args{"2025.2", "fernet_token", "max_active_keys", 3.0},
			want{err: "keystone 2025.2 has no group [fernet_token]: did you mean [fernet_tokens] max_active_keys?"},
		},
		"GroupTypoAlone": {
			"If none has it, the nearest group.",
			args{"2025.2", "tokken", "nonsense", 3.0},
			want{err: "keystone 2025.2 has no group [tokken]: did you mean [token]?"},
		},
		"Nonsense": {
			"An invalid name gets no suggestion, and is quoted.",
			args{"2025.2", "no\nsuch", "x]y", 3.0},
			want{err: `keystone 2025.2 has no group ["no\nsuch"]: see the configuration reference of keystone for its options`},
		},
		"LowerCaseDefault": {
			"oslo.config ignores [default].",
			args{"2025.2", "default", "debug", true},
			want{err: "keystone ignores the group [default]: write DEFAULT in upper case"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			finding, err := keystone(t, c.args.release).CheckOption(c.args.group, c.args.option, c.args.value)
			got := want{finding: finding}
			if err != nil {
				got.err = err.Error()
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", c.reason, diff)
			}
		})
	}
}

// TestSecretsAreNotShown checks that no error contains the value of a secret option.
func TestSecretsAreNotShown(t *testing.T) {
	for kind := range map[string]bool{kindString: true, kindBoolean: true, kindInteger: true, kindURI: true, kindList: true, kindDict: true, kindHost: true} {
		option := &Option{Type: Type{Kind: kind, Choices: []string{"a"}, Item: &Type{Kind: kindInteger}}, Secret: true}
		for _, value := range []any{"-hunter2", "hunter2\n", []any{"-hunter2"}, []any{"a,hunter2"}} {
			if err := option.check(value); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s %v: got %v", kind, value, err)
			}
		}
	}
}

func TestPatternOfPythonOnly(t *testing.T) {
	if _, ok := (&Type{Kind: kindString, Pattern: "(?<!a)b"}).accepts("ab"); !ok {
		t.Error("a pattern that Go cannot compile must refuse nothing")
	}
}

// FuzzCheckOption checks that no input causes a panic, that results are deterministic, and that messages have one line.
func FuzzCheckOption(f *testing.F) {
	for _, e := range loadExamples(f).Options {
		if text, ok := e.Value.(string); ok {
			f.Add(e.Group, e.Option, text)
		}
	}
	f.Fuzz(func(t *testing.T, group, option, value string) {
		r := keystone(t, "2025.2")
		for _, v := range []any{value, []any{value}, strings.Split(value, ",")} {
			finding, err := r.CheckOption(group, option, v)
			next, same := r.CheckOption(group, option, v)
			if finding != next || (err == nil) != (same == nil) || err != nil && err.Error() != same.Error() {
				t.Errorf("two results: %v %v and %v %v", finding, err, next, same)
			}
			if err != nil && (strings.ContainsFunc(err.Error(), unicode.IsControl) || err.Error() == "") {
				t.Errorf("the error is no sentence: %q", err)
			}
			if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
				t.Errorf("%q is accepted", value)
			}
		}
	})
}

// FuzzType checks all types with any text.
func FuzzType(f *testing.F) {
	types := loadExamples(f).Types
	for i, e := range types {
		f.Add(uint(i), e.Value)
	}
	f.Fuzz(func(t *testing.T, i uint, text string) {
		kind := types[i%uint(len(types))].Type
		bad, ok := kind.accepts(text)
		if !ok && !strings.Contains(text, bad) {
			t.Errorf("%s refuses %q, which is not in %q", kind.Kind, bad, text)
		}
	})
}
