package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// typesOf are the Go types of all kinds, by name.
var typesOf = func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, k := range kindregistry.All() {
		out[k.Kind] = k.Type
	}
	return out
}()

// withTypes returns a schema in which the ID of each object is its Go type: "<path of the package>/<name>".
func withTypes(p props, typ reflect.Type) props {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		inner, ok := member(p)
		switch {
		case !ok:
		case p.Items != nil:
			items := *p.Items
			inner = withTypes(inner, typ.Elem())
			items.Schema, p.Items = &inner, &items
		default:
			values := *p.AdditionalProperties
			inner = withTypes(inner, typ.Elem())
			values.Schema, p.AdditionalProperties = &inner, &values
		}
		return p
	}
	if typ.Kind() != reflect.Struct || len(p.Properties) == 0 {
		return p
	}
	p.ID, p.Properties = path.Join(typ.PkgPath(), typ.Name()), maps.Clone(p.Properties)
	for _, f := range goFields(typ) {
		if child, ok := p.Properties[f.name]; ok && f.name != "metadata" {
			p.Properties[f.name] = withTypes(child, f.typ)
		}
	}
	return p
}

// module is the path of packages of this project.
const module = "github.com/c5c3/crossplane-cobaltcore"

// typeComments returns the comment of each type of apis/, by "<path of the package>/<name>".
func typeComments(sources fs.FS) (map[string]string, error) {
	out := map[string]string{}
	files, err := fs.Glob(sources, "apis/*/*/*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(path.Base(name), "zz_") {
			continue
		}
		data, err := fs.ReadFile(sources, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("cannot read the comments of types: %w", err)
		}
		for typ, comment := range commentsOf(file) {
			out[path.Join(module, path.Dir(name), typ)] = comment
		}
	}
	return out, nil
}

// commentsOf returns the comment of each type of a file.
func commentsOf(file *ast.File) map[string]string {
	out := map[string]string{}
	for _, d := range file.Decls {
		declaration, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range declaration.Specs {
			if spec, ok := s.(*ast.TypeSpec); ok {
				comment := spec.Doc
				if comment == nil {
					comment = declaration.Doc
				}
				out[spec.Name.Name] = withoutMarkers(comment.Text())
			}
		}
	}
	return out
}

// withoutMarkers returns a comment without the lines for controller-gen.
func withoutMarkers(comment string) string {
	var out []string
	for line := range strings.Lines(comment) {
		if !strings.HasPrefix(line, "+") {
			out = append(out, line)
		}
	}
	return oneLine(strings.Join(out, ""))
}
