package limit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"a", "ab", false}, {"", "", true}, {"", "a", false},
		{"*", "", true}, {"*", "a/b.c", true},
		{"a*", "a", true}, {"a*", "abc", true}, {"a*", "ba", false},
		{"*a", "ba", true}, {"*a", "ab", false},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"a*a", "aba", true},
		{"a*b*c", "abbc", true}, {"a*b*c", "acb", false}, {"*a*", "bab", true},
		{"a?", "ab", false}, {"[a]", "a", false}, {`a\*`, "a*", false},
		{"a", "a\n", false}, {"ａ", "a", false},
	} {
		if got := limit.Match(tc.pattern, tc.text); got != tc.want {
			t.Errorf("Match(%q, %q) = %t", tc.pattern, tc.text, got)
		}
	}
}

func TestIn(t *testing.T) {
	all := []platformv1.Limit{
		{Name: "everyone", Namespaces: []common.NamespacePattern{"*"}},
		{Name: "teams", Namespaces: []common.NamespacePattern{"lab", "team-*"}},
		{Name: "nobody"},
		{Name: "malformed", Namespaces: []common.NamespacePattern{"["}},
	}
	for _, tc := range []struct {
		namespace string
		want      []string
	}{
		{"team-a", []string{"everyone", "teams"}},
		{"lab", []string{"everyone", "teams"}},
		{"team", []string{"everyone"}},
		{"[", []string{"everyone"}},
	} {
		var got []string
		for _, l := range limit.In(all, tc.namespace) {
			got = append(got, l.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("In(%q): -want, +got:\n%s", tc.namespace, diff)
		}
	}
	if all[2].Name != "nobody" {
		t.Error("In changed its input")
	}
}

func TestTexts(t *testing.T) {
	for _, tc := range []struct {
		reason string
		in     []common.NamespacePattern
		want   []string
	}{
		{"No list is no limit.", nil, nil},
		{"An empty list allows nothing, which is another thing than no list.", []common.NamespacePattern{}, []string{}},
		{"Entries keep their order.", []common.NamespacePattern{"b", "a"}, []string{"b", "a"}},
	} {
		if diff := cmp.Diff(tc.want, limit.Texts(tc.in)); diff != "" {
			t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
		}
	}
}

func TestExpand(t *testing.T) {
	if got, want := limit.Expand("pool={namespace}.{namespace}", "a"), "pool=a.a"; got != want {
		t.Errorf("Expand() = %q, want %q", got, want)
	}
}

// TestMatchEqualsExhaustiveSearch compares with a slow implementation that tries all possibilities.
func TestMatchEqualsExhaustiveSearch(t *testing.T) {
	var slow func(p, s string) bool
	slow = func(p, s string) bool {
		switch {
		case p == "":
			return s == ""
		case p[0] == '*':
			return slow(p[1:], s) || s != "" && slow(p, s[1:])
		default:
			return s != "" && s[0] == p[0] && slow(p[1:], s[1:])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p, s := rapid.StringMatching(`[ab*]{0,6}`).Draw(t, "pattern"), rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		if got := limit.Match(p, s); got != slow(p, s) {
			t.Errorf("Match(%q, %q) = %t", p, s, got)
		}
	})
}

func TestBelow(t *testing.T) {
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"ghcr.io/c5c3", "ghcr.io/c5c3", true}, {"ghcr.io/c5c3", "ghcr.io/c5c3/keystone", true},
		{"ghcr.io/c5c3", "ghcr.io/c5c3-evil/keystone", false}, {"ghcr.io/c5c3", "ghcr.io", false},
		{"ghcr.io", "ghcr.io.evil.example.com/c5c3", false}, {"registry", "registry:5000/a", false},
		{"ClusterSecretStore/a", "SecretStore/a", false}, {"ClusterSecretStore/a/b", "ClusterSecretStore/a", false},
	} {
		if got := limit.Below(tc.pattern, tc.path); got != tc.want {
			t.Errorf("Below(%q, %q) = %t", tc.pattern, tc.path, got)
		}
	}
}

func TestTerm(t *testing.T) {
	for _, tc := range []struct {
		pattern, term string
		want          bool
	}{
		{"dedicated=openstack:NoSchedule", "dedicated=openstack:NoSchedule", true},
		{"dedicated=openstack:NoSchedule", "dedicated=openstack", false},
		{"dedicated=openstack", "dedicated=openstack:NoSchedule", true},
		{"dedicated=openstack", "dedicated", false},
		{"dedicated=openstack", "dedicated=openstack-evil", false},
		{"dedicated", "dedicated=openstack:NoSchedule", true},
		{"dedicated", "dedicated:NoExecute", true},
		{"dedicated", "dedicated-evil", false},
		{"dedicated", "", false}, {"dedicated", ":NoSchedule", false},
		{"*", "", true},
	} {
		if got := limit.Term(tc.pattern, tc.term); got != tc.want {
			t.Errorf("Term(%q, %q) = %t", tc.pattern, tc.term, got)
		}
	}
}

// TestTolerationTerm checks that terms have kubectl's format of taints, and that a toleration without a key tolerates every
// taint.
func TestTolerationTerm(t *testing.T) {
	for want, got := range map[string]string{
		"dedicated=openstack:NoSchedule": limit.TolerationTerm("dedicated", "Equal", "openstack", "NoSchedule"),
		"dedicated=openstack":            limit.TolerationTerm("dedicated", "", "openstack", ""),
		"dedicated:NoExecute":            limit.TolerationTerm("dedicated", "Exists", "", "NoExecute"),
		":NoExecute":                     limit.TolerationTerm("", "Exists", "", "NoExecute"),
		"every taint":                    limit.TolerationTerm("", "Exists", "", ""),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDomain(t *testing.T) {
	for _, tc := range []struct {
		domain, host string
		want         bool
	}{
		{"example.com", "example.com", true}, {"example.com", "a.b.example.com", true}, {"example.com", "aexample.com", false},
		{"example.com", "example.com.evil.net", false}, {"*", "a", true}, {"example.com", "", false},
	} {
		if got := limit.Domain(tc.domain, tc.host); got != tc.want {
			t.Errorf("Domain(%q, %q) = %t", tc.domain, tc.host, got)
		}
	}
}

// TestHosts checks that an address is only allowed if its host is unambiguous for all programs.
func TestHosts(t *testing.T) {
	for _, tc := range []struct {
		reason, pattern, text string
		want                  bool
	}{
		{"The host.", "ldap.example.com", "ldaps://ldap.example.com", true},
		{"With any port.", "ldap.example.com", "ldap://ldap.example.com:3389", true},
		{"Case does not matter.", "ldap.example.com", "LDAPS://Ldap.Example.COM", true},
		{"Nor does the root's dot.", "ldap.example.com", "ldap://ldap.example.com.", true},
		{"Two dots are no name.", "*", "ldap://ldap.example.com..", false},
		{"A host is not a prefix of another host.", "ldap.example.com", "ldap://ldap.example.com.evil.net", false},
		{"A host is not a suffix of another host.", "ldap.example.com", "ldap://evil-ldap.example.com", false},
		{"Below a domain.", "*.example.com", "https://a.b.example.com/realms/x", true},
		{"Not the domain itself.", "*.example.com", "https://example.com/", false},
		{"Not its brother.", "*.example.com", "https://evilexample.com/", false},
		{"The path is not the host.", "*.example.com", "https://evil.net/.example.com", false},
		{"Nor is the query.", "*.example.com", "https://evil.net?.example.com", false},
		{"Nor the fragment.", "*.example.com", "https://evil.net#.example.com", false},
		{"Some take a backslash for a slash.", "*.example.com", `https://evil.net\.example.com`, false},
		{"A user is no host.", "ldap.example.com", "ldap://ldap.example.com@evil.net", false},
		{"URLs with a user are not allowed.", "*.example.com", "ldap://evil.net@ldap.example.com", false},
		{"Nothing is decoded.", "*", "ldap://ldap%2eexample.com", false},
		{"No slash is hidden.", "*.example.com", "https://evil.net%2f.example.com", false},
		{"Unicode is no host name.", "*", "ldap://ldap。example.com", false},
		{"Similar characters are not equal.", "ldap.example.com", "ldap://ldаp.example.com", false},
		{"Punycode is.", "*.example.com", "https://xn--bcher-kva.example.com", true},
		{"Every address of a list counts.", "ldap.example.com", "ldap://ldap.example.com,ldap://evil.net", false},
		{"With spaces as well.", "ldap.example.com", "ldap://ldap.example.com ldap://evil.net", false},
		{"All are allowed.", "*.example.com", "ldap://a.example.com, ldap://b.example.com", true},
		{"A tab separates nothing.", "*", "ldap://a.example.com\tldap://b.example.com", false},
		{"Half a list.", "*", "ldap://a.example.com ldap://a b:c", false},
		{"A line break neither.", "*", "ldap://a.example.com\nx", false},
		{"No host is localhost.", "*", "ldap://", false},
		{"With a port, too.", "*", "ldap://:389", false},
		{"With three slashes.", "*", "ldap:///", false},
		{"A socket is no host.", "*", "ldapi://%2frun%2fslapd", false},
		{"Nothing at all.", "*", "", false},
		{"Only a comma.", "*", ",", false},
		{"An IPv4 address.", "10.0.0.1", "ldap://10.0.0.1:389", true},
		{"Not in parts.", "*", "ldap://127.1", false},
		{"Not in hexadecimal.", "*", "ldap://0x7f.0.0.1", false},
		{"Not as a number.", "*", "ldap://2130706433", false},
		{"Not as a hexadecimal number.", "*", "ldap://0x7f000001", false},
		{"Not in octal.", "*", "ldap://0177.0.0.1", false},
		{"An IPv6 address.", "[fd00::1]", "ldap://[FD00:0::1]:389", true},
		{"Its port.", "[fd00::1]:389", "ldap://[fd00::1]", true},
		{"Another.", "[fd00::1]", "ldap://[fd00::2]", false},
		{"With a zone.", "*", "ldap://[fe80::1%25eth0]", false},
		{"Without brackets.", "*", "ldap://fd00::1", false},
		{"IPv4 in IPv6 is IPv4.", "10.0.0.1", "ldap://[::ffff:10.0.0.1]", true},
		{"IPv4 in brackets is nothing.", "*", "ldap://[10.0.0.1]", false},
		{"A port.", "s3.example.com:443", "s3.example.com:443", true},
		{"Another.", "s3.example.com:443", "s3.example.com:8443", false},
		{"The default port of the scheme.", "id.example.com:443", "https://id.example.com/x", true},
		{"Without TLS.", "id.example.com:80", "http://id.example.com/x", true},
		{"With TLS it is another.", "id.example.com:443", "http://id.example.com/x", false},
		{"No port, and no scheme that has one.", "s3.example.com:443", "s3.example.com", false},
		{"A port in another form.", "s3.example.com:443", "s3.example.com:0443", true},
		{"Two ports.", "*", "s3.example.com:443:444", false},
		{"A port of too many digits.", "*", "s3.example.com:000443", false},
		{"A host without dots.", "s3", "s3:443", true},
		{"A dash at the end.", "*", "https://a-.example.com", false},
		{"Another scheme has no port.", "a:443", "gopher://a", false},
		{"Ports of all hosts.", "*:636", "ldaps://a.example.com", true},
	} {
		if got := limit.Hosts(tc.pattern, tc.text); got != tc.want {
			t.Errorf("%s\nHosts(%q, %q) = %t", tc.reason, tc.pattern, tc.text, got)
		}
	}
}

// FuzzHosts checks that a text that is not an address never matches, and that the host of an address consists only of
// letters, digits, dots, hyphens and colons, so that all readers agree on it.
func FuzzHosts(f *testing.F) {
	for _, s := range []string{"ldap://a.example.com", "https://[fd00::1]:443/x", "a,b c", "ldap://a@b", "0x7f.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addresses, ok := limit.ReadAddresses(text)
		if ok != limit.Hosts("*", text) {
			t.Errorf("read %t, allowed %t", ok, !ok)
		}
		for _, a := range addresses {
			if a.Host == "" || strings.Trim(a.Host, "abcdefghijklmnopqrstuvwxyz0123456789_.:-") != "" {
				t.Errorf("host %q", a.Host)
			}
			if !strings.Contains(strings.ToLower(text), a.Host) && !strings.Contains(text, "[") {
				t.Errorf("%q is nowhere in %q", a.Host, text)
			}
		}
	})
}
