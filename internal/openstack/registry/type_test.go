package registry

import (
	"strings"
	"testing"
)

// TestAllowed checks the descriptions of valid values.
func TestAllowed(t *testing.T) {
	number := &Type{Kind: kindInteger, Min: "1"}
	for _, tc := range []struct {
		typ  Type
		want string
	}{
		{Type{Kind: kindString}, "a string"},
		{Type{Kind: kindString, MaxLength: 1}, "a string of at most 1 characters"},
		{Type{Kind: kindString, Pattern: "^a"}, "a string that matches ^a"},
		{Type{Kind: kindString, Choices: []string{"a", ""}}, `one of a, ""`},
		{Type{Kind: kindBoolean}, "true or false"},
		{Type{Kind: kindInteger}, "a whole number"},
		{Type{Kind: kindInteger, Min: "1", Max: "9"}, "a whole number from 1 to 9"},
		{Type{Kind: kindInteger, Choices: []string{"1", "2"}}, "one of 1, 2"},
		{Type{Kind: kindFloat, Min: "0.5"}, "a number of at least 0.5"},
		{Type{Kind: kindFloat, Max: "9"}, "a number of at most 9"},
		{Type{Kind: kindPort, Min: "0", Max: "65535"}, "a port from 0 to 65535"},
		{Type{Kind: kindRange, Min: "1"}, "a whole number or a range such as 1-9 of at least 1"},
		{Type{Kind: kindIP}, "an IP address"},
		{Type{Kind: kindIP, IPVersion: 6}, "an IP address of version 6"},
		{Type{Kind: kindHostname}, "a host name"},
		{Type{Kind: kindHost}, "a host name or an IP address"},
		{Type{Kind: kindDomain, IPVersion: 4}, "a host name or an IP address of version 4"},
		{Type{Kind: kindURI}, "a URI such as https://example.org/path"},
		{Type{Kind: kindURI, Schemes: []string{"http", "https"}}, "a URI such as https://example.org/path with one of the schemes http, https"},
		{Type{Kind: kindURI, Schemes: []string{"ldap"}, MaxLength: 9}, "a URI such as https://example.org/path with one of the schemes ldap of at most 9 characters"},
		{Type{Kind: kindList}, "a list"},
		{Type{Kind: kindList, Item: number}, "a list, each item a whole number of at least 1"},
		{Type{Kind: kindList, Bounded: true, Item: &Type{Kind: kindHost}}, "a list in [], each item a host name or an IP address"},
		{Type{Kind: kindDict}, "pairs key:value with commas between them"},
		{Type{Kind: kindDict, Separator: "=", Bounded: true, Item: number}, "pairs key=value with commas between them in {}, each value a whole number of at least 1"},
	} {
		if got := tc.typ.Allowed(); got != tc.want {
			t.Errorf("%+v must be %q, want %q", tc.typ, got, tc.want)
		}
	}
}

// TestAccepts checks texts at the limits of each type, and the rejected parts of others.
func TestAccepts(t *testing.T) {
	integer := &Type{Kind: kindInteger}
	lists := &Type{Kind: kindList, Bounded: true, Item: integer}
	dicts := &Type{Kind: kindDict, Bounded: true, Item: integer}
	for _, tc := range []struct {
		reason string
		typ    Type
		good   []string
		bad    map[string]string // text → rejected part
	}{
		{
			"64 bits, and no base but ten.", *integer,
			[]string{"9223372036854775807", "-9223372036854775808", "5"}, map[string]string{"9223372036854775808": "9223372036854775808", "a": "a", "1a": "1a"},
		},
		{"A number as large as they come.", Type{Kind: kindFloat}, []string{"1.7976931348623157e308", "1e300", ".5", "5."}, map[string]string{"1e309": "1e309", "0x1p4": "0x1p4", "nan": "nan"}},
		{"A choice is a number, however it is written.", Type{Kind: kindPort, Choices: []string{"80"}}, []string{"80", "080", " 80"}, map[string]string{"81": "81", "a": "a"}},
		{
			"Both ends lie within.", Type{Kind: kindRange, Min: "1", Max: "9"},
			[]string{"1", "9", "1-9", "9-1"}, map[string]string{"0-1": "0-1", "1-10": "1-10", "1-a": "1-a", "0": "0"},
		},
		{"No end has more than 64 bits.", Type{Kind: kindRange}, []string{"0-9223372036854775807", "-1--1"}, map[string]string{"0-9223372036854775808": "0-9223372036854775808"}},
		{"Patterns are case-sensitive by default.", Type{Kind: kindString, Pattern: "^[a-z]+$"}, []string{"abc"}, map[string]string{"ABC": "ABC"}},
		{"And not where it is.", Type{Kind: kindString, Pattern: "^[a-z]+$", Choices: []string{"abc"}, IgnoreCase: true}, []string{"abc", "ABC"}, map[string]string{"abd": "abd"}},
		{"An address of one version.", Type{Kind: kindIP, IPVersion: 4}, []string{"192.0.2.1"}, map[string]string{"2001:db8::1": "2001:db8::1", "fe80::1%eth0": "fe80::1%eth0"}},
		{"A host name has no underscores.", Type{Kind: kindHost}, []string{"a-b.example.org", "2001:db8::1"}, map[string]string{"a_b.example.org": "a_b.example.org"}},
		{"A domain's has.", Type{Kind: kindDomain}, []string{"a_b.example.org", "192.0.2.1"}, map[string]string{"a b": "a b"}},
		{
			"An address in brackets is one of version 6.", Type{Kind: kindURI, Schemes: []string{"http"}},
			[]string{"http://[2001:db8::1]:80/", "http://a", "http://192.0.2.1/"}, map[string]string{"http://[1.2]/": "http://[1.2]/", "http://": "http://", "http://192.0.2.256/": "http://192.0.2.256/", "ldap://a": "ldap://a"},
		},
		{"Nothing is a list of nothing, and commas at its end are too many to count.", Type{Kind: kindList, Item: integer}, []string{"", "1", "1,2,", "1,,", " 1 , 2 "}, map[string]string{"1,,2": "", "[1]": "[1]", "1,a": "a"}},
		{"Items without a type are texts.", Type{Kind: kindList}, []string{"", "a,b,,c", "[a"}, nil},
		{"Brackets are a bounded list's.", *lists, []string{"[]", "[1]", " [1,2], "}, map[string]string{"1": "1", "[1": "[1", "1]": "1]", "[a]": "a"}},
		{"Items in brackets have commas of their own.", Type{Kind: kindList, Item: lists}, []string{"[1,2],[3]", "[1],[2,3,4,5,6,7,8,9]", "[1] ,[2]"}, map[string]string{"[1,2],[a]": "a", "[1],2": "2"}},
		{"So can items in braces.", Type{Kind: kindList, Item: dicts}, []string{"{a:1,b:2},{c:3}", "{a:1} ,{b:2}"}, map[string]string{"{a:1},{b}": "b", "{a:1},2": "2"}},
		{
			"A key stands once, before the first separator.", Type{Kind: kindDict, Item: integer},
			[]string{"", "a:1", "a:1, b : 2"}, map[string]string{"a:1,a:2": "a:2", ":1": ":1", "a": "a", "a:x": "x", "a:1:2": "1:2"},
		},
		{"Braces are a bounded dict's.", *dicts, []string{"{}", "{a:1,b:2}"}, map[string]string{"a:1": "a:1", "{a:1": "{a:1"}},
		{"Another separator.", Type{Kind: kindDict, Separator: "="}, []string{"a=1:2"}, map[string]string{"a:1": "a:1"}},
	} {
		for _, text := range tc.good {
			if bad, ok := tc.typ.accepts(text); !ok {
				t.Errorf("%s\n%+v refuses %q of %q", tc.reason, tc.typ, bad, text)
			}
		}
		for text, want := range tc.bad {
			if bad, ok := tc.typ.accepts(text); ok || bad != want {
				t.Errorf("%s\n%+v refuses %q of %q (%t), want %q", tc.reason, tc.typ, bad, text, !ok, want)
			}
		}
	}
}

// TestAcceptsAtMostEightBrackets checks that a rejected part is tried again with the following parts, up to the eighth closing bracket.
func TestAcceptsAtMostEightBrackets(t *testing.T) {
	nested := &Type{Kind: kindList, Item: &Type{Kind: kindList, Bounded: true, Item: &Type{Kind: kindList, Bounded: true, Item: &Type{Kind: kindInteger}}}}
	item := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("[1],", n), ",") + "]" }
	if bad, ok := nested.accepts(item(8)); !ok {
		t.Errorf("eight brackets: %q is refused", bad)
	}
	if _, ok := nested.accepts(item(9)); ok {
		t.Error("nine brackets are accepted: who tries each with all that follow takes long")
	}
}

// TestShorten checks the maximum length of a value in a message.
func TestShorten(t *testing.T) {
	for n, want := range map[int]string{0: `""`, 1: `"é"`, 60: `"` + strings.Repeat("é", 60) + `"`, 61: `"` + strings.Repeat("é", 60) + `…"`} {
		if got := shorten(strings.Repeat("é", n)); got != want {
			t.Errorf("%d letters: %s, want %s", n, got, want)
		}
	}
}
