package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestGeneratedVersionsAreCurrent tests that the committed code is that of the committed table.
func TestGeneratedVersionsAreCurrent(t *testing.T) {
	table, err := os.ReadFile("services.toml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := render(table)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../internal/openstack/release/versions.go")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("versions.go is not generated from services.toml (%v); run make generate", err)
	}
}

func TestRender(t *testing.T) {
	for name, tc := range map[string]struct{ table, want, wantErr string }{
		"two rows": {
			table: "[heat]\nversions = { \"2025.1\" = \"24.1.2\", \"2025.2\" = \"25.0.2\" }\n[heat.templates]\na = \"b\"\n[nova]\nversions = { \"2025.1\" = \"31.3.1\" }\n",
			want:  "\t\"heat\": {\"2025.1\": \"24.1.2\", \"2025.2\": \"25.0.2\"},\n\t\"nova\": {\"2025.1\": \"31.3.1\"},\n",
		},
		"no versions": {table: "[heat]\noptions = []\n", wantErr: "[heat]: versions must be set on one line"},
		"empty":       {wantErr: "no row"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render([]byte(tc.table))
			if (err != nil) != (tc.wantErr != "") || err != nil && err.Error() != tc.wantErr {
				t.Errorf("render(...): %v, want %q", err, tc.wantErr)
			}
			if !strings.Contains(string(got), tc.want) {
				t.Errorf("render(...) =\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}
