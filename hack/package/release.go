package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// release is everything of one version.
type release struct {
	artifacts []artifact
	// files by their path below the folder that is written.
	files map[string][]byte
}

// artifact is the object with one name in a registry: an index of several architectures, or one image.
type artifact struct {
	repository, tag string
	index           v1.ImageIndex
	image           v1.Image
	// bills are the names of its bills of materials in the files of the release: one for each architecture of an index.
	bills []string
}

// addBill adds a bill of materials to the files, and returns its name.
func (r release) addBill(name string, data []byte) string {
	name += ".cdx.json"
	r.files[name] = data
	return name
}

// appendable returns the index or the image of an artifact.
func (a artifact) appendable() mutate.Appendable {
	if a.index != nil {
		return a.index
	}
	return a.image
}

// digests is a line for each artifact: its digest, its repository and its tag.
func (r release) digests() (string, error) {
	var lines strings.Builder
	for _, a := range r.artifacts {
		digest, err := a.appendable().Digest()
		if err != nil {
			return "", fmt.Errorf("cannot compute the digest of %s: %w", a.repository, err)
		}
		fmt.Fprintf(&lines, "%s  %s:%s\n", digest, a.repository, a.tag)
	}
	return lines.String(), nil
}

// write replaces a folder by a release.
func write(folder string, r release) error {
	digests, err := r.digests()
	if err != nil {
		return err
	}
	// Only the output of an earlier run is removed, so that another folder is not deleted by mistake.
	if _, err := os.Stat(filepath.Join(folder, "digests.txt")); err == nil {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	r.files["digests.txt"] = []byte(digests)
	for name, data := range r.files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	path, err := layout.Write(filepath.Join(folder, "oci"), mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	for _, a := range r.artifacts {
		ref := a.repository + ":" + a.tag
		named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": ref})
		if a.index != nil {
			err = path.ReplaceIndex(a.index, match.Name(ref), named)
		} else {
			err = path.ReplaceImage(a.image, match.Name(ref), named)
		}
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", ref, err)
		}
	}
	return nil
}

// push writes every artifact to a registry with a path. Existing blobs are not sent again.
func (r release) push(registry string, options ...remote.Option) error {
	for _, a := range r.artifacts {
		ref, err := name.NewTag(registry+"/"+a.repository+":"+a.tag, name.StrictValidation)
		if err != nil {
			return fmt.Errorf("cannot push to %q: %w", registry, err)
		}
		if a.index != nil {
			err = remote.WriteIndex(ref, a.index, options...)
		} else {
			err = remote.Write(ref, a.image, options...)
		}
		if err != nil {
			return fmt.Errorf("cannot push %s: %w", ref, err)
		}
	}
	return nil
}
