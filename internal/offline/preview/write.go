package preview

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/manifest"
)

// marker is a file that identifies a directory of an earlier preview, so that other files are never replaced.
const marker = ".cobaltcore-preview"

// Write writes every manifest into a directory as <stage>-<component>/<kind>-<name>.yaml. The directory must be new, empty,
// or the output of an earlier call, whose files are replaced.
func (r *Result) Write(dir string) error {
	if err := empty(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manifests hold no secret; others may read them
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, marker), nil, 0o644); err != nil { //nolint:gosec // as above
		return err
	}
	for name, o := range r.files() {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as above
			return err
		}
		if err := os.WriteFile(file, manifest.YAML(o.Manifest), 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}

// files returns the objects by the paths of their manifests. For an object that occurs twice, such as the namespace in each of two
// clusters, the path of the second contains the name of its resource.
func (r *Result) files() iter.Seq2[string, Object] {
	return func(yield func(string, Object) bool) {
		used := map[string]bool{}
		for _, o := range r.Objects {
			name := o.file("")
			if used[name] {
				name = o.file("-" + o.Resource)
			}
			used[name] = true
			if !yield(name, o) {
				return
			}
		}
	}
}

func (o Object) file(suffix string) string {
	name := strings.ToLower(o.Kind) + "-" + o.Name + suffix + ".yaml"
	return filepath.Join(fmt.Sprintf("%02d-%s", o.Stage, o.Component), name)
}

// empty removes the output of an earlier call. It returns an error for a directory with other files.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
		return fmt.Errorf("%s contains files that the preview did not write; use an empty directory", dir)
	}
	for _, e := range entries {
		if e.Name() == marker || stageDir(e.Name()) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func stageDir(name string) bool {
	return len(name) > 3 && name[0] >= '0' && name[0] <= '9' && name[1] >= '0' && name[1] <= '9' && name[2] == '-'
}
