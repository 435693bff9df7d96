// Package golden keeps the expected texts of several cases of one test in files. The folder of the base case has all of its texts. The
// folder of each other case has the texts that differ from the base, and a list of the texts that are equal. A change of a text that all
// cases share therefore changes one file.
package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// same is the name of the list in a case's folder: one name per line, sorted.
const same = "same.txt"

// Cases are folders with the expected texts of cases.
type Cases struct {
	// Dir is the folder of the folders, for example testdata.
	Dir string
	// Base is the case that has a folder with all of its texts.
	Base string
}

// In returns the cases of a folder. The base is the case small or smallest, or the first one.
func In(dir string, names []string) Cases {
	names = slices.Sorted(slices.Values(names))
	for _, base := range []string{"small", "smallest"} {
		if slices.Contains(names, base) {
			return Cases{Dir: dir, Base: base}
		}
	}
	return Cases{Dir: dir, Base: names[0]}
}

// Order returns names with the base first. Updates need this order: the files of a case depend on the files of the base.
func (c Cases) Order(names []string) []string {
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == c.Base:
			return -1
		case b == c.Base:
			return 1
		default:
			return strings.Compare(a, b)
		}
	})
}

// Compare fails the test if texts, by file name, differ from the expected texts of a case. With update, it first replaces the case's files.
func (c Cases) Compare(t *testing.T, name string, texts map[string]string, update bool) {
	t.Helper()
	if update {
		if err := c.write(name, texts); err != nil {
			t.Fatal(err)
		}
	}
	want, err := c.read(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// read returns the texts of a case by file name, with the texts that it shares with the base.
func (c Cases) read(name string) (map[string]string, error) {
	texts, err := folder(filepath.Join(c.Dir, name))
	if err != nil || name == c.Base {
		return texts, err
	}
	base, err := folder(filepath.Join(c.Dir, c.Base))
	if err != nil {
		return nil, err
	}
	list := texts[same]
	delete(texts, same)
	for file := range strings.Lines(list) {
		file = strings.TrimSuffix(file, "\n")
		text, ok := base[file]
		if _, twice := texts[file]; !ok || twice {
			return nil, fmt.Errorf("%s: %s must be a file of the case %s and no file of this case; run the test with -update",
				filepath.Join(c.Dir, name, same), file, c.Base)
		}
		texts[file] = text
	}
	return texts, nil
}

// write replaces the files of a case.
func (c Cases) write(name string, texts map[string]string) error {
	dir := filepath.Join(c.Dir, name)
	if _, reserved := texts[same]; reserved {
		return fmt.Errorf("%s: the name %s is reserved for the list of equal files", dir, same)
	}
	files := maps.Clone(texts)
	if name != c.Base {
		base, err := folder(filepath.Join(c.Dir, c.Base))
		if err != nil {
			return err
		}
		var list strings.Builder
		for _, file := range slices.Sorted(maps.Keys(texts)) {
			if text, ok := base[file]; ok && text == texts[file] {
				delete(files, file)
				list.WriteString(file + "\n")
			}
		}
		if list.Len() > 0 {
			files[same] = list.String()
		}
	}
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)) //nolint:gosec // readable, as all files of the repository
	for file, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)) //nolint:gosec // as above
	}
	return err
}

// folder returns the texts of all files of a folder by name.
func folder(dir string) (map[string]string, error) {
	root := os.DirFS(dir)
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range entries {
		data, err := fs.ReadFile(root, e.Name())
		if err != nil {
			return nil, err
		}
		out[e.Name()] = string(data)
	}
	return out, nil
}
