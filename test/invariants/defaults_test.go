package invariants

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// ownDefaults lists expressions that repeat a default of a schema, or look like it, with the reason.
var ownDefaults = map[string]string{
	"functions/controlplane/heat/heat.go: ptr.Deref(requested.Enabled, true)":                                               optionalParent,
	"functions/controlplane/nova/spec.go: cmp.Or(consoles.Graphical, novav1.VNC)":                                           optionalParent,
	"functions/controlplane/services/state.go: cmp.Or(u.Threads, threads)":                                                  optionalParent,
	"functions/controlplane/tempest.go: cmp.Or(ptr.Deref(n.Consoles, controlplanev1.NovaConsoles{}).Graphical, novav1.VNC)": optionalParent,
	"functions/controlplane/tempest.go: cmp.Or(ptr.Deref(t, tempestv1.Tests{}).Concurrency, concurrency)":                   optionalParent,

	"functions/controlplane/horizon/horizon.go: cmp.Or(out.Threads, threads)": "browsers need more threads than the default of all services",

	"functions/controlplane/claim/settings.go: ptr.Deref(out.Enabled, true)":                    otherField,
	"functions/storage/hostnames.go: ptr.Deref(m.publicTLS().Enabled, true)":                    otherField,
	"functions/storage/hostnames.go: ptr.Deref(out.Enabled, true)":                              otherField,
	"internal/tenant/platform/cluster.go: cmp.Or(c.IPFamily, family)":                           otherField,
	"internal/openstack/service/secrets.go: cmp.Or(s.Spec.ClusterDomain, defaultClusterDomain)": otherField,
}

// Reasons for several expressions.
const (
	optionalParent = "the claim may lack the parent, which is a pointer"
	otherField     = "it is another field of the same name, which has no default in its schema"
)

// TestDefaultsInSchemaOnly searches the sources for defaults of fields that have one in the schema of a composite resource or of the
// PlatformConfig: a function receives the field with its default (function.SetDefaults), and a second default would hide a change of the
// first.
func TestDefaultsInSchemaOnly(t *testing.T) {
	fields := fieldsWithDefaults(t)
	if !fields["RotationSchedule"].parents["Fernet"] || !fields["Pool"].values[`"images"`] {
		t.Fatalf("the fields are %v", fields)
	}
	found := map[string]bool{}
	for _, root := range []string{"../../functions", "../../internal/openstack", "../../internal/tenant", "../../internal/kube"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := ownDefaultsIn(path, fields)
			for _, expression := range text {
				found[strings.TrimPrefix(filepath.ToSlash(path), "../../")+": "+expression] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for place := range found {
		if ownDefaults[place] == "" {
			t.Errorf("%s: the schema has the default; remove this one, or give the reason here", place)
		}
	}
	for place := range ownDefaults {
		if !found[place] {
			t.Errorf("%s: it does not exist any more; remove it here", place)
		}
	}
}

// TestOwnDefaultsFound checks which expressions are recognized.
func TestOwnDefaultsFound(t *testing.T) {
	fields := map[string]defaultedField{
		"Port": {parents: map[string]bool{"Database": true, "Queue": true}, values: map[string]bool{"3306": true, "5671": true}},
		"Mode": {parents: map[string]bool{"Sync": true}, values: map[string]bool{`"Log"`: true}},
	}
	for source, want := range map[string]bool{
		`cmp.Or(s.Database.Port, 3306)`:               true,
		`cmp.Or(q.Port, common.QueuePort)`:            true,
		`cmp.Or(string(q.Mode), "Log")`:               true,
		`*ptr.Deref(s.Queue.Port, port)`:              true,
		`func() { if q.Port == 0 { q.Port = 3306 } }`: true,
		`func() { if q.Mode == "" { return "Log" } }`: true,
		`cmp.Or(s.Cache.Port, 3306)`:                  false,
		`cmp.Or(q.Port, 443)`:                         false,
		`func() { if q.Mode == "" { return nil } }`:   false,
		`cmp.Or(q.Port, portOf(q))`:                   false,
		`cmp.Or(q.Name, "a")`:                         false,
		`cmp.Or(q.Mode, previous.Mode, "a")`:          false,
		`func() { if q.Port == 1 { q.Port = 2 } }`:    false,
		`func() { if q.Port == 0 { fail() } }`:        false,
	} {
		e, err := parser.ParseExpr(source)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		ast.Inspect(e, func(n ast.Node) bool {
			got = got || n != nil && isOwnDefault(n, fields)
			return true
		})
		if got != want {
			t.Errorf("%s: recognized %t, want %t", source, got, want)
		}
	}
}

// defaultedField contains the parents of the fields with one name, and their defaults in JSON.
type defaultedField struct{ parents, values map[string]bool }

// fieldsWithDefaults returns the Go fields that have a scalar default in the schema of a composite resource or of the PlatformConfig, by
// name.
func fieldsWithDefaults(t *testing.T) map[string]defaultedField {
	t.Helper()
	out := map[string]defaultedField{}
	var walk func(s *apiextensionsv1.JSONSchemaProps, typ reflect.Type, parent string)
	walk = func(s *apiextensionsv1.JSONSchemaProps, typ reflect.Type, parent string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			if typ.Kind() == reflect.Slice && s.Items != nil {
				s = s.Items.Schema
			}
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p, ok := s.Properties[name]
			if !ok {
				continue
			}
			if p.Default != nil && p.Type != "object" {
				if _, ok := out[f.Name]; !ok {
					out[f.Name] = defaultedField{parents: map[string]bool{}, values: map[string]bool{}}
				}
				out[f.Name].parents[parent], out[f.Name].values[string(p.Default.Raw)] = true, true
			}
			walk(&p, f.Type, f.Name)
		}
	}
	for _, k := range kindregistry.Composites() {
		s, err := specSchema(k.Folder)
		if err != nil {
			t.Fatal(err)
		}
		spec, _ := k.Type.FieldByName("Spec")
		walk(s, spec.Type, spec.Name)
	}
	s, err := specSchema("platform")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Platform", "platform"} {
		walk(s, reflect.TypeFor[platformv1.PlatformConfigSpec](), name)
	}
	return out
}

// setter matches names of functions that set defaults.
var setter = regexp.MustCompile(`^[sS]etDefaults?$`)

// ownDefaultsIn returns the expressions of a file that set a default of their own for a field.
func ownDefaultsIn(path string, fields map[string]defaultedField) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		if d, ok := n.(*ast.FuncDecl); ok && setter.MatchString(d.Name.Name) {
			out = append(out, "func "+d.Name.Name)
		}
		if n == nil || !isOwnDefault(n, fields) {
			return true
		}
		shown := n
		if i, ok := n.(*ast.IfStmt); ok {
			shown = i.Cond
		}
		b := &bytes.Buffer{}
		if err = printer.Fprint(b, files, shown); err == nil {
			out = append(out, b.String())
		}
		return true
	})
	return out, err
}

// isOwnDefault reports whether a node replaces the zero value of a field by a constant: cmp.Or(x.Field, constant),
// ptr.Deref(x.Field, constant), or an if statement that assigns or returns a constant where the field is zero.
func isOwnDefault(n ast.Node, fields map[string]defaultedField) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) != 2 {
			return false
		}
		field, ok := fieldOf(n.Args[0], fields)
		return ok && (f.Sel.Name == "Or" || f.Sel.Name == "Deref") && isConstant(n.Args[1], field)
	case *ast.IfStmt:
		c, ok := n.Cond.(*ast.BinaryExpr)
		if !ok || c.Op != token.EQL || !isZero(c.Y) || len(n.Body.List) != 1 {
			return false
		}
		field, ok := fieldOf(c.X, fields)
		return ok && setsConstant(n.Body.List[0], field)
	}
	return false
}

func setsConstant(s ast.Stmt, field defaultedField) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return isConstant(s.Rhs[0], field)
	case *ast.ReturnStmt:
		return len(s.Results) == 1 && isConstant(s.Results[0], field)
	}
	return false
}

// fieldOf returns the field with a default that an expression reads. The name of a variable is not compared with those of parents.
func fieldOf(e ast.Expr, fields map[string]defaultedField) (defaultedField, bool) {
	if c, ok := e.(*ast.CallExpr); ok && len(c.Args) == 1 { // a conversion
		e = c.Args[0]
	}
	f, ok := e.(*ast.SelectorExpr)
	if !ok {
		return defaultedField{}, false
	}
	field, known := fields[f.Sel.Name]
	parent, ok := f.X.(*ast.SelectorExpr)
	return field, known && (!ok || field.parents[parent.Sel.Name] || strings.EqualFold(parent.Sel.Name, "spec"))
}

// isConstant reports whether an expression is a default of a field, or a name that may be one.
func isConstant(e ast.Expr, field defaultedField) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return field.values[e.Value]
	case *ast.Ident:
		return field.values[e.Name] || !slices.Contains([]string{"true", "false", "nil"}, e.Name)
	case *ast.SelectorExpr:
		p, ok := e.X.(*ast.Ident)
		return ok && (p.Name == "common" || strings.HasSuffix(p.Name, "v1"))
	}
	return false
}

func isZero(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value == "0" || e.Value == `""`
	case *ast.Ident:
		return e.Name == "nil"
	}
	return false
}
