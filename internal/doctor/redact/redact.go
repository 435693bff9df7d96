// Package redact removes secrets from messages and objects before they are shown or stored. It removes too much rather than too little.
package redact

import (
	"regexp"
	"strings"
)

// Removed replaces a removed value.
const Removed = "[removed]"

// sensitive matches the end of the name of a value that is a secret. In texts, the word secret is mostly the kind of an object.
const (
	sensitive = `(?:password|passwd|passphrase|pwd|[_-]pass|sst_auth|token|[_-]secret|clientsecret|` +
		`(?:secret|private|access|api|auth|encryption)[_-]?key)`
	fields = `(?:` + sensitive + `|secret|credentials?|kubeconfig)`
)

var (
	userInfo  = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s"']+@`)
	blocks    = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`)
	header    = regexp.MustCompile(`(?i)\b(bearer|basic|x-auth-token:|x-subject-token:)\s+[A-Za-z0-9+/._~=-]{6,}`)
	webTokens = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)
	fernet    = regexp.MustCompile(`\bgAAAA[A-Za-z0-9_=-]{20,}`)
	// assigned matches name=value, name: value and --name value. A name in the path of a field, such as spec.password, is not matched.
	assigned = regexp.MustCompile(`(?i)(^|[\s"'{,;&?(\[])((?:--)?[A-Za-z0-9_-]*` + sensitive + `["']?\s*(?:=|:\s)\s*|--[A-Za-z0-9-]*` +
		sensitive + `\s+)("[^"]*"|'[^']*'|[^\s,;&}"']+)`)
	named = regexp.MustCompile(`(?i)` + fields + `s?$`)
	flag  = regexp.MustCompile(`(?i)^--?[A-Za-z0-9-]*` + sensitive + `$`)
)

// Text returns a text without secrets: user information in URLs, PEM blocks, tokens, and values that are assigned to names such as
// password.
func Text(s string) string {
	s = blocks.ReplaceAllString(s, Removed)
	s = userInfo.ReplaceAllString(s, "${1}"+Removed+"@")
	s = header.ReplaceAllString(s, "${1} "+Removed)
	s = webTokens.ReplaceAllString(s, Removed)
	s = fernet.ReplaceAllString(s, Removed)
	return assigned.ReplaceAllString(s, "${1}${2}"+Removed)
}

// keptAnnotations are the prefixes of annotations whose values are kept.
var keptAnnotations = []string{"crossplane.io/", "crossplane.c5c3.io/", "c5c3.io/", "deployment.kubernetes.io/revision"}

// contentFields are the fields of a Secret or a ConfigMap, and of a template for one, whose values are removed.
var contentFields = map[string]bool{"data": true, "stringData": true, "binaryData": true}

// Object returns a copy of an object without secrets, and without metadata.managedFields. It keeps names of keys, and removes the values of
// Secrets and ConfigMaps, of environment variables, of annotations of others, and of fields that are named like secrets. It does so for
// objects inside of others, too.
func Object(o map[string]any) map[string]any {
	out, _ := value("", o).(map[string]any)
	return out
}

func value(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return mapping(name, v)
	case []any:
		return list(name, v)
	case string:
		if named.MatchString(name) {
			return Removed
		}
		return Text(v)
	}
	return v
}

// list returns a list without secrets. The element after a flag such as --password is its value.
func list(name string, l []any) []any {
	lower := strings.ToLower(name)
	out := make([]any, len(l))
	for i, e := range l {
		out[i] = value(name, e)
		if env, ok := e.(map[string]any); ok && (strings.HasSuffix(lower, "env") || lower == "environment") {
			out[i] = environment(env)
		}
		if i == 0 {
			continue
		}
		if previous, ok := l[i-1].(string); ok && flag.MatchString(previous) {
			out[i] = Removed
		}
	}
	return out
}

func mapping(name string, m map[string]any) map[string]any {
	_, isObject := m["kind"].(string)
	out := make(map[string]any, len(m))
	for k, v := range m {
		switch {
		case k == "managedFields":
		case k == "annotations":
			out[k] = annotations(v)
		case contentFields[k] && (isObject || name == "template" || name == "target"), k == "binaryData":
			out[k] = emptied(v)
		default:
			out[k] = value(k, v)
		}
	}
	return out
}

// environment returns an environment variable without its value.
func environment(env map[string]any) map[string]any {
	out := mapping("", env)
	if _, ok := env["value"]; ok {
		out["value"] = Removed
	}
	return out
}

func annotations(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return Removed
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = Removed
		for _, prefix := range keptAnnotations {
			if strings.HasPrefix(k, prefix) {
				out[k] = value("", v)
			}
		}
	}
	return out
}

// emptied returns the keys of a mapping, without its values.
func emptied(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return Removed
	}
	out := make(map[string]any, len(m))
	for k := range m {
		out[k] = Removed
	}
	return out
}
