package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is a package under mutation.
type pkg struct {
	// path is what imports it, name how it is called in reports: the path below the module.
	path, name, dir string
	files           []*file
	types           *types.Package
	info            *types.Info
	fset            *token.FileSet
	imports         types.Importer
	mutants         []*mutant
	rewritten       []*rewritten
	// texts are its files with the mutants in them.
	texts map[string]string
}

// file is one of its files.
type file struct {
	path   string
	source []byte
	ast    *ast.File
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Export, ForTest string
	GoFiles                          []string
	DepOnly                          bool
	Module                           *struct{ Path string }
}

// helper holds for packages that only tests use.
func helper(path string) bool { return strings.HasSuffix(path, "test") || strings.HasSuffix(path, "/crash") }

// load parses and checks the packages that the patterns name.
func load(ctx context.Context, root string, patterns []string) ([]*pkg, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly,Module"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list packages: %w", err)
	}
	exports := map[string]string{}
	var wanted []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly && l.Module != nil && len(l.GoFiles) > 0 && !helper(l.ImportPath) {
			wanted = append(wanted, l)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not among the dependencies", path)
		}
		return os.Open(exports[path])
	})
	var packages []*pkg
	for _, l := range wanted {
		p := &pkg{path: l.ImportPath, name: strings.TrimPrefix(l.ImportPath, l.Module.Path+"/"), dir: l.Dir, fset: fset, imports: imports}
		for _, name := range l.GoFiles {
			f := &file{path: filepath.Join(l.Dir, name)}
			if f.source, err = os.ReadFile(f.path); err != nil {
				return nil, err
			}
			if f.ast, err = parser.ParseFile(fset, f.path, f.source, parser.ParseComments); err != nil {
				return nil, err
			}
			p.files = append(p.files, f)
		}
		p.info = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		}
		checked := make([]*ast.File, len(p.files))
		for i, f := range p.files {
			checked[i] = f.ast
		}
		if p.types, err = (&types.Config{Importer: imports}).Check(p.path, fset, checked, p.info); err != nil {
			return nil, fmt.Errorf("cannot check %s: %w", p.name, err)
		}
		packages = append(packages, p)
	}
	return packages, nil
}
