package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

// goPackage is a package with tests, as go list prints it.
type goPackage struct {
	ImportPath   string   `json:"ImportPath"`
	Dir          string   `json:"Dir"`
	TestGoFiles  []string `json:"TestGoFiles"`
	XTestGoFiles []string `json:"XTestGoFiles"`
}

// list returns the packages that have tests.
func list(ctx context.Context, o options) ([]goPackage, error) {
	args := []string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}
	if o.tags != "" {
		args = append(args, "-tags", o.tags)
	}
	text, err := output(ctx, "go", append(args, o.patterns...)...)
	if err != nil {
		return nil, err
	}
	var out []goPackage
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(o.patterns, " "))
	}
	return out, nil
}

// match returns an error if a part of the filter selects no test of the packages.
func match(filter string, packages []goPackage) error {
	if filter == "" {
		return nil
	}
	names, err := tests(packages)
	if err != nil {
		return err
	}
	for _, alternative := range split(filter, '|') {
		// Of TestA/b/c, only TestA is a function. The existence of b can be checked only after TestA has run.
		expression := split(alternative, '/')[0]
		pattern, err := regexp.Compile(expression)
		if err != nil {
			return fmt.Errorf("filter %q: %w", filter, err)
		}
		if !slices.ContainsFunc(names, pattern.MatchString) {
			return fmt.Errorf("filter %q: no test matches %q; %s", filter, expression, suggestion(expression, names))
		}
	}
	return nil
}

// selected returns the packages with a test that a part of the filter selects.
func selected(filter string, packages []goPackage) ([]goPackage, error) {
	var out []goPackage
	for _, p := range packages {
		names, err := tests([]goPackage{p})
		if err != nil {
			return nil, err
		}
		for _, alternative := range split(filter, '|') {
			pattern, err := regexp.Compile(split(alternative, '/')[0])
			if err != nil {
				return nil, fmt.Errorf("filter %q: %w", filter, err)
			}
			if slices.ContainsFunc(names, pattern.MatchString) {
				out = append(out, p)
				break
			}
		}
	}
	return out, nil
}

// paths returns the import paths of packages.
func paths(packages []goPackage) []string {
	var out []string
	for _, p := range packages {
		out = append(out, p.ImportPath)
	}
	return out
}

// tests returns the names of the packages' test functions, without compiling them.
func tests(packages []goPackage) ([]string, error) {
	var out []string
	for _, p := range packages {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if ok && f.Recv == nil && f.Name.Name != "TestMain" && isTest(f.Name.Name) {
					out = append(out, f.Name.Name)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// isTest reports whether go test would run a function with this name.
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// split splits a filter as package testing does: at separators that are in no brackets.
func split(filter string, separator byte) []string {
	var out []string
	brackets, parentheses, begin := 0, 0, 0
	for i := 0; i < len(filter); i++ {
		switch filter[i] {
		case '\\':
			i++
		case '[':
			brackets++
		case ']':
			brackets = max(0, brackets-1)
		case '(':
			if brackets == 0 {
				parentheses++
			}
		case ')':
			if brackets == 0 {
				parentheses--
			}
		case separator:
			if brackets == 0 && parentheses == 0 {
				out = append(out, filter[begin:i])
				begin = i + 1
			}
		}
	}
	return append(out, filter[begin:])
}

// suggested is the maximum number of test names in an error.
const suggested = 8

// suggestion names the tests whose names are most like the expression.
func suggestion(expression string, names []string) string {
	selector := strings.ToLower(strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_]|\(\?[a-z]*[:)]`).ReplaceAllString(expression, ""), "_"))
	ordered := slices.Clone(names)
	slices.SortStableFunc(ordered, func(a, b string) int { return distance(selector, a) - distance(selector, b) })
	rest := ""
	if len(ordered) > suggested {
		rest = fmt.Sprintf(", and %d others", len(ordered)-suggested)
		ordered = ordered[:suggested]
	}
	return "tests with similar names: " + strings.Join(ordered, ", ") + rest
}

// distance counts the changes from a selector in lower case to a test's name. A name that contains the selector is close,
// however long it is.
func distance(selector, name string) int {
	name = strings.ToLower(name)
	if strings.Contains(name, strings.TrimPrefix(selector, "test")) {
		return 0
	}
	return suggest.Distance(selector, name)
}
