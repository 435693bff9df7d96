package wrapper_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rootOf is the root of the module that the test runs in.
func rootOf(t *testing.T) string {
	t.Helper()
	for dir := "."; len(dir) < 1<<8; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("there is no go.mod above the test")
	return ""
}

// TestOtherPackagesUseNoProviderFields tests that only this package, tests and fakes use the kind and fields of provider-kubernetes'
// Objects.
func TestOtherPackagesUseNoProviderFields(t *testing.T) {
	root := rootOf(t)
	text := []string{"kubernetes.crossplane.io", "kubernetes.m.crossplane.io", "forProvider", "atProvider", "managementPolicies"}
	read := 0
	for _, dir := range []string{"cmd", "companion", "functions", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			switch filepath.Base(filepath.Dir(path)) {
			case "wrapper", "wiretest", "fake":
				return nil
			}
			read++
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					for _, w := range text {
						if strings.Contains(lit.Value, w) {
							t.Errorf("%s contains %s: use package wrapper or observe", path, w)
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Errorf("%d files were read: where is the code?", read)
	}
}
