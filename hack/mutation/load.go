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
	"slices"
	"strings"
)

// pkg is a package under mutation.
type pkg struct {
	// path is the import path, name the name in reports: the path below the module.
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

// file is a source file of a package.
type file struct {
	path   string
	source []byte
	ast    *ast.File
}

// listed is the output of `go list` for a package.
type listed struct {
	ImportPath string   `json:"ImportPath"`
	Dir        string   `json:"Dir"`
	Export     string   `json:"Export"`
	GoFiles    []string `json:"GoFiles"`
	DepOnly    bool     `json:"DepOnly"`
	Module     *struct {
		Path string `json:"Path"`
	} `json:"Module"`
}

// helper holds for packages that only tests use.
func helper(path string) bool {
	return strings.HasSuffix(path, "test") || strings.HasSuffix(path, "/faultinjection")
}

// load parses and checks the packages that the patterns name.
func load(ctx context.Context, patterns []string) ([]*pkg, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly,Module"}
	args = slices.Concat(args, []string{"os", "strconv", "sync"}, patterns) // The helpers import these packages.
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list packages: %w", err)
	}
	exports := map[string]string{}
	var desired []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly && l.Module != nil && len(l.GoFiles) > 0 && !helper(l.ImportPath) {
			desired = append(desired, l)
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
	for _, l := range desired {
		p := &pkg{path: l.ImportPath, name: strings.TrimPrefix(l.ImportPath, l.Module.Path+"/"), dir: l.Dir, fset: fset, imports: imports}
		if err := p.read(l.GoFiles); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// read parses and checks a package's files.
func (p *pkg) read(names []string) error {
	var err error
	var checked []*ast.File
	for _, name := range names {
		f := &file{path: filepath.Join(p.dir, name)}
		if f.source, err = os.ReadFile(f.path); err != nil {
			return err
		}
		if f.ast, err = parser.ParseFile(p.fset, f.path, f.source, parser.ParseComments); err != nil {
			return err
		}
		p.files, checked = append(p.files, f), append(checked, f.ast)
	}
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}
	if p.types, err = (&types.Config{Importer: p.imports}).Check(p.path, p.fset, checked, p.info); err != nil {
		return fmt.Errorf("cannot check %s: %w", p.name, err)
	}
	return nil
}
