package service

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestNoServiceByName checks that this package contains no name of a service: properties of a service belong to its own
// package.
func TestNoServiceByName(t *testing.T) {
	named := regexp.MustCompile(`(?i)keystone|glance|placement|nova|neutron|cinder|heat|horizon`)
	// The option group of Keystone's middleware contains Keystone's name, in every service.
	allowed := map[string]bool{`"keystone_authtoken"`: true}
	notTests := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", notTests, 0) //nolint:staticcheck // one package without build tags
	if err != nil || len(packages["service"].Files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for name, file := range packages["service"].Files {
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && named.MatchString(l.Value) && !allowed[l.Value] {
				t.Errorf("%s contains %s", name, l.Value)
			}
			return true
		})
	}
}

// TestPolicy checks that the policy file is never JSON, which oslo.upgradecheck rejects.
func TestPolicy(t *testing.T) {
	s := Base{Definition: &Definition{Title: "Service"}}
	for name, rules := range map[string]map[string]string{
		"none": nil,
		"one":  {"identity:list_projects": "role:auditor"},
		"two":  {"identity:list_projects": "@", "identity:list_users": "!"},
	} {
		text, err := s.policy(rules)
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid([]byte(text)) {
			t.Errorf("%s: the policy file is JSON: %s", name, text)
		}
	}
}
