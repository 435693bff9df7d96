package judge

import (
	"regexp"
	"strings"
)

// A meaning is what a value is for.
type meaning string

const (
	password         meaning = "a password"
	userName         meaning = "a user name"
	certificate      meaning = "a certificate"
	authority        meaning = "the certificate of an authority"
	privateKey       meaning = "a private key"
	clientSecret     meaning = "a client's secret" //nolint:gosec // what it is, and none
	accessKeyID      meaning = "the ID of an access key"
	secretAccessKey  meaning = "a secret access key"
	credentialID     meaning = "the ID of an application credential" //nolint:gosec // what it is, and none
	credentialSecret meaning = "the secret of an application credential"
	dockerConfig     meaning = "logins of registries"
	cephKey          meaning = "the key of a user of Ceph"
	cloudsYAML       meaning = "a clouds.yaml"
	encryptionKeys   meaning = "keys of a repository"
	file             meaning = "a file"
	public           meaning = "a text that is no secret"
)

// words are what names mean, the first that fits: names of environment variables, of fields, of options, of keys and files, in lower case
// with underscores.
var words = []struct {
	pattern *regexp.Regexp
	means   meaning
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
	// reference is the end of a field's name that says nothing but that a Secret is referred to, and a number that of one of several.
	reference = regexp.MustCompile(`(_secret)?(_key)?(_ref)?[0-9]*$`)
)

// means reports what a name means; empty if it says nothing.
func means(name string) meaning {
	name = noLetter.ReplaceAllString(strings.ToLower(boundary.ReplaceAllString(name, "${1}_${2}")), "_")
	for _, n := range []string{name, reference.ReplaceAllString(name, "")} {
		for _, w := range words {
			if w.pattern.MatchString(n) {
				return w.means
			}
		}
	}
	return ""
}

// fits reports whether a value that is one thing can be read as another.
func (is meaning) fits(read meaning) bool {
	return is == read || read == userName && is == public || is == "" || read == ""
}
