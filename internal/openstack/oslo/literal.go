package oslo

import "strings"

// braces escapes the start of a template action: {{ "{{" }} results in {{ (https://pkg.go.dev/text/template#hdr-Actions).
var braces = strings.NewReplacer("{{", `{{ "{{" }}`)

// Literal returns the options escaped for a file that is a template. Without it, a tenant's value could reference a source
// of the template, such as a password.
func (o Options) Literal() Options {
	out := Options{}
	for name, value := range o {
		switch v := value.(type) {
		case string:
			out[name] = braces.Replace(v)
		case Template:
			out[name] = Template(braces.Replace(string(v)))
		case []string:
			out[name] = replaceAll(v)
		case Multi:
			out[name] = Multi(replaceAll(v))
		default: // Numbers and booleans need no escaping.
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
