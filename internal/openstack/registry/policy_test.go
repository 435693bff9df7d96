package registry

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCheckPolicies(t *testing.T) {
	cases := map[string]struct {
		reason    string
		release   string
		overrides map[string]string
		want      []string
	}{
		"None": {"There is nothing to validate.", "2025.2", nil, nil},
		"Good": {
			"Rules of the service, with checks that refer to others of it.", "2025.2",
			map[string]string{"identity:get_user": "rule:admin_required or user_id:%(target.user.id)s", "identity:list_users": "@"}, nil,
		},
		"Helper": {
			"A rule of the tenant's own is accepted if another refers to it.", "2025.2",
			map[string]string{"identity:get_user": "rule:auditor", "auditor": "role:auditor or rule:chief", "chief": "role:chief"}, nil,
		},
		"UnusedHelper": {
			"A rule to which no other rule refers is an error, even if it refers to itself.", "2025.2",
			map[string]string{"auditor": "role:auditor", "mine": "rule:mine"},
			[]string{
				"keystone 2025.2 has no policy rule auditor: give a rule of keystone, or a rule to which another of your rules refers",
				"keystone 2025.2 has no policy rule mine: give a rule of keystone, or a rule to which another of your rules refers",
			},
		},
		"Typo": {
			"The nearest rule is suggested.", "2025.2", map[string]string{"identity:get_usr": "@"},
			[]string{"keystone 2025.2 has no policy rule identity:get_usr: did you mean identity:get_user?"},
		},
		"OtherRelease": {
			"A rule of a later release.", "2026.1", map[string]string{"identity:revoke_tokens_for_user": "@"},
			[]string{"keystone 2026.1 has no policy rule identity:revoke_tokens_for_user: it is new in 2026.2"},
		},
		"UnknownReference": {
			"A reference to a missing rule would deny all requests.", "2025.2", map[string]string{"identity:get_user": "role:a or rule:admin_requird"},
			[]string{"policy rule identity:get_user: it refers to a missing rule: keystone 2025.2 has no policy rule admin_requird: did you mean admin_required?"},
		},
		"Loop": {
			"oslo.policy would follow it until the request fails.", "2025.2",
			map[string]string{"identity:get_user": "rule:a", "a": "not rule:b", "b": "role:x or rule:a"},
			[]string{"policy rule a: it refers to itself: b → a"},
		},
		"LoopThroughDefault": {
			"A default may be part of it.", "2025.2", map[string]string{"admin_required": "rule:admin_or_owner"},
			[]string{"policy rule admin_required: it refers to itself: admin_or_owner → admin_required"},
		},
		"Sorted": {
			"One error for each rule is reported, sorted by name.", "2025.2",
			map[string]string{"identity:list_users": "role:a role:b", "identity:get_user": "(role:a", "identity:delete_user": "@", "x": "role"},
			[]string{
				"policy rule identity:get_user: its check opens a parenthesis that it does not close",
				`policy rule identity:list_users: its check lacks an operator before "role:b"`,
				`policy rule x: its check holds "role": a term is kind:value, such as role:admin or user_id:%(user_id)s, or one of @ and ! alone`,
			},
		},
		"HTTP": {
			"A remote check leaves the cluster.", "2025.2", map[string]string{"identity:get_user": "role:a or http://example.org/%(user_id)s"},
			[]string{`policy rule identity:get_user: its check holds "http://example.org/%(user_id)s": a check that calls a server over HTTP is not allowed, because the request would leave the cluster`},
		},
		"LineBreak": {
			"A check stays on one line.", "2025.2", map[string]string{"identity:get_user": "role:a\nor role:b"},
			[]string{"policy rule identity:get_user: its check holds a control character, such as a line break: write it on one line, with spaces"},
		},
		"Empty": {
			"Only spaces would deny all requests, while an empty check would allow all.", "2025.2", map[string]string{"identity:get_user": " ", "identity:list_users": ""},
			[]string{
				"policy rule identity:get_user: its check ends without a term; to allow everyone, set @",
				"policy rule identity:list_users: its check is empty, which would allow everyone: set @ to allow everyone, or ! to deny everyone",
			},
		},
		"Syntax": {
			"Each mistake has its sentence.", "2025.2",
			map[string]string{
				"identity:get_user": "role:a)", "identity:list_users": "or role:a", "identity:create_user": "user_id:%(user_id)", "identity:delete_user": ":x", "identity:update_user": "role:",
			},
			[]string{
				`policy rule identity:create_user: its check holds "user_id:%(user_id": a percent sign is only valid in %(name)s and %(name).0s, or as %%`,
				`policy rule identity:delete_user: its check holds ":x": the kind before the colon must be role, rule, an attribute of the caller's token such as project_id, or a literal such as True or 'member'`,
				"policy rule identity:get_user: its check closes a parenthesis that it does not open",
				`policy rule identity:list_users: its check lacks a term before "or"`,
				`policy rule identity:update_user: its check holds "role:": the value after the colon is missing, so it is never true`,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range keystone(t, c.release).CheckPolicies(c.overrides, false) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", c.reason, diff)
			}
		})
	}
}

func TestCheckPolicy(t *testing.T) {
	r := keystone(t, "2025.2")
	if err := r.CheckPolicy("identity:get_user", "role:reader"); err != nil {
		t.Error(err)
	}
	want := "policy rule identity:get_user: its check closes a parenthesis that it does not open"
	if err := r.CheckPolicy("identity:get_user", "role:reader)"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAllowUnknownAcceptsOnlyNames checks that unknown names are accepted, and nothing else.
func TestAllowUnknownAcceptsOnlyNames(t *testing.T) {
	r := keystone(t, "2025.2")
	for check, want := range map[string]bool{
		"role:reader": true, "rule:of_a_patched_image": true, "http://example.com/": false, "not https:x": false, "role:a or": false, "": false, "rule:identity:new": false,
	} {
		errs := r.CheckPolicies(map[string]string{"identity:new": check}, true)
		if (len(errs) == 0) != want {
			t.Errorf("check %q of an unknown rule: %v, want accepted %t", check, errs, want)
		}
	}
}

func TestDeprecatedPolicyName(t *testing.T) {
	r := &Registry{policies: map[string]policy{"get": {Check: "@", Deprecated: "get_all"}}, renamedPolicies: map[string]bool{"get_all": true}}
	if err := r.CheckPolicy("get_all", "!"); err != nil {
		t.Errorf("oslo.policy takes an override of the former name: %v", err)
	}
}

// TestParseAcceptsWholeGrammar checks that every expression of the grammar parses, with any spacing, and returns its references in
// order.
func TestParseAcceptsWholeGrammar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rules []string
		var grow func(depth int) string
		grow = func(depth int) string {
			kinds := 5
			if depth == 0 {
				kinds = 2
			}
			switch rapid.IntRange(1, kinds).Draw(t, "kind") {
			case 1:
				name := rapid.StringMatching(`[a-z_:]{1,8}`).Draw(t, "rule")
				rules = append(rules, name)
				return "rule:" + name
			case 2:
				return rapid.SampledFrom([]string{"@", "!", "role:a", "user_id:%(user_id)s", "'x':%(a.b)s", "True:%(c)s", "'':%(d).0s"}).Draw(t, "term")
			case 3:
				return rapid.SampledFrom([]string{"not ", "NOT  "}).Draw(t, "not") + grow(depth-1)
			case 4:
				return rapid.SampledFrom([]string{"(", "( "}).Draw(t, "open") + grow(depth-1) + rapid.SampledFrom([]string{")", " )"}).Draw(t, "close")
			}
			remaining := grow(depth - 1)
			return remaining + rapid.SampledFrom([]string{" and ", " or ", "  Or "}).Draw(t, "operator") + grow(depth-1)
		}
		check := grow(5)
		got, err := parse(check)
		if err != nil {
			t.Fatalf("%s: %v", check, err)
		}
		if diff := cmp.Diff(rules, got.rules); diff != "" {
			t.Fatalf("%s: references (-want +got)\n%s", check, diff)
		}
	})
}

// FuzzParse checks that no input causes a panic, that an error has one line, and that a valid check is also valid as a part
// of a larger one.
func FuzzParse(f *testing.F) {
	for _, e := range loadExamples(f).Policies {
		f.Add(e.Check)
	}
	f.Fuzz(func(t *testing.T, check string) {
		_, err := parse(check)
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) || err.Error() == "" {
				t.Errorf("the error is no sentence: %q", err)
			}
			return
		}
		if check == "" {
			return
		}
		for _, larger := range []string{"(" + check + ")", "not (" + check + ") or @", "role:a and " + check, check + " or role:b"} {
			if _, err := parse(larger); err != nil {
				t.Errorf("%q parses, but not %q: %v", check, larger, err)
			}
		}
	})
}

func FuzzCheckPolicies(f *testing.F) {
	f.Add("a", "rule:b", "b", "rule:a")
	f.Add("identity:get_user", "rule:x", "x", "role:y")
	f.Fuzz(func(t *testing.T, name, check, other, otherCheck string) {
		overrides := map[string]string{name: check, other: otherCheck}
		if errs := keystone(t, "2026.2").CheckPolicies(overrides, false); len(errs) > len(overrides) {
			t.Errorf("%d errors for %d rules: %v", len(errs), len(overrides), errs)
		}
	})
}
