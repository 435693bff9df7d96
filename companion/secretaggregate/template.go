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

// functions are all that a template may call: text in, text out. None of Go's own is among them: those can loop, or make a
// megabyte of a few letters.
var functions = template.FuncMap{"base64": encode, "quote": quote, "trim": strings.TrimSpace}

// escapes are how a source's value may be written.
var escapes = map[string]func(string) (string, error){
	"":           asItIs,
	"None":       asItIs,
	"OsloConfig": oslo.Value,
	"URL":        percent,
	// Between quotes, which a service takes away that reads the file by Python's ConfigParser (Swift's accounts of Glance).
	"ConfigParser": interpolated,
}

func asItIs(text string) (string, error) { return text, nil }

// interpolated doubles the characters that ConfigParser replaces values at (https://docs.python.org/3/library/configparser.html).
func interpolated(text string) (string, error) {
	if strings.ContainsAny(text, "\r\n") {
		return "", errors.New("the value has line breaks, and an option is one line")
	}
	return strings.ReplaceAll(text, "%", "%%"), nil
}

// percent encodes all but unreserved characters, a space as %20: what reads a connection's URL does not take a plus for one.
//
//nolint:unparam // As every escape.
func percent(text string) (string, error) {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), nil
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// quote writes a text as a string of JSON, which is one of YAML, too.
func quote(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("the value is not valid UTF-8, as YAML and JSON are")
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return "", errors.New("the value cannot be written as a string")
	}
	var quoted strings.Builder
	for _, r := range strings.TrimSuffix(out.String(), "\n") {
		// JSON takes these as they are, YAML does not.
		if unicode.IsControl(r) || r >= 0xFEFF && r <= 0xFFFF && !unicode.IsPrint(r) {
			fmt.Fprintf(&quoted, `\u%04x`, r)
			continue
		}
		quoted.WriteRune(r)
	}
	return quoted.String(), nil
}

// parsed reads the templates of a spec. The error names the one that asks for something that there is not.
func parsed(spec *c5c3v1.SecretAggregateSpec) (map[string]*template.Template, error) {
	sources := map[string]bool{}
	for _, s := range spec.Sources {
		sources[s.Name] = true
		if escapes[s.Escape] == nil {
			return nil, fmt.Errorf("spec.sources[%s].escape: %q is not known: write None, OsloConfig, URL or ConfigParser", s.Name, s.Escape)
		}
	}
	out := map[string]*template.Template{}
	for _, key := range slices.Sorted(maps.Keys(spec.Template)) {
		t, err := template.New(key).Option("missingkey=error").Funcs(functions).Parse(string(spec.Template[key]))
		if err != nil {
			return nil, fmt.Errorf("spec.template[%s] cannot be read: %w", key, err)
		}
		if err := check(t.Tree, sources); err != nil {
			return nil, fmt.Errorf("spec.template[%s]: %w", key, err)
		}
		out[key] = t
	}
	return out, nil
}

// check holds a template to text, sources and the functions above.
func check(t *parse.Tree, sources map[string]bool) error {
	if t == nil || t.Root == nil {
		return nil // An empty text.
	}
	for _, n := range t.Root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 {
				return fmt.Errorf("%s: a template has no variables", n)
			}
			for i, c := range n.Pipe.Cmds {
				if err := checkCommand(c, i > 0, sources); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("%s: a template stands for text and sources, as in {{ .name }} or {{ .name | quote }}, and for nothing else", n)
		}
	}
	return nil
}

// checkCommand holds one command of a pipeline to a source, a string or a function of one of these.
func checkCommand(c *parse.CommandNode, piped bool, sources map[string]bool) error {
	args := c.Args
	if name, ok := args[0].(*parse.IdentifierNode); ok {
		if functions[name.Ident] == nil {
			return fmt.Errorf("%s is no function of templates: these are %s", name.Ident, strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
		}
		provided := len(args) - 1
		if piped {
			provided++
		}
		if provided != 1 {
			return fmt.Errorf("%s takes one value", name.Ident)
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
				return fmt.Errorf("there is no source %q: the sources are %s", name, strings.Join(slices.Sorted(maps.Keys(sources)), ", "))
			}
		default:
			return fmt.Errorf("%s is no source: write {{ .name }}", a)
		}
	}
	return nil
}

// rendered fills templates in with values by the names of their sources: all of them, or none. The values are data: templates
// in them stay as they are. The error never has a value in it.
func rendered(
	templates map[string]*template.Template, sources []c5c3v1.SecretSource, values map[string]string,
) (map[string][]byte, error) {
	escaped := map[string]string{}
	for _, s := range sources {
		v, err := escapes[s.Escape](values[s.Name])
		if err != nil {
			ref := s.SecretKeyRef
			return nil, fmt.Errorf("source %s (Secret %s, key %s) cannot be written as %s: %w", s.Name, ref.Name, ref.Key, s.Escape, err)
		}
		escaped[s.Name] = v
	}
	data, size := map[string][]byte{}, 0
	for _, key := range slices.Sorted(maps.Keys(templates)) {
		var out bytes.Buffer
		if err := templates[key].Execute(&out, escaped); err != nil {
			return nil, fmt.Errorf("spec.template[%s] cannot be filled in: %w", key, err)
		}
		data[key], size = out.Bytes(), size+out.Len()
	}
	if size > sizeLimit {
		return nil, fmt.Errorf("the Secret would have %d bytes, and the API takes at most %d: name fewer or smaller sources", size, sizeLimit)
	}
	return data, nil
}
