package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// edit is text around an expression, or before a token if both ends are the same.
type edit struct {
	from, to      int
	before, after string
	// mutants do not exist if the edit does not compile.
	mutants []*mutant
}

// rewritten is a file with its mutants, and how to name the packages of the types in it.
type rewritten struct {
	*file
	pkg     *pkg
	edits   []edit
	aliases map[string]string
}

// typ returns a type as the file may write it.
func (r *rewritten) typ(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == r.pkg.types {
			return ""
		}
		if r.aliases[p.Path()] == "" {
			r.aliases[p.Path()] = "mutation" + strconv.Itoa(len(r.aliases))
		}
		return r.aliases[p.Path()]
	})
}

// writable reports whether a file of the package can name the type.
func (p *pkg) writable(t types.Type) bool {
	ok := true
	var visit func(types.Type, int)
	visit = func(t types.Type, depth int) {
		if depth > 6 {
			return
		}
		switch t := t.(type) {
		case *types.Alias:
			visit(types.Unalias(t), depth+1)
		case *types.Named:
			o := t.Obj()
			if o.Pkg() != nil && o.Pkg() != p.types {
				foreign := strings.Contains("/"+o.Pkg().Path()+"/", "/internal/") && !sameModule(o.Pkg().Path(), p.path)
				ok = ok && o.Exported() && !foreign
			}
			for arg := range t.TypeArgs().Types() {
				visit(arg, depth+1)
			}
		case *types.Pointer:
			visit(t.Elem(), depth+1)
		case *types.Slice:
			visit(t.Elem(), depth+1)
		case *types.Array:
			visit(t.Elem(), depth+1)
		case *types.Map:
			visit(t.Key(), depth+1)
			visit(t.Elem(), depth+1)
		case *types.Signature:
			for v := range t.Params().Variables() {
				visit(v.Type(), depth+1)
			}
			for v := range t.Results().Variables() {
				visit(v.Type(), depth+1)
			}
		case *types.Basic:
			ok = ok && t.Info()&types.IsUntyped == 0
		}
	}
	visit(t, 0)
	return ok
}

// sameModule reports whether two packages are in one repository, which is sufficient for "internal" packages here.
func sameModule(a, b string) bool {
	head := func(path string) string {
		return strings.Join(strings.SplitN(path, "/", 4)[:min(3, strings.Count(path, "/")+1)], "/")
	}
	return head(a) == head(b)
}

// text returns the file with its edits: on the same lines as before.
func (r *rewritten) text() string {
	type insertion struct {
		at, rank int
		text     string
	}
	var all []insertion
	for i, e := range r.edits {
		// Text at the end of an edit comes before text at the start of the next one. At the same position, starts are ordered from the outermost
		// edit, ends from the innermost.
		all = append(all, insertion{at: e.from, rank: len(r.edits) + i, text: e.before})
		if e.after != "" {
			all = append(all, insertion{at: e.to, rank: -i, text: e.after})
		}
	}
	slices.SortStableFunc(all, func(a, b insertion) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	var b strings.Builder
	last := 0
	for _, in := range all {
		b.Write(r.source[last:in.at])
		b.WriteString(in.text)
		last = in.at
	}
	b.Write(r.source[last:])
	text := b.String()
	// Imports go after the package clause, on its line.
	end := r.pkg.fset.Position(r.ast.Name.End()).Offset
	var imports strings.Builder
	for _, path := range slices.Sorted(mapKeys(r.aliases)) {
		fmt.Fprintf(&imports, "; import %s %q", r.aliases[path], path)
	}
	return text[:end] + imports.String() + text[end:]
}

// rewrite returns the package's files with its mutants, and drops the mutants that do not compile.
func (p *pkg) rewrite(files []*rewritten) (map[string]string, error) {
	for {
		texts := map[string]string{filepath.Join(p.dir, "zz_mutation.go"): helpers(p.types.Name())}
		for _, r := range files {
			texts[r.path] = r.text()
		}
		var checked []*ast.File
		fset := token.NewFileSet()
		for path, text := range texts {
			f, err := parser.ParseFile(fset, path, text, 0)
			if err != nil {
				return nil, fmt.Errorf("the mutants of %s do not parse: %w", path, err)
			}
			checked = append(checked, f)
		}
		var errs []types.Error
		config := types.Config{Importer: p.imports, Error: func(err error) {
			if e, ok := err.(types.Error); ok && !e.Soft { //nolint:errorlint // The checker gives this type itself.
				errs = append(errs, e)
			}
		}}
		_, _ = config.Check(p.path, fset, checked, nil)
		if len(errs) == 0 {
			return texts, nil
		}
		if !drop(p, files, errs) {
			return nil, fmt.Errorf("the mutants of %s do not compile: %w", p.name, errs[0])
		}
	}
}

// drop removes the edits on the lines of the errors.
func drop(p *pkg, files []*rewritten, errs []types.Error) bool {
	dropped := false
	for _, r := range files {
		lines := map[int]bool{}
		for _, e := range errs {
			if at := e.Fset.Position(e.Pos); at.Filename == r.path {
				lines[at.Line] = true
			}
		}
		before := len(r.edits)
		r.edits = slices.DeleteFunc(r.edits, func(e edit) bool {
			at := p.fset.File(r.ast.Pos())
			hit := lines[at.Line(at.Pos(e.from))]
			for _, m := range e.mutants {
				m.removed = m.removed || hit
			}
			return hit
		})
		dropped = dropped || len(r.edits) < before
	}
	return dropped
}

// helpers returns the file that selects the value: the original, unless the environment selects a mutant.
func helpers(name string) string {
	return "package " + name + `

import (
	mutationOS "os"
	mutationStrconv "strconv"
	mutationSync "sync"
)

var (
	mutationActive, _ = mutationStrconv.Atoi(mutationOS.Getenv("` + activeVariable + `"))
	mutationRecord    = mutationOS.Getenv("` + recordVariable + `")
	mutationReached   mutationSync.Map
)

func mutationOn(id int) bool {
	if mutationRecord != "" {
		if _, reachedBefore := mutationReached.LoadOrStore(id, true); !reachedBefore {
			f, err := mutationOS.OpenFile(mutationRecord, mutationOS.O_APPEND|mutationOS.O_CREATE|mutationOS.O_WRONLY, 0o644)
			if err != nil {
				panic(err)
			}
			_, _ = f.WriteString(mutationStrconv.Itoa(id) + "\n")
			_ = f.Close()
		}
	}
	return id == mutationActive
}

func mutationPick[T any](id int, original, mutated T) T {
	if mutationOn(id) {
		return mutated
	}
	return original
}

func mutationDrop[T any](id int, original T) T {
	if mutationOn(id) {
		var zero T
		return zero
	}
	return original
}

func mutationCut[S ~[]E, E any](first int, s S) S {
	for i := range s {
		if mutationOn(first + i) {
			return append(append(S(nil), s[:i]...), s[i+1:]...)
		}
	}
	return s
}

func mutationWithout[M ~map[K]V, K comparable, V any](first int, m M, keys ...K) M {
	for i, key := range keys {
		if mutationOn(first + i) {
			delete(m, key)
		}
	}
	return m
}
`
}
