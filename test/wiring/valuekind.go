package wiring

import (
	"regexp"
	"strings"
)

// A valueKind is the purpose of a value.
type valueKind string

const (
	password         valueKind = "a password"
	userName         valueKind = "a user name"
	certificate      valueKind = "a certificate"
	authority        valueKind = "the certificate of an authority"
	privateKey       valueKind = "a private key"
	clientSecret     valueKind = "a client's secret" //nolint:gosec // what it is, and none
	accessKeyID      valueKind = "the ID of an access key"
	secretAccessKey  valueKind = "a secret access key"
	credentialID     valueKind = "the ID of an application credential" //nolint:gosec // what it is, and none
	credentialSecret valueKind = "the secret of an application credential"
	dockerConfig     valueKind = "logins of registries"
	cephKey          valueKind = "the key of a user of Ceph"
	cloudsYAML       valueKind = "a clouds.yaml"
	encryptionKeys   valueKind = "keys of a repository"
	file             valueKind = "a file"
	public           valueKind = "a text that is no secret"
)

// namePurposes maps names to purposes; the first match counts: names of environment variables, fields, options, keys and
// files, in lower case with underscores.
var namePurposes = []struct {
	pattern *regexp.Regexp
	means   valueKind
}{
	{regexp.MustCompile(`docker_?config`), dockerConfig},
	{regexp.MustCompile(`^user_key$`), cephKey}, // As Rook calls it.
	{regexp.MustCompile(`clouds_yaml$`), cloudsYAML},
	{regexp.MustCompile(`secret_access_key$`), secretAccessKey},
	{regexp.MustCompile(`access_key(_id)?$`), accessKeyID},
	{regexp.MustCompile(`client_secret$`), clientSecret},
	{regexp.MustCompile(`credential_id$|^id$`), credentialID},
	{regexp.MustCompile(`credential_secret$|^secret$`), credentialSecret},
	{regexp.MustCompile(`pass(word|phrase)$`), password},
	{regexp.MustCompile(`user(_?name)?$`), userName},
	{regexp.MustCompile(`(^|_)(ssl_?|tls_?)?(ca|cacert(_?file)?|ca_?cert|ca_crt|ca_file|ca_pem|pem)$`), authority},
	{regexp.MustCompile(`(certificate_?key_?file|tls_key|key_?file)$`), privateKey},
	{regexp.MustCompile(`(certificate_?file|tls_crt|cert_?file|crt)$`), certificate},
}

var (
	boundary = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	noLetter = regexp.MustCompile(`[^a-z0-9]+`)
	// reference matches the suffix of a field's name that only marks a reference to a Secret, or a number of several
	// references.
	reference = regexp.MustCompile(`(_secret)?(_key)?(_ref)?[0-9]*$`)
)

// means returns the purpose of a name; empty if it is unknown.
func means(name string) valueKind {
	name = noLetter.ReplaceAllString(strings.ToLower(boundary.ReplaceAllString(name, "${1}_${2}")), "_")
	for _, n := range []string{name, reference.ReplaceAllString(name, "")} {
		for _, w := range namePurposes {
			if w.pattern.MatchString(n) {
				return w.means
			}
		}
	}
	return ""
}

// matches reports whether a value of one kind can be read as another.
func (is valueKind) matches(read valueKind) bool {
	return is == read || read == userName && is == public || is == "" || read == ""
}
