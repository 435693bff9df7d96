package keystone

import (
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// braces writes what begins an action of a template so that it stands for itself: {{ "{{" }} gives {{
// (https://pkg.go.dev/text/template#hdr-Actions).
var braces = strings.NewReplacer("{{", `{{ "{{" }}`)

// literal are options for a file that is a template: their values are text, whatever stands in them. Otherwise a tenant's filter could
// name a source of the template, and the directory would be asked for a password.
func literal(options oslo.Options) oslo.Options {
	out := oslo.Options{}
	for name, value := range options {
		switch v := value.(type) {
		case string:
			out[name] = braces.Replace(v)
		case oslo.Template:
			out[name] = oslo.Template(braces.Replace(string(v)))
		case []string:
			out[name] = replaceAll(v)
		case oslo.Multi:
			out[name] = oslo.Multi(replaceAll(v))
		default: // Numbers and booleans.
			out[name] = v
		}
	}
	return out
}

func replaceAll(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = braces.Replace(s)
	}
	return out
}
