package expected

import (
	"os"
	"path/filepath"
	"testing"
)

// TestServices tests that the facts are found from the folder of any test, by the folder of the service.
func TestServices(t *testing.T) {
	if got := Services(t)["heat"].Registry["2025.1"].Version; got != "24.1.2" {
		t.Errorf("version of Heat: %q", got)
	}
}

// TestReadUnknownField tests that a misspelled fact is an error, and not a fact that no test compares.
func TestReadUnknownField(t *testing.T) {
	file := filepath.Join(t.TempDir(), "expected.yaml")
	for text, valid := range map[string]bool{
		"options: {tables: [queue]}": true, "options: {table: [queue]}": false, "revision: {}": false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(file); (err == nil) != valid {
			t.Errorf("%s: %v", text, err)
		}
	}
}
