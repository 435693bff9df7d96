package install

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/images"
)

// TestCheckMachine checks that services run only on the Debian of their images.
func TestCheckMachine(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"same":      {"NAME=Debian\nVERSION_CODENAME=" + images.Debian + "\nID=debian\n", true},
		"quoted":    {"VERSION_CODENAME=\"" + images.Debian + "\"\n", true},
		"other":     {"VERSION_CODENAME=trixie\n", false},
		"no Debian": {"ID=arch\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "os-release")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := checkMachine(file); (err == nil) != tc.want {
				t.Errorf("checkMachine() of %q: %v", tc.text, err)
			}
		})
	}
	if err := checkMachine(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a machine without os-release is accepted")
	}
}

func TestInstalled(t *testing.T) {
	root := t.TempDir()
	const text = "Package: a\nStatus: install ok installed\nVersion: 1:2.3-4\n\nPackage: b\nVersion: 5\nDescription: x\n Version: 6\n"
	if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Installed(root)
	if diff := cmp.Diff(map[string]string{"a": "1:2.3-4", "b": "5"}, got); diff != "" || err != nil {
		t.Errorf("Installed() (-want +got), %v:\n%s", err, diff)
	}
}

// TestImageTrees checks that the suites install the packages of each image with a tree, from the Debian on which the
// image is based.
func TestImageTrees(t *testing.T) {
	table, err := images.Table()
	if err != nil {
		t.Fatal(err)
	}
	all, err := allTrees()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range table {
		if i.Package != "" {
			continue // uses the machine's packages
		}
		at := slices.IndexFunc(all, func(t tree) bool { return t.name == i.Name })
		if at < 0 {
			t.Errorf("image %s has no tree", i.Name)
			continue
		}
		if diff := cmp.Diff(append([]string{"ca-certificates"}, i.Runtime...), all[at].packages); diff != "" || all[at].suite != i.Base() {
			t.Errorf("tree of image %s, Debian %s (-want +got):\n%s", i.Name, all[at].suite, diff)
		}
	}
}
