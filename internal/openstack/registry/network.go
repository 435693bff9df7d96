package registry

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

func (t *Type) isIP(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Zone() == "" && (t.IPVersion == 0 || ip.Is4() == (t.IPVersion == 4))
}

// Labels of a host name (RFC 1123), and of a domain name that is not a host name. An underscore, unlike a hyphen, may be
// the first or last character.
var (
	label       = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	domainLabel = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	notNumber   = regexp.MustCompile(`[A-Za-z-]`)
)

func isHostname(text string, label *regexp.Regexp) bool {
	if len(text) > 253 {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(text, "."), ".")
	return notNumber.MatchString(labels[len(labels)-1]) && !slices.ContainsFunc(labels, func(l string) bool { return !label.MatchString(l) })
}

// Parts of a URI (RFC 3986, appendix A) that oslo.config checks. It does not check query and fragment.
const (
	unreserved = `[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}`
	userinfo   = `(?:` + unreserved + `|:)+@`
	port       = `(?::?[0-9]{0,5})`
	uriPath    = `(?:/(?:` + unreserved + `|[:@/])*)?`
	host       = `\[[0-9A-Fa-f:.]+(?:%25[A-Za-z0-9._~%-]+)?\]|(?:` + unreserved + `)*`
)

var (
	uriText   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://(?:` + userinfo + `)?(` + host + `)` + port + uriPath + `(?:[?#].*)?$`)
	ipv4Shape = regexp.MustCompile(`^([0-9]{1,3}\.){3}[0-9]{1,3}$`)
)

func (t *Type) isURI(text string) bool {
	parts := uriText.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	scheme, host := parts[1], parts[2]
	if len(t.Schemes) > 0 && !slices.Contains(t.Schemes, scheme) {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, _, _ := strings.Cut(strings.TrimSuffix(inner, "]"), "%")
		ip, err := netip.ParseAddr(address)
		return err == nil && ip.Is6()
	}
	if ipv4Shape.MatchString(host) {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return host != ""
}
