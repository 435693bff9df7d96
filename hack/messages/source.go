package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// folders contain the production code.
var folders = []string{"apis", "cmd", "companion", "functions", "internal", "package/chart"}

// notProduction matches packages of tests, and of fakes that have the messages of other projects.
var notProduction = regexp.MustCompile(`test$|/testdata$|^companion/internal/faultinjection$|^internal/offline/(expected|fake|golden)$`)

// collect returns the messages of the production code.
func collect(root fs.FS) ([]message, error) {
	var out []message
	for _, folder := range folders {
		err := fs.WalkDir(root, folder, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && notProduction.MatchString(name):
				return fs.SkipDir
			case d.IsDir():
				found, err := goMessages(root, name)
				out = append(out, found...)
				return err
			}
			data, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			for _, m := range fileMessages(name, string(data)) {
				out = append(out, message{m.kind, path.Dir(name), m.text})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ordered(out), nil
}

// goMessages returns the messages of the Go files of a folder.
func goMessages(root fs.FS, folder string) ([]message, error) {
	names, err := fs.Glob(root, folder+"/*.go")
	if err != nil {
		return nil, err
	}
	s := source{folder: folder, values: map[string]ast.Expr{}, used: map[string]bool{}}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(path.Base(name), "zz_") {
			continue
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		s.constants(f)
	}
	for _, f := range files {
		s.file(f)
	}
	s.unused()
	return s.out, nil
}

// source is a package.
type source struct {
	folder string
	// values are the package's constants. used marks constants that messages contain.
	values map[string]ast.Expr
	used   map[string]bool
	out    []message
}

func (s *source) add(kind, text string) {
	if text = strings.Join(strings.Fields(text), " "); prose.MatchString(text) && (kind == "errors" || !program.MatchString(text)) {
		s.out = append(s.out, message{kind, s.folder, text})
	}
}

// unused adds the constants that neither a message nor another constant contains. Their texts are resolved first, which marks the others.
func (s *source) unused() {
	texts := map[string]string{}
	for name, value := range s.values {
		if !s.used[name] {
			texts[name] = s.text(value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !s.used[name] {
			s.add("parts", texts[name])
		}
	}
}

// constants records the constants of a file.
func (s *source) constants(f *ast.File) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec) //nolint:forcetypeassert // Constants have no other specification.
				for i, value := range v.Values {
					s.values[v.Names[i].Name] = value
				}
			}
		}
	}
}

// rule matches a CEL rule of a definition, and help the tag of a flag.
var (
	rule = regexp.MustCompile(`XValidation:rule=.*,message=("(?:[^"\\]|\\.)*")`)
	help = regexp.MustCompile(`help:("(?:[^"\\]|\\.)*")`)
)

// file adds the messages of a file: rules in comments, help in tags, and every other text in the expression that it is a part of.
func (s *source) file(f *ast.File) {
	for _, group := range f.Comments {
		for _, c := range group.List {
			s.quoted("rules", rule, c.Text)
		}
	}
	var stack []ast.Node
	visited := map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.GenDecl:
			if n.Tok == token.IMPORT || n.Tok == token.CONST && len(stack) == 2 { // a file's
				stack = stack[:len(stack)-1]
				return false
			}
		case *ast.Field:
			if n.Tag != nil {
				s.quoted("help", help, n.Tag.Value)
			}
		case *ast.BasicLit:
			if root, user := expression(stack); n.Kind == token.STRING && !visited[root] {
				visited[root] = true
				s.expression(root, user)
			}
		}
		return true
	})
}

// quoted adds the text in quotes that an expression finds.
func (s *source) quoted(kind string, expression *regexp.Regexp, text string) {
	if found := expression.FindStringSubmatch(text); found != nil {
		if t, err := strconv.Unquote(found[1]); err == nil {
			s.out = append(s.out, message{kind, s.folder, t})
		}
	}
}

// expression returns the whole expression around a literal, and its user: the name of the function that it is an argument of, or of the
// field or variable that it is the value of, with a colon; empty for others.
func expression(stack []ast.Node) (root ast.Node, user string) {
	root = stack[len(stack)-1]
	for i := len(stack) - 2; i >= 0; i-- {
		switch n := stack[i].(type) {
		case *ast.BinaryExpr, *ast.ParenExpr:
			root = n
		case *ast.CallExpr:
			name := calledName(n)
			root = n
			if !slices.Contains(formatters, name) {
				return root, name
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				return root, key.Name + ":"
			}
			return root, ""
		case *ast.AssignStmt:
			return root, name(n.Lhs[0]) + ":"
		case *ast.Field:
			return root, "tag:"
		default:
			return root, ""
		}
	}
	return root, ""
}

// formatters return texts from texts.
var formatters = []string{
	"Sprintf", "Sprint", "Join", "Or", "Repeat", "string", "TrimSpace", "TrimPrefix", "TrimSuffix", "ReplaceAll", "Error", "String",
}

func (s *source) expression(root ast.Node, user string) {
	call, isCall := root.(*ast.CallExpr)
	if slices.Contains(notMessages, user) || s.folder == "companion/ovnsync" && user == "" {
		return
	}
	kind := "parts"
	for k, users := range usersOf {
		if slices.Contains(users, user) {
			kind = k
		}
	}
	if s.folder == "internal/openstack/override" || s.folder == "internal/kube/serveroption" {
		kind = "options"
	}
	if isCall && !slices.Contains(formatters, calledName(call)) {
		s.add(kind, s.arguments(call))
		return
	}
	if e, ok := root.(ast.Expr); ok {
		s.add(kind, s.text(e))
	}
}

// usersOf has the functions and fields that make a text a message of a kind. A text with another user is a part.
var usersOf = map[string][]string{
	"errors": {
		"Errorf", "New", "Field", "FieldPath", "Invalid", "Forbidden", "TypeInvalid", "refuse", "reject", "check", "checkCluster", "newError",
		"errUsage", "explain", "failure", "describeError", "describeErrorFrom", "ignoreNotFound", "ignoreNotFoundFrom", "List", "Each",
		"errorMessage:", "Fprintln",
	},
	"conditions": {
		"True", "False", "Wait", "Wait:", "Fail", "wait", "wait:", "set", "rejectedPlan", "Message:", "message:", "FailureMessage:", "Starting:",
		"waiting:", "LastKnown", "distributionCondition", "RestrictTo", "unknown", "symptom:",
	},
	"events": {
		"Note:", "note:", "Warning:", "Event", "Info", "change", "remove", "plan", "statusUpdatePlan", "recordAssignment",
	},
	"alerts": {
		"Summary:", "Action:", "action:", "Outage:", "CertificatesExpiring", "VolumesFilling", "Nodes", "Gauge", "Counter", "Histogram",
	},
	"help": {"Description"},
}

// notMessages are users of texts for programs and dashboards.
var notMessages = []string{
	"tag:", "MustCompile", "Array", "panic", "Dashboard", "Title:", "Legend:", "Expr:", "unit:", "script:", "sum", "line", "gateways",
	"join:", "Empty:",
}

// calledName returns the name of a called function, without its package or receiver.
func calledName(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// arguments returns the texts among the arguments of a call, with placeholders for the values of a format; nothing if none is prose.
func (s *source) arguments(c *ast.CallExpr) string {
	var out []string
	for i, a := range c.Args {
		text := s.text(a)
		if strings.Contains(text, "%") && i < len(c.Args)-1 {
			out = append(out, s.format(text, c.Args[i+1:]))
			break
		}
		if _, isCall := a.(*ast.CallExpr); text != placeholder(a) || isCall && i == 0 && len(c.Args) > 1 {
			out = append(out, text)
		}
	}
	if !slices.ContainsFunc(out, prose.MatchString) {
		return ""
	}
	return prefixes[calledName(c)] + strings.Join(out, ": ")
}

// prefixes are the beginnings that functions give to messages.
var prefixes = map[string]string{
	"explain": "cannot ", "failure": "cannot ", "describeError": "cannot ", "ignoreNotFound": "cannot ",
	"use": "use ", "reserved": "cannot be set: ", "tenantOption": "can be set: ",
}

// text returns the text of an expression, with placeholders for values.
func (s *source) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
		return e.Value
	case *ast.ParenExpr:
		return s.text(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return s.text(e.X) + s.text(e.Y)
		}
	case *ast.Ident:
		if value, ok := s.values[e.Name]; ok {
			s.used[e.Name] = true
			return s.text(value)
		}
	case *ast.CallExpr:
		if calledName(e) == "Sprintf" && len(e.Args) > 1 {
			return s.format(s.text(e.Args[0]), e.Args[1:])
		}
	}
	return placeholder(e)
}

// verb matches a verb of a format: its argument's number, and its letter.
var verb = regexp.MustCompile(`%(?:\[(\d)\])?[-+#0-9.]*([a-zA-Z%])`)

// format returns a format with the text of its values.
func (s *source) format(format string, values []ast.Expr) string {
	next := 0
	return verb.ReplaceAllStringFunc(format, func(v string) string {
		found := verb.FindStringSubmatch(v)
		if n, err := strconv.Atoi(found[1]); err == nil {
			next = n - 1
		}
		if found[2] == "%" || next >= len(values) {
			return "%"
		}
		text := s.text(values[next])
		next++
		if found[2] == "q" {
			return `"` + text + `"`
		}
		return text
	})
}

// placeholder returns the name of a value in braces.
func placeholder(e ast.Expr) string { return "{" + name(e) + "}" }

// name returns the last name in an expression, such as Host for s.Host and for string(s.Host).
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		if len(e.Args) > 0 {
			return name(e.Args[0])
		}
		return calledName(e)
	case *ast.IndexExpr:
		return name(e.X)
	case *ast.SliceExpr:
		return name(e.X)
	case *ast.StarExpr:
		return name(e.X)
	case *ast.UnaryExpr:
		return name(e.X)
	case *ast.BinaryExpr:
		return name(e.X)
	case *ast.BasicLit:
		return strings.Trim(e.Value, "\"`")
	}
	return "…"
}

// prose matches two words in small letters, and program a text in a language for machines.
var (
	prose   = regexp.MustCompile("(?:^|[\\s('\"{])[a-z][a-z'-]*}?[,;]? [{(]?[a-z]")
	program = regexp.MustCompile(`^(?:SELECT |import |from \S+ import|set -|#|<|clouds:|meta:|text/|Require |Content-|profile |OIDC)` +
		`|\$\(|&& |\{\{in\}|\bsum\(|\w ?= ?\w|=~|=\{|\]=|open\(`)
)
