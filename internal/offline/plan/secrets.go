package plan

import (
	"regexp"
	"slices"
	"strings"
)

// sensitive matches names of fields, options and variables whose values can be secret. reference matches names of fields that contain only
// the name of a Secret, or of a key in it.
var (
	sensitive = regexp.MustCompile(`(?i)passw|passphrase|secret|token|credential|private|apikey|api_key|access_?key|keyring|userkey|` +
		`^key$|_key$|_pass$|pwd|(^|_)auth$|connection$|transport_url|userinfo|authorization|cookie|salt$`)
	reference = regexp.MustCompile(`(?i)(name|names|ref|refs|refname|template|expirationseconds|lifetime|expiration|provider|driver|backend|` +
		`version|kind|property|remotekey|interval|path|rotation|size|seconds|ovn_[ns]b_connection)$`)
	// userinfo matches a password in a URL, up to its last @.
	userinfo = regexp.MustCompile(`(://[^:/@\s]*):[^\s]+@`)
	// argument matches the value of an argument of a command.
	argument = regexp.MustCompile(`(?i)(--?[\w-]*(?:passw|secret|token)[\w-]*[= ]+)\S+`)
	// keyBlock matches a private key.
	keyBlock = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)
)

// isSensitive reports whether the value at a path can be a secret.
func isSensitive(path string) bool {
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' || r == '=' })
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, "Ref") || strings.HasSuffix(n, "Refs") }) {
		return false // the name of a Secret, and of a key in it
	}
	for _, name := range slices.Backward(names) {
		if name == "value" || name == "values" || strings.Trim(name, "0123456789") == "" {
			continue // The value of an environment variable has the name of the variable, and an item the name of its list.
		}
		return sensitive.MatchString(name) && !reference.MatchString(name)
	}
	return false
}

// redact returns a value without secrets.
func redact(path, value string) string {
	if isSensitive(path) || keyBlock.MatchString(value) {
		return Hidden
	}
	return argument.ReplaceAllString(userinfo.ReplaceAllString(value, "$1:"+Hidden+"@"), "${1}"+Hidden)
}

// redactTree returns a value of any type without secrets.
func redactTree(path string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		name, _ := v["name"].(string)
		for k, e := range v {
			at := join(path, k)
			if k == "value" && name != "" {
				at = join(path, name) // a variable or a header
			}
			out[k] = redactTree(at, e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = redactTree(path, e)
		}
		return out
	case string:
		if isFile(v) {
			return redact(path, redactFile(v))
		}
		return redact(path, v)
	}
	if isSensitive(path) {
		return Hidden
	}
	return value
}

// redactFile returns the content of a file without the values of options that can be secret.
func redactFile(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if i := strings.IndexAny(line, "=:"); i >= 0 && isSensitive(strings.Trim(line[:i], " \t\"'-")) {
			line = line[:i+1] + " " + Hidden + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
