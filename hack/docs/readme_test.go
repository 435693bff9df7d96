package main

import (
	"os"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/versions"
)

func TestSettings(t *testing.T) {
	const claim = "# A comment.\nkind: X\n\nspec:\n  # Another one.\n  size: small # with a reason\n"
	if got := settings([]byte(claim)); got != 3 {
		t.Errorf("settings(...): %d, want 3: comments and empty lines do not count", got)
	}
}

// TestSupported checks that the table has every release of OpenStack, and every supported program with its range.
func TestSupported(t *testing.T) {
	table, err := supported(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	var wants []string
	for _, r := range release.Releases() {
		wants = append(wants, string(r))
	}
	for _, p := range versions.Supported() {
		wants = append(wants, p.Name+" "+p.Supported.String())
	}
	if len(wants) < 10 {
		t.Errorf("only %d supported releases and programs: %v", len(wants), wants)
	}
	for _, want := range wants {
		if !strings.Contains(table, want) {
			t.Errorf("there is no %q in\n%s", want, table)
		}
	}
}
