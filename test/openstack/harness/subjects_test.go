package harness

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
)

// TestSubjects checks that every test with a cloud, of all packages, belongs to a subject, that every subject has a test, and that every
// service is one.
func TestSubjects(t *testing.T) {
	files, err := filepath.Glob("../*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Comments[0].List[0].Text != "//go:build openstack && linux" {
			continue
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			at := slices.IndexFunc(subjects, func(s subject) bool { return strings.HasPrefix(f.Name.Name, "Test"+s.name) })
			if at < 0 {
				t.Errorf("%s of %s is of no subject: begin its name with Test and one of %v, or add one", f.Name.Name, file, subjects)
				continue
			}
			tested[subjects[at].name] = true
		}
	}
	for _, s := range subjects {
		if !tested[s.name] {
			t.Errorf("%s has no test", s.name)
		}
	}
	for kind := range kinds.Runners() {
		service, group, _ := strings.Cut(kind, ".")
		if strings.HasPrefix(group, strings.ToLower(service)+".openstack.") && !tested[service] {
			t.Errorf("no test runs a real %s", service)
		}
	}
}
