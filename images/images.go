// Package images is the table of the container images that OpenStack runs from, and what is patched in them. The files beside it say
// how an image is built; command hack/images builds them.
package images

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// files are the table, the recipes and what is patched.
//
//go:embed *
var files embed.FS

// recipe is the Containerfile of every service.
const recipe = "Containerfile"

// Image is a row of the table; images.yaml explains each field.
type Image struct {
	Name      string                  `json:"name"`
	Package   string                  `json:"package,omitempty"`
	Requires  []string                `json:"requires,omitempty"`
	Plugins   []Plugin                `json:"plugins,omitempty"`
	Compile   []string                `json:"compile,omitempty"`
	Runtime   []string                `json:"runtime,omitempty"`
	Modules   []string                `json:"modules,omitempty"`
	Pages     []string                `json:"pages,omitempty"`
	Suite     string                  `json:"suite,omitempty"`
	Revisions map[release.Release]int `json:"revisions,omitempty"`
}

// Plugin is a distribution that is released together with OpenStack, and that upper constraints leave out, as they do services.
type Plugin struct {
	Package string `json:"package"`
	// Versions by release.
	Versions map[release.Release]string `json:"versions"`
}

// Debian is the suite that images are built on whose row names none.
const Debian = "bookworm"

// Base returns the Debian suite that the image is built on.
func (i Image) Base() string { return cmp.Or(i.Suite, Debian) }

// Table are all images.
func Table() ([]Image, error) {
	data, err := files.ReadFile("images.yaml")
	if err != nil {
		return nil, err
	}
	var out []Image
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		return nil, fmt.Errorf("cannot read images.yaml: %w", err)
	}
	return out, nil
}

// Find returns the image of a name. The error lists those that exist.
func Find(name string) (Image, error) {
	all, err := Table()
	if err != nil {
		return Image{}, err
	}
	names := make([]string, 0, len(all))
	for _, i := range all {
		if i.Name == name {
			return i, nil
		}
		names = append(names, i.Name)
	}
	return Image{}, fmt.Errorf("there is no image %q: choose one of %s", name, strings.Join(names, ", "))
}

// Containerfile is the text of the recipe.
func (i Image) Containerfile() (string, error) {
	if i.Package != "" {
		return read(recipe)
	}
	return read(path.Join(i.Name, recipe))
}

// Reference is the full name of the image of a release: that of internal/openstack/release, and the revision of what is patched.
func (i Image) Reference(r release.Release) (string, error) {
	reference, err := release.ImageFor(i.Name, r, release.Override{})
	if err != nil {
		return "", err
	}
	if n := i.Revisions[r]; n > 0 {
		reference += fmt.Sprintf("-p%d", n)
	}
	return reference, nil
}

// Requirements returns the lines of a requirements file: the service in the version of a release, or its sources in a folder, and what it
// needs besides. The error names a plug-in that has no version in the release.
func (i Image) Requirements(r release.Release, version, sources string) ([]string, error) {
	service := i.Package + "==" + version
	if sources != "" {
		service = i.Package + " @ file://" + sources
	}
	out := append([]string{service}, i.Requires...)
	for _, p := range i.Plugins {
		if p.Versions[r] == "" {
			return nil, fmt.Errorf("images.yaml: %s: %s has no version in %s; add the one of that release", i.Name, p.Package, r)
		}
		out = append(out, p.Package+"=="+p.Versions[r])
	}
	return out, nil
}

// Patch is a change to a Python distribution.
type Patch struct {
	// Of is the distribution, Name the file's.
	Of, Name string
	// Text is the patch, as git format-patch writes one.
	Text []byte
}

// Patches are those of a release, in the order in which they are applied: first the service's, ./<name>/patches/<release>/*.patch, then the
// libraries', ./<name>/libraries/<release>/<library>/*.patch, each by its name.
func (i Image) Patches(r release.Release) ([]Patch, error) {
	var out []Patch
	for _, glob := range []string{
		path.Join(i.Name, "patches", string(r), "*.patch"),
		path.Join(i.Name, "libraries", string(r), "*", "*.patch"),
	} {
		paths, err := fs.Glob(files, glob)
		if err != nil {
			return nil, err
		}
		slices.Sort(paths)
		for _, p := range paths {
			text, err := files.ReadFile(p)
			if err != nil {
				return nil, err
			}
			patch := Patch{Of: i.Package, Name: path.Base(p), Text: text}
			if library := path.Base(path.Dir(p)); library != string(r) {
				patch.Of = library
			}
			out = append(out, patch)
		}
	}
	return out, nil
}

// Overrides are the lines of ./<name>/constraints/<release>.txt, which take the place of the release's.
func (i Image) Overrides(r release.Release) ([]string, error) {
	name := path.Join(i.Name, "constraints", string(r)+".txt")
	if _, err := fs.Stat(files, name); err != nil {
		return nil, nil //nolint:nilerr // most services have none
	}
	text, err := read(name)
	return lines(text), err
}

// Constrain returns upper constraints with overrides in the place of the lines of the same distributions. The error names an override of
// nothing, which is most likely misspelt.
func Constrain(constraints string, overrides []string) (string, error) {
	all := lines(constraints)
	for _, o := range overrides {
		of := distribution(o)
		at := slices.IndexFunc(all, func(line string) bool { return distribution(line) == of })
		if at < 0 {
			return "", fmt.Errorf("the override %q is of a distribution that the release does not constrain", o)
		}
		rest := slices.DeleteFunc(all[at+1:], func(line string) bool { return distribution(line) == of })
		all = append(append(all[:at], o), rest...)
	}
	return strings.Join(all, "\n") + "\n", nil
}

var separators = regexp.MustCompile(`[-_.]+`)

// distribution is the name in a constraint, as the package index compares names:
// https://packaging.python.org/en/latest/specifications/name-normalization/.
func distribution(constraint string) string {
	name := constraint
	if end := strings.IndexAny(name, "=<>!~; [@"); end >= 0 {
		name = name[:end]
	}
	return strings.ToLower(separators.ReplaceAllString(name, "-"))
}

// lines are those of a text that say something.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func read(name string) (string, error) {
	data, err := files.ReadFile(name)
	return string(data), err
}
