package limit

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
)

// In returns the limits that apply to claims of a namespace.
func In(all []platformv1.Limit, namespace string) []platformv1.Limit {
	return slices.DeleteFunc(slices.Clone(all), func(l platformv1.Limit) bool { return !Namespace(l.Namespaces, namespace) })
}

// Namespace reports whether a namespace matches any of the patterns, in which * matches any sequence of characters.
func Namespace[S ~string](patterns []S, namespace string) bool {
	return slices.ContainsFunc(patterns, func(p S) bool {
		ok, err := path.Match(string(p), namespace)
		return ok && err == nil
	})
}

// Texts converts values of a string type to strings. Nil stays nil, because a missing list has another meaning than an
// empty one: no limit.
func Texts[S ~string](in []S) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// Expand replaces the placeholder for the claim's namespace in an entry of a limit.
func Expand(entry, namespace string) string {
	return strings.ReplaceAll(entry, "{namespace}", namespace)
}

// anyValue is the pattern that allows everything.
const anyValue = "*"

// Match matches a text against a pattern, in which * matches any sequence of characters, including an empty one.
func Match(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return text == pattern
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		part, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(text, part)
		}
		// The first match leaves the longest rest, so other matches need not be tried.
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(part):], more
	}
}

// Below is like Match for a path, and also matches paths below the pattern.
func Below(pattern, path string) bool {
	return Match(pattern, path) || Match(pattern+"/*", path)
}

// Term matches a term such as key=value:effect against a pattern, in which value and effect, or only the effect, can be
// omitted.
func Term(pattern, term string) bool {
	return Match(pattern, term) || Match(pattern+"=*", term) || Match(pattern+":*", term)
}

// TolerationTerm returns a toleration as a term. A toleration without a key tolerates every taint; its term only matches *,
// optionally with the same effect.
func TolerationTerm(key, operator, value, effect string) string {
	term := key
	if operator != "Exists" {
		term += "=" + value
	}
	if effect != "" {
		term += ":" + effect
	}
	if term == "" {
		return "every taint"
	}
	return term
}

// Network reports whether a range of addresses is contained in the range of a pattern.
func Network(pattern, network string) bool {
	if pattern == anyValue {
		return true
	}
	outer, err := netip.ParsePrefix(pattern)
	if err != nil {
		return false
	}
	inner, err := netip.ParsePrefix(network)
	return err == nil && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// Domain reports whether a host name equals a domain or is below it.
func Domain(domain, host string) bool {
	return domain == anyValue || host == domain || strings.HasSuffix(host, "."+domain)
}

// Address is a normalized host with a port. The port is set explicitly or derived from the scheme.
type Address struct{ Host, Port string }

var (
	// scheme precedes an address: https://www.rfc-editor.org/rfc/rfc3986#section-3.1.
	scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)
	// authority matches a host, which may be an IPv6 address in brackets, with an optional port. It matches neither users
	// nor encoded characters, because other programs might read another host from them.
	authority = regexp.MustCompile(`^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::([0-9]{1,5}))?$`)
	name      = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
	// number matches endings that some resolvers read as an IPv4 address: 127.1, 0x7f.1, 2130706433
	// (https://url.spec.whatwg.org/#ends-in-a-number-checker).
	number = regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9A-Fa-f]*)$`)
	ports  = map[string]string{"http": "80", "https": "443", "ldap": "389", "ldaps": "636"}
)

// ReadAddress parses a URL or <host>[:<port>]. ok is false if the host is missing or ambiguous for other programs.
func ReadAddress(text string) (Address, bool) {
	var a Address
	if m := scheme.FindStringSubmatch(text); m != nil {
		a.Port = ports[strings.ToLower(m[1])]
		text, _, _ = strings.Cut(text[len(m[0]):], "/")
	}
	m := authority.FindStringSubmatch(text)
	if m == nil {
		return Address{}, false
	}
	if m[3] != "" {
		a.Port = strings.TrimLeft(m[3], "0")
	}
	host := strings.TrimSuffix(strings.ToLower(m[1]+m[2]), ".")
	bracketed := m[1] != ""
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() == bracketed {
		a.Host = ip.Unmap().String()
		return a, true
	}
	if bracketed || number.MatchString(host) || !name.MatchString(host) {
		return Address{}, false
	}
	a.Host = host
	return a, true
}

// ReadAddresses parses a list of addresses, separated by commas or spaces, which is the format of LDAP libraries.
func ReadAddresses(text string) (out []Address, ok bool) {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		a, ok := ReadAddress(one)
		if !ok {
			return nil, false
		}
		out = append(out, a)
	}
	return out, len(out) > 0
}

// Hosts matches every address of a list against a pattern, <host> or <host>:<port>. In the host, * matches any sequence of
// characters; without a port, all ports match.
func Hosts(pattern, text string) bool {
	addresses, ok := ReadAddresses(text)
	if !ok {
		return false
	}
	host, port := pattern, ""
	if i := strings.LastIndexByte(pattern, ':'); i > strings.LastIndexByte(pattern, ']') {
		host, port = pattern[:i], pattern[i+1:]
	}
	if a, ok := ReadAddress(host); ok {
		host = a.Host
	}
	for _, a := range addresses {
		if !Match(host, a.Host) || port != "" && port != a.Port {
			return false
		}
	}
	return true
}
