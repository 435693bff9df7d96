package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant describes a defect.
type mutant struct {
	id int
	// key identifies it independent of its line: file, function and description, numbered if there are several.
	key, description string
	file             string
	line             int
	// removed is set if it does not compile; equivalent is the reason why no test can notice it.
	removed    bool
	equivalent string
	// reached by a test at all, and killed by which package's tests.
	reached    bool
	detectedBy string
	tried      bool
}

func (m *mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.description) }

func mapKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// walker finds the mutants of one file.
type walker struct {
	*rewritten
	next  *int
	stack []ast.Node
	// skip holds expressions that no mutant stands in for: names of fields, constants of declarations.
	skip map[ast.Node]bool
	keys map[string]int
}

// mutate finds the package's mutants, numbers them on from the id, and returns the last one.
func (p *pkg) mutate(id int) (int, error) {
	p.rewritten = nil
	keys := map[string]int{}
	for _, f := range p.files {
		if strings.HasPrefix(filepath.Base(f.path), "zz_generated") || ast.IsGenerated(f.ast) {
			continue
		}
		r := &rewritten{file: f, pkg: p, aliases: map[string]string{}}
		w := &walker{rewritten: r, next: &id, skip: map[ast.Node]bool{}, keys: keys}
		ast.Inspect(f.ast, w.visit)
		p.rewritten = append(p.rewritten, r)
	}
	texts, err := p.rewrite(p.rewritten)
	if err != nil {
		return 0, err
	}
	p.texts = texts
	p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool { return m.removed })
	return id, nil
}

// add returns a new mutant at the position.
func (w *walker) add(at token.Pos, format string, args ...any) *mutant {
	*w.next++
	pos := w.pkg.fset.Position(at)
	m := &mutant{
		id: *w.next, description: fmt.Sprintf(format, args...), line: pos.Line,
		file: w.pkg.name + "/" + filepath.Base(w.path),
	}
	key := fmt.Sprintf("%s %s: %s", m.file, w.function(), m.description)
	w.keys[key]++
	if n := w.keys[key]; n > 1 {
		key += " #" + strconv.Itoa(n)
	}
	m.key = key
	w.pkg.mutants = append(w.pkg.mutants, m)
	return m
}

// function names the declaration around.
func (w *walker) function() string {
	for _, n := range w.stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return n.Name.Name
		case *ast.ValueSpec:
			return n.Names[0].Name
		}
	}
	return "-"
}

// wrap puts a call of a helper around the expression.
func (w *walker) wrap(e ast.Expr, before, after string, mutants ...*mutant) {
	w.edits = append(w.edits, edit{from: w.offset(e.Pos()), to: w.offset(e.End()), before: before, after: after, mutants: mutants})
}

func (w *walker) offset(p token.Pos) int { return w.pkg.fset.Position(p).Offset }

// source returns the text of a node, on one line and not too long.
func (w *walker) text(n ast.Node) string {
	return string(w.source[w.offset(n.Pos()):w.offset(n.End())])
}

func (w *walker) short(n ast.Node) string {
	text := []rune(strings.Join(strings.Fields(w.text(n)), " "))
	if len(text) > 60 {
		return string(text[:57]) + "…"
	}
	return string(text)
}

// visit adds the mutants of a node before the mutants of its children, so that the outer edits come first.
func (w *walker) visit(n ast.Node) bool {
	if n == nil {
		w.stack = w.stack[:len(w.stack)-1]
		return false
	}
	if w.skip[n] {
		return false
	}
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Comment, *ast.CommentGroup, *ast.TypeSpec:
		return false
	case *ast.GenDecl:
		if n.Tok == token.CONST {
			return false
		}
	case *ast.ArrayType:
		return false
	case *ast.CompositeLit:
		w.literal(n)
	case *ast.AssignStmt:
		w.assignment(n)
	case *ast.CallExpr:
		w.call(n)
	case *ast.ReturnStmt:
		w.results(n)
	case *ast.BasicLit:
		w.basic(n)
	case *ast.SelectorExpr:
		if w.constant(n, n.Sel) {
			return false
		}
		w.skip[n.Sel] = true
	case *ast.Ident:
		w.constant(n, n)
	}
	w.stack = append(w.stack, n)
	return true
}

// literal drops elements of a composite literal.
func (w *walker) literal(n *ast.CompositeLit) {
	t := w.pkg.info.TypeOf(n)
	if t == nil {
		return
	}
	under := t.Underlying()
	if p, ok := under.(*types.Pointer); ok { // The element of a []*T, whose &T is implicit.
		under = p.Elem().Underlying()
	}
	switch u := under.(type) {
	case *types.Struct:
		w.fields(n, u)
	case *types.Slice:
		w.elements(n, t)
	case *types.Map:
		w.entries(n, t, u)
	}
}

func (w *walker) fields(n *ast.CompositeLit, s *types.Struct) {
	for i, element := range n.Elts {
		value, name, t := element, "", types.Type(nil)
		if kv, ok := element.(*ast.KeyValueExpr); ok {
			key, ok := kv.Key.(*ast.Ident)
			if !ok {
				continue
			}
			w.skip[key] = true
			value, name = kv.Value, key.Name
			for f := range s.Fields() {
				if f.Name() == name {
					t = f.Type()
				}
			}
		} else {
			name, t = s.Field(i).Name(), s.Field(i).Type()
		}
		if t == nil || w.zero(value) || w.text(value) == "true" || !w.pkg.writable(t) {
			continue
		}
		m := w.add(value.Pos(), "drop %s: %s", name, w.short(value))
		w.wrap(value, fmt.Sprintf("mutationDrop[%s](%d, ", w.typ(t), m.id), ")", m)
	}
}

// wrapped reports whether a call can replace the literal, and returns the text before its brace.
func (w *walker) wrapped(n *ast.CompositeLit, t types.Type) (string, bool) {
	if len(w.stack) > 0 {
		if u, ok := w.stack[len(w.stack)-1].(*ast.UnaryExpr); ok && u.Op == token.AND {
			return "", false
		}
	}
	if n.Type != nil {
		return "", true
	}
	if _, pointer := t.Underlying().(*types.Pointer); pointer || !w.pkg.writable(t) {
		return "", false
	}
	return w.typ(t), true
}

func (w *walker) elements(n *ast.CompositeLit, t types.Type) {
	prefix, ok := w.wrapped(n, t)
	if !ok || len(n.Elts) == 0 {
		return
	}
	for _, element := range n.Elts {
		if _, keyed := element.(*ast.KeyValueExpr); keyed {
			return
		}
	}
	var mutants []*mutant
	for _, element := range n.Elts {
		mutants = append(mutants, w.add(element.Pos(), "drop element %s", w.short(element)))
	}
	w.wrap(n, fmt.Sprintf("mutationCut(%d, %s", mutants[0].id, prefix), ")", mutants...)
}

func (w *walker) entries(n *ast.CompositeLit, t types.Type, u *types.Map) {
	prefix, ok := w.wrapped(n, t)
	var mutants []*mutant
	var keys []string
	for _, element := range n.Elts {
		kv, keyed := element.(*ast.KeyValueExpr)
		if !keyed {
			return
		}
		// A key that is changed is one that is dropped.
		w.skip[kv.Key] = true
		if _, literal := kv.Key.(*ast.CompositeLit); literal || !w.pkg.writable(u.Key()) {
			ok = false
		}
	}
	if !ok || len(n.Elts) == 0 {
		return
	}
	for _, element := range n.Elts {
		kv := element.(*ast.KeyValueExpr) //nolint:forcetypeassert // The loop above checked the type.
		mutants = append(mutants, w.add(kv.Pos(), "drop entry %s", w.short(kv)))
		keys = append(keys, w.text(kv.Key))
	}
	after := fmt.Sprintf(", []%s{%s}...)", w.typ(u.Key()), strings.Join(keys, ", "))
	w.wrap(n, fmt.Sprintf("mutationWithout(%d, %s", mutants[0].id, prefix), after, mutants...)
}

// assignment skips the assignment to a field or an entry.
func (w *walker) assignment(n *ast.AssignStmt) {
	if n.Tok != token.ASSIGN || len(n.Lhs) != len(n.Rhs) {
		return
	}
	for i, to := range n.Lhs {
		switch to.(type) {
		case *ast.SelectorExpr, *ast.IndexExpr:
		default:
			continue
		}
		t := w.pkg.info.TypeOf(to)
		// The left side is evaluated too, so it must not have side effects.
		if t == nil || !w.pkg.writable(t) || w.text(n.Rhs[i]) == "true" || strings.Contains(w.text(to), "(") {
			continue
		}
		m := w.add(n.Pos(), "drop %s = %s", w.short(to), w.short(n.Rhs[i]))
		w.wrap(n.Rhs[i], fmt.Sprintf("mutationPick[%s](%d, ", w.typ(t), m.id), ", "+w.text(to)+")", m)
	}
}

// sentences are functions whose text is for people.
var sentences = map[string]bool{"Errorf": true, "New": true, "panic": true, "Warningf": true, "Fatalf": true}

// call skips an append to a slice. It ignores calls without an effect that a test can observe.
func (w *walker) call(n *ast.CallExpr) {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		switch {
		case f.Name == "make":
			// Capacities change nothing.
			for _, arg := range n.Args[min(1, len(n.Args)):] {
				w.skip[arg] = true
			}
		case f.Name == "append" && len(n.Args) > 1:
			t := w.pkg.info.TypeOf(n)
			switch n.Args[0].(type) {
			case *ast.Ident, *ast.SelectorExpr:
			default:
				return
			}
			if id, ok := n.Args[0].(*ast.Ident); (ok && id.Name == "nil") || t == nil || !w.pkg.writable(t) {
				return
			}
			m := w.add(n.Pos(), "drop %s", w.short(n))
			w.wrap(n, fmt.Sprintf("mutationPick[%s](%d, ", w.typ(t), m.id), ", "+w.text(n.Args[0])+")", m)
		case sentences[f.Name]:
			w.skipStrings(n)
		}
	case *ast.SelectorExpr:
		if sentences[f.Sel.Name] {
			w.skipStrings(n)
		}
	}
}

// results ignores the results that are returned with an error, because callers do not read them.
func (w *walker) results(n *ast.ReturnStmt) {
	if len(n.Results) < 2 {
		return
	}
	last := n.Results[len(n.Results)-1]
	t := w.pkg.info.TypeOf(last)
	if t == nil || w.pkg.info.Types[last].IsNil() || !types.AssignableTo(t, types.Universe.Lookup("error").Type()) {
		return
	}
	for _, e := range n.Results[:len(n.Results)-1] {
		if tv := w.pkg.info.Types[e]; tv.Value != nil || tv.IsNil() {
			w.skip[e] = true
		}
	}
}

func (w *walker) skipStrings(n *ast.CallExpr) {
	for _, arg := range n.Args {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			w.skip[lit] = true
		}
	}
}

// zero reports whether the expression is the zero value of its type.
func (w *walker) zero(e ast.Expr) bool {
	tv := w.pkg.info.Types[e]
	if tv.IsNil() {
		return true
	}
	if tv.Value == nil {
		return false
	}
	switch tv.Value.Kind() {
	case constant.Bool:
		return !constant.BoolVal(tv.Value)
	case constant.String:
		return constant.StringVal(tv.Value) == ""
	case constant.Int, constant.Float:
		return constant.Sign(tv.Value) == 0
	default:
		return false
	}
}

// basic replaces a number or a string by another one.
func (w *walker) basic(n *ast.BasicLit) {
	tv := w.pkg.info.Types[n]
	if tv.Type == nil || !w.pkg.writable(tv.Type) {
		return
	}
	switch n.Kind { //nolint:exhaustive // Runes and imaginary numbers are rare.
	case token.INT:
		w.pick(n, tv.Type, n.Value+"+1")
		if n.Value != "0" {
			w.pick(n, tv.Type, n.Value+"-1")
		}
	case token.STRING:
		text, err := strconv.Unquote(n.Value)
		if err != nil || strings.ContainsAny(text, " \n") {
			return // A sentence, a script, an expression.
		}
		w.pick(n, tv.Type, w.sibling(n))
	}
}

// pick replaces an expression by another one.
func (w *walker) pick(e ast.Expr, t types.Type, other string) {
	m := w.add(e.Pos(), "%s → %s", w.short(e), other)
	w.wrap(e, fmt.Sprintf("mutationPick[%s](%d, ", w.typ(t), m.id), ", "+other+")", m)
}

// sibling returns the next other text in the smallest thing around: a literal, a call, a function.
func (w *walker) sibling(n *ast.BasicLit) string {
	for _, around := range slices.Backward(w.stack) {
		switch around.(type) {
		case *ast.CompositeLit, *ast.CallExpr, *ast.BlockStmt, *ast.FuncDecl:
		default:
			continue
		}
		var before, after string
		ast.Inspect(around, func(m ast.Node) bool {
			lit, ok := m.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || lit.Value == n.Value || w.skip[lit] || strings.ContainsAny(lit.Value, " \n") || lit.Value == `""` {
				return true
			}
			if lit.Pos() < n.Pos() {
				before = lit.Value
			} else if after == "" {
				after = lit.Value
			}
			return true
		})
		if other := cmp.Or(after, before); other != "" {
			return other
		}
	}
	return n.Value + `+"x"`
}

// constant replaces a constant by a sibling, and reports whether the expression is a constant.
func (w *walker) constant(e ast.Expr, name *ast.Ident) bool {
	c, ok := w.pkg.info.Uses[name].(*types.Const)
	if !ok {
		return false
	}
	tv := w.pkg.info.Types[e]
	if tv.Type == nil || tv.Value == nil || !w.pkg.writable(tv.Type) {
		return true
	}
	if c.Pkg() == nil {
		switch name.Name {
		case "true":
			w.pick(e, tv.Type, "false")
		case "false":
			w.pick(e, tv.Type, "true")
		}
		return true
	}
	if tv.Value.Kind() == constant.String && strings.Contains(constant.StringVal(tv.Value), " ") {
		return true // A sentence.
	}
	if other := w.siblingConst(c); other != nil {
		text := other.Name()
		if s, ok := e.(*ast.SelectorExpr); ok {
			text = w.text(s.X) + "." + text
		}
		w.pick(e, tv.Type, text)
	} else if c.Pkg() == w.pkg.types && tv.Value.Kind() == constant.Int {
		w.pick(e, tv.Type, w.text(e)+"+1")
	}
	return true
}

// siblingConst returns the constant nearest to another: in the same block if it is one of ours, else of the same named type.
func (w *walker) siblingConst(c *types.Const) *types.Const {
	scope := c.Pkg().Scope()
	if c.Parent() != scope {
		return nil
	}
	at := w.pkg.fset.Position(c.Pos())
	_, named := types.Unalias(c.Type()).(*types.Named)
	own := c.Pkg() == w.pkg.types
	var best *types.Const
	distance := 0
	for _, name := range scope.Names() {
		o, ok := scope.Lookup(name).(*types.Const)
		if !ok || o == c || !types.Identical(o.Type(), c.Type()) || constant.Compare(o.Val(), token.EQL, c.Val()) || !own && !o.Exported() {
			continue
		}
		pos := w.pkg.fset.Position(o.Pos())
		far := max(pos.Line-at.Line, at.Line-pos.Line)
		if pos.Filename != at.Filename {
			far += 1_000_000
		}
		if !named && far > 12 { // An untyped constant is a sibling only in its own block.
			continue
		}
		if best == nil || far < distance {
			best, distance = o, far
		}
	}
	return best
}
