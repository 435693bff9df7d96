package oslo

import "strings"

// braces writes what begins an action of a template so that it stands for itself: {{ "{{" }} gives {{
// (https://pkg.go.dev/text/template#hdr-Actions).
var braces = strings.NewReplacer("{{", `{{ "{{" }}`)

// Literal are the options for a file that is a template: their values are text, whatever stands in them. Otherwise what a tenant writes
// could name a source of the template, such as a password.
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
