package main

import (
	"os"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	const claim = "# A comment.\nkind: X\n\nspec:\n  # Another one.\n  size: small # with a reason\n"
	if got := settings([]byte(claim)); got != 3 {
		t.Errorf("settings(...): %d, want 3: comments and empty lines do not count", got)
	}
}

// TestSupported checks that the table names each kind of dependency, and that no version is empty.
func TestSupported(t *testing.T) {
	table, err := supported(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2025.1, 2025.2", "1.30 or newer", "2.3.4, 2.4.0", "MariaDB 25.", "RabbitMQ 2.", "Rook 1.", "K-ORC 2."} {
		if !strings.Contains(table, want) {
			t.Errorf("there is no %q in\n%s", want, table)
		}
	}
}
