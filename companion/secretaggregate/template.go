package secretaggregate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode"
	"unicode/utf8"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// functions are all functions that a template may call: text in, text out. Go's built-in functions are not allowed: they can
// loop, or expand a few characters to a megabyte.
var functions = template.FuncMap{"base64": encode, "quote": quote, "trim": strings.TrimSpace}

// escapes are the functions that escape the value of a source.
var escapes = map[string]func(string) (string, error){
	"":           asItIs,
	"None":       asItIs,
	"OsloConfig": oslo.Value,
	"URL":        percent,
	// In quotes, which are removed by services that read the file with Python's ConfigParser (Glance's Swift accounts).
	"ConfigParser": interpolated,
	"Apache":       apacheQuoted,
}

func asItIs(text string) (string, error) { return text, nil }

// interpolated doubles percent signs, at which ConfigParser interpolates values
// (https://docs.python.org/3/library/configparser.html).
func interpolated(text string) (string, error) {
	if strings.ContainsAny(text, "\r\n") {
		return "", errors.New("the value must not contain line breaks, because an option is one line")
	}
	return strings.ReplaceAll(text, "%", "%%"), nil
}

// apacheQuoted escapes a value in the quotes of an argument of a directive, also if the value is a variable of the environment: Apache
// substitutes ${NAME} before it looks for quotes, and does not look for variables in the value (ap_resolve_env and ap_getword_conf,
// https://github.com/apache/httpd/blob/2.4.62/server/util.c).
func apacheQuoted(text string) (string, error) {
	if strings.ContainsAny(text, "\r\n\x00") {
		return "", errors.New("the value must not contain line breaks, because a directive is one line")
	}
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text), nil
}

// percent encodes all except unreserved characters, a space as %20: parsers of connection URLs do not decode a plus sign as a
// space.
//
//nolint:unparam // The signature of all escapes.
func percent(text string) (string, error) {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), nil
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// quote encodes a text as a JSON string, which is also a YAML string.
func quote(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("the value must be valid UTF-8, as required by YAML and JSON")
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return "", errors.New("the value cannot be encoded as a string")
	}
	var quoted strings.Builder
	for _, r := range strings.TrimSuffix(out.String(), "\n") {
		// These are valid unescaped in JSON, but not in YAML.
		if unicode.IsControl(r) || r >= 0xFEFF && r <= 0xFFFF && !unicode.IsPrint(r) {
			fmt.Fprintf(&quoted, `\u%04x`, r)
			continue
		}
		quoted.WriteRune(r)
	}
	return quoted.String(), nil
}

// parsed parses the templates of a spec. The error names the template that references an unknown source or function.
func parsed(spec *c5c3v1.SecretAggregateSpec) (map[string]*template.Template, error) {
	sources := map[string]bool{}
	for _, s := range spec.Sources {
		sources[s.Name] = true
		if escapes[s.Escape] == nil {
			return nil, fmt.Errorf("spec.sources[%s].escape: %q is unknown; set None, OsloConfig, URL, ConfigParser or Apache", s.Name, s.Escape)
		}
	}
	out := map[string]*template.Template{}
	for _, key := range slices.Sorted(maps.Keys(spec.Template)) {
		t, err := template.New(key).Option("missingkey=error").Funcs(functions).Parse(string(spec.Template[key]))
		if err != nil {
			return nil, fmt.Errorf("spec.template[%s] cannot be parsed: %w", key, err)
		}
		if err := check(t.Tree, sources); err != nil {
			return nil, fmt.Errorf("spec.template[%s]: %w", key, err)
		}
		out[key] = t
	}
	return out, nil
}

// check reports an error unless a template contains only text, sources and the functions above.
func check(t *parse.Tree, sources map[string]bool) error {
	if t == nil || t.Root == nil {
		return nil // An empty text.
	}
	for _, n := range t.Root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 {
				return fmt.Errorf("%s: variables are not supported in templates", n)
			}
			for i, c := range n.Pipe.Cmds {
				if err := checkCommand(c, i > 0, sources); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("%s: templates support only text and sources, such as {{ .name }} or {{ .name | quote }}", n)
		}
	}
	return nil
}

// checkCommand reports an error unless a command of a pipeline is a source, a string or a function of one of these.
func checkCommand(c *parse.CommandNode, piped bool, sources map[string]bool) error {
	args := c.Args
	if name, ok := args[0].(*parse.IdentifierNode); ok {
		if functions[name.Ident] == nil {
			return fmt.Errorf("%s is not a template function; use %s", name.Ident, strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
		}
		provided := len(args) - 1
		if piped {
			provided++
		}
		if provided != 1 {
			return fmt.Errorf("%s requires exactly one value", name.Ident)
		}
		args = args[1:]
	} else if piped || len(args) != 1 {
		return fmt.Errorf("%s is not a function", args[0])
	}
	for _, a := range args {
		switch a := a.(type) {
		case *parse.StringNode:
		case *parse.FieldNode:
			if name := strings.Join(a.Ident, "."); !sources[name] {
				return fmt.Errorf("source %q does not exist; the sources are %s", name, strings.Join(slices.Sorted(maps.Keys(sources)), ", "))
			}
		default:
			return fmt.Errorf("%s is not a source; use {{ .name }}", a)
		}
	}
	return nil
}

// rendered renders all templates with the values by the names of their sources, or fails. Values are data: templates in them
// are not evaluated. The error never contains a value.
func rendered(
	templates map[string]*template.Template, sources []c5c3v1.SecretSource, values map[string]string,
) (map[string][]byte, error) {
	escaped := map[string]string{}
	for _, s := range sources {
		v, err := escapes[s.Escape](values[s.Name])
		if err != nil {
			ref := s.SecretKeyRef
			return nil, fmt.Errorf("source %s (Secret %s, key %s) cannot be escaped as %s: %w", s.Name, ref.Name, ref.Key, s.Escape, err)
		}
		escaped[s.Name] = v
	}
	data, size := map[string][]byte{}, 0
	for _, key := range slices.Sorted(maps.Keys(templates)) {
		var out bytes.Buffer
		if err := templates[key].Execute(&out, escaped); err != nil {
			return nil, fmt.Errorf("spec.template[%s] cannot be rendered: %w", key, err)
		}
		data[key], size = out.Bytes(), size+out.Len()
	}
	if size > sizeLimit {
		return nil, fmt.Errorf("the Secret would have %d bytes, but the API accepts at most %d; use fewer or smaller sources", size, sizeLimit)
	}
	return data, nil
}
