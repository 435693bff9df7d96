// Package crds collects the CustomResourceDefinitions of all objects of other projects that are composed, so that the objects can be
// tested against them. modules.txt lists the Go modules that contain them, committed/ contains the others. Fetch requires the module proxy
// once; afterwards all of them are in a cache folder.
package crds

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed modules.txt committed
var sources embed.FS

// layout is part of the cache's key: raise it when the files in the cache change without the sources.
const layout = "1"

// Fetch returns the folder that holds the CRDs, one JSON file each, named <Kind>.<group>.json, without descriptions. It is
// $COBALTCORE_CACHE/crds/<hash of the sources>, by default below ~/.cache/cobaltcore. If it does not exist yet, the
// modules are downloaded by the go command and checked against their hashes. Several processes may call it at once.
func Fetch(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	key, err := key(sources)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "crds", key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}

	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("cannot make the CRD cache, set COBALTCORE_CACHE to a folder that can be written: %w", err)
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", fmt.Errorf("cannot lock the CRD cache: %w", err)
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil { // Another process has created it.
		return dir, nil
	}
	if err := build(ctx, dir); err != nil {
		return "", fmt.Errorf("cannot fetch the CRDs (the module proxy is needed once; then they are in %s): %w", dir, err)
	}
	return dir, nil
}

// FileName is the name of a kind's file in the cache. Kinds have no dots, so the first one ends the kind.
func FileName(kind schema.GroupKind) string { return kind.Kind + "." + kind.Group + ".json" }

func cacheDir() (string, error) {
	if dir := os.Getenv("COBALTCORE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot find a cache folder, set COBALTCORE_CACHE: %w", err)
	}
	return filepath.Join(home, ".cache", "cobaltcore"), nil
}

// key is the hash of all source files, names and contents.
func key(sources fs.FS) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, layout)
	err := fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sources, path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(data), data)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil))[:16], err
}

// build creates the cache folder atomically: it fills a temporary folder and renames it.
func build(ctx context.Context, dir string) error {
	crds, err := collect(ctx, sources)
	if err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), "draft-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft) //nolint:errcheck // The folder does not exist after the rename.
	for kind, crd := range crds {
		data, err := json.Marshal(slim(crd))
		if err != nil {
			return fmt.Errorf("cannot write the CRD of %s: %w", kind, err)
		}
		if err := os.WriteFile(filepath.Join(draft, FileName(kind)), data, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return err
	}
	if err := os.Rename(draft, dir); err != nil {
		if _, removed := os.Stat(dir); removed == nil { // Another process has created it, on a system without locks.
			return nil
		}
		return err
	}
	return nil
}

// collect reads the CRDs of all modules and of committed/. A kind that comes twice is an error.
func collect(ctx context.Context, sources fs.FS) (map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition, error) {
	table, err := fs.ReadFile(sources, "modules.txt")
	if err != nil {
		return nil, err
	}
	modules, err := parseModules(string(table))
	if err != nil {
		return nil, err
	}
	if err := download(ctx, modules); err != nil {
		return nil, err
	}

	crds := map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition{}
	for _, m := range modules {
		if err := addFrom(crds, os.DirFS(m.dir), m.globs); err != nil {
			return nil, fmt.Errorf("%s: %w", m, err)
		}
	}
	if err := addFrom(crds, sources, []string{"committed/*.yaml"}); err != nil {
		return nil, err
	}
	return crds, nil
}

func addFrom(crds map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition, files fs.FS, globs []string) error {
	for _, glob := range globs {
		paths, err := fs.Glob(files, glob)
		if err != nil {
			return fmt.Errorf("%q: %w", glob, err)
		}
		if len(paths) == 0 {
			return fmt.Errorf("no file matches %q", glob)
		}
		for _, path := range paths {
			data, err := fs.ReadFile(files, path)
			if err != nil {
				return err
			}
			found, err := Parse(data)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			for _, crd := range found {
				kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
				if crds[kind] != nil {
					return fmt.Errorf("%s: the CRD of %s comes from another source as well", path, kind)
				}
				crds[kind] = crd
			}
		}
	}
	return nil
}
