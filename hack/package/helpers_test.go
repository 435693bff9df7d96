package main

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const repository = "../.."

// checkout is a repository of one commit with our packages, and programs that are quick to build.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"package", "compositions", "apis", "examples"} {
		if err := os.CopyFS(filepath.Join(root, folder), os.DirFS(filepath.Join(repository, folder))); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{
		"go.mod":            "module example.org/m\n\ngo 1.26\n",
		"functions/main.go": "package main\n\nfunc main() { println(1) }\n",
		"companion/main.go": "package main\n\nfunc main() { println(3) }\n",
		versions:            "package release\n\nconst Version = \"0.3.0\"\n",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	gitIn(t, root, "init", "-q")
	gitIn(t, root, "add", ".")
	gitIn(t, root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "m")
	return root
}

func gitIn(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", root}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// tree is every file below a folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, path))
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stream is the package.yaml of an image, found by its annotation as Crossplane finds it.
func stream(t *testing.T, image v1.Image) string {
	t.Helper()
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range manifest.Layers {
		if l.Annotations["io.crossplane.xpkg"] == "base" {
			layer, err := image.LayerByDigest(l.Digest)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]entry{}
			untar(t, layer, files)
			return files["package.yaml"].text()
		}
	}
	t.Fatal("no layer is annotated as a package's")
	return ""
}

type entry struct {
	mode int64
	data []byte
}

func (e entry) text() string { return string(e.data) }

func contents(t *testing.T, image v1.Image) map[string]entry {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]entry{}
	for _, l := range layers {
		untar(t, l, out)
	}
	return out
}

func untar(t *testing.T, layer v1.Layer, into map[string]entry) {
	t.Helper()
	r, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		into[h.Name] = entry{h.Mode, data}
	}
}
