package limit

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
)

// In returns the limits that hold for claims of a namespace.
func In(all []platformv1.Limit, namespace string) []platformv1.Limit {
	return slices.DeleteFunc(slices.Clone(all), func(l platformv1.Limit) bool { return !Namespace(l.Namespaces, namespace) })
}

// Namespace reports whether a namespace is among the patterns, in which * stands for any run of characters.
func Namespace[S ~string](patterns []S, namespace string) bool {
	return slices.ContainsFunc(patterns, func(p S) bool {
		ok, err := path.Match(string(p), namespace)
		return ok && err == nil
	})
}

// Texts are strings of another type. There may be none where there is a list of none, and nil stays nil: no list is no limit.
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

// Expand replaces what stands for the claim's namespace in an entry of a limit.
func Expand(entry, namespace string) string {
	return strings.ReplaceAll(entry, "{namespace}", namespace)
}

// everything is the pattern that allows everything.
const everything = "*"

// Match reports whether a text is what a pattern says, in which * stands for any run of characters, also none.
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
		// The first place is as good as any: what is left is the longest.
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(part):], more
	}
}

// Below reports whether a path is what a pattern says, or lies below that.
func Below(pattern, path string) bool {
	return Match(pattern, path) || Match(pattern+"/*", path)
}

// Term reports whether a term such as key=value:effect is what a pattern says, which may leave out value and effect, or the effect.
func Term(pattern, term string) bool {
	return Match(pattern, term) || Match(pattern+"=*", term) || Match(pattern+":*", term)
}

// TolerationTerm is a toleration as a term. Without a key it tolerates every taint, and is a term that only * alone, or with the same
// effect, stands for.
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

// Network reports whether a range of addresses lies in that of a pattern.
func Network(pattern, network string) bool {
	if pattern == everything {
		return true
	}
	outer, err := netip.ParsePrefix(pattern)
	if err != nil {
		return false
	}
	inner, err := netip.ParsePrefix(network)
	return err == nil && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// Domain reports whether a host name is a domain's own or lies below it.
func Domain(domain, host string) bool {
	return domain == everything || host == domain || strings.HasSuffix(host, "."+domain)
}

// An Address is a host in the one way in which it is written here, and a port, if one is given or its scheme has one.
type Address struct{ Host, Port string }

var (
	// scheme stands before an address: https://www.rfc-editor.org/rfc/rfc3986#section-3.1.
	scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)
	// authority is a host, an IPv6 address in brackets among them, and a port. It has no user and nothing that is encoded: what reads the
	// address later may see another host in these.
	authority = regexp.MustCompile(`^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::([0-9]{1,5}))?$`)
	name      = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
	// number ends what some resolvers read as an IPv4 address: 127.1, 0x7f.1, 2130706433
	// (https://url.spec.whatwg.org/#ends-in-a-number-checker).
	number = regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9A-Fa-f]*)$`)
	ports  = map[string]string{"http": "80", "https": "443", "ldap": "389", "ldaps": "636"}
)

// ReadAddress reads a URL or <host>[:<port>]. False means that programs may differ in which host it names, or that it names none.
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

// ReadAddresses reads a list of addresses, between which there are commas or spaces, as LDAP's libraries take them.
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

// Hosts reports whether every address of a list is what a pattern says: <host>, or <host>:<port>. In the host, * stands for any run of
// characters; without a port, all are meant.
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
