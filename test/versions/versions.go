// Package versions lists the programs of other projects that a cloud or its tests run: the version that is deployed, the versions that the
// suites run, and the reason for a difference. Each version is read from the place that decides it, so that the table cannot fall behind.
package versions

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Program is a row of the table.
type Program struct {
	// Name as the program's project writes it.
	Name string
	// Deployed is the version that a cloud or its platform runs; nil if only tests run the program. Tested are the
	// versions of the suites; none if no suite runs it.
	Deployed Source
	Tested   []Source
	// Supported is the range of versions that a platform may run. The zero value if the images and the claim decide the version.
	Supported Range
	// Packages are further Debian packages of the program, where it is installed from Debian.
	Packages []string
	// Reason why no tested version is the deployed one, why no suite runs it, or which component the program represents
	// if only tests run it. It is empty if a tested version is the deployed one.
	Reason string
}

// Source defines a version. The root of the project contains the files.
type Source interface {
	// Version returns the version without decoration, such as 11.8.5.
	Version(root fs.FS) (string, error)
	// String returns the source of the version.
	String() string
}

// Image is an image of package release, by its name there.
type Image string

// Version implements Source.
func (i Image) Version(fs.FS) (string, error) {
	reference, err := release.ImageFor(string(i), "", release.Override{})
	if err != nil {
		return "", err
	}
	tag := reference[strings.LastIndex(reference, ":")+1:]
	return strings.TrimSuffix(strings.TrimPrefix(tag, "v"), "-management"), nil
}

// String implements Source.
func (i Image) String() string { return "image " + string(i) }

// Debian is a package of a suite of Debian. DebianVersions records its version.
type Debian struct{ Suite, Package string }

// Version implements Source.
func (d Debian) Version(fs.FS) (string, error) {
	version, ok := DebianVersions[d]
	if !ok {
		return "", fmt.Errorf("the version of Debian package %s in %s is not recorded; add it to DebianVersions", d.Package, d.Suite)
	}
	return Upstream(version), nil
}

// String implements Source.
func (d Debian) String() string { return "Debian " + d.Suite }

// decoration matches Debian's additions to a version of a project: an epoch, notes on the sources, the revision.
var decoration = regexp.MustCompile(`^[0-9]+:|[+~](ds|dfsg)[0-9]*|-[^-]*$`)

// Upstream returns the upstream version of a Debian version: 11.8.9 of 1:11.8.9+ds-0+deb13u1.
func Upstream(version string) string { return decoration.ReplaceAllString(version, "") }

// Series returns the part of a version that a stable release of Debian keeps: its first two numbers.
func Series(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// Tool is a Go module that a tool of hack/tools requires. Module is the path without its major version.
type Tool struct{ Name, Module string }

// Version implements Source.
func (t Tool) Version(root fs.FS) (string, error) {
	return field(root, "hack/tools/"+t.Name+"/go.mod", t.Module)
}

// String implements Source.
func (t Tool) String() string { return "hack/tools/" + t.Name }

// Definitions is a Go module whose definitions composed objects are checked against: hack/crds/modules.txt. Module is
// the path without its major version. docs/install.md requires operators of this version.
type Definitions string

// Version implements Source.
func (d Definitions) Version(root fs.FS) (string, error) {
	return field(root, "hack/crds/modules.txt", string(d))
}

// String implements Source.
func (d Definitions) String() string { return "hack/crds/modules.txt" }

// Requirement is a Python distribution that images.yaml requires in one version.
type Requirement string

// Version implements Source. The error lists the versions if there are several.
func (r Requirement) Version(fs.FS) (string, error) {
	table, err := images.Table()
	if err != nil {
		return "", err
	}
	var versions []string
	for _, i := range table {
		for _, line := range i.Requires {
			if version, ok := strings.CutPrefix(line, string(r)+"=="); ok {
				versions = append(versions, version)
			}
		}
	}
	slices.Sort(versions)
	if versions = slices.Compact(versions); len(versions) != 1 {
		return "", fmt.Errorf("images/images.yaml requires versions %v of %s; require one", versions, r)
	}
	return versions[0], nil
}

// String implements Source.
func (r Requirement) String() string { return "images/images.yaml" }

// Pinned is a version in the sources: the first group of a regular expression in a file.
type Pinned struct{ File, Pattern string }

// Version implements Source.
func (p Pinned) Version(root fs.FS) (string, error) {
	data, err := fs.ReadFile(root, p.File)
	if err != nil {
		return "", err
	}
	form, err := regexp.Compile(p.Pattern)
	if err != nil {
		return "", err
	}
	found := form.FindSubmatch(data)
	if len(found) != 2 { // the whole and the group
		return "", fmt.Errorf("%s has no version of the form %s", p.File, p.Pattern)
	}
	return string(found[1]), nil
}

// String implements Source.
func (p Pinned) String() string { return p.File }

// Version implements Source.
func (l Library) Version(root fs.FS) (string, error) { return field(root, "go.mod", string(l)) }

// String implements Source.
func (l Library) String() string { return "go.mod" }

// Known is a version that is not defined by a file of the project, with its source.
type Known struct{ Number, From string }

// Version implements Source.
func (k Known) Version(fs.FS) (string, error) { return k.Number, nil }

// String implements Source.
func (k Known) String() string { return k.From }

// field returns the version after a module in a file of lines.
func field(root fs.FS, file, module string) (string, error) {
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^(?:require\s+|\s+)?` + regexp.QuoteMeta(module) + `(?:/v[0-9]+)?\s+v(\S+)`).FindSubmatch(data)
	if found == nil {
		return "", fmt.Errorf("%s does not have module %s", file, module)
	}
	return string(found[1]), nil
}

// Versions are the versions of a program in readable form.
type Versions struct {
	// Deployed is empty if only tests run the program.
	Deployed string
	Tested   []string
}

// Versions returns the versions of the program. The root of the project has the files.
func (p Program) Versions(root fs.FS) (Versions, error) {
	out := Versions{}
	var err error
	if p.Deployed != nil {
		if out.Deployed, err = p.Deployed.Version(root); err != nil {
			return out, fmt.Errorf("deployed version of %s: %w", p.Name, err)
		}
	}
	for _, s := range p.Tested {
		version, err := s.Version(root)
		if err != nil {
			return out, fmt.Errorf("tested version of %s: %w", p.Name, err)
		}
		out.Tested = append(out.Tested, version)
	}
	return out, nil
}

// Check reports a difference without a reason, a reason without a difference, and a version outside of the supported range.
func (p Program) Check(v Versions) error {
	if p.Supported != (Range{}) {
		for _, version := range append(slices.Clone(v.Tested), v.Deployed) {
			if version != "" && !p.Supported.Contains(version) {
				return fmt.Errorf("%s: version %s is not in the supported range %s; test a supported version, or change the range",
					p.Name, version, p.Supported)
			}
		}
	}
	same := v.Deployed != "" && slices.Contains(v.Tested, v.Deployed)
	switch {
	case !same && p.Reason == "":
		return fmt.Errorf("%s: deployed is %q, tested is %q, and the difference has no reason; test the deployed version, or give a reason",
			p.Name, v.Deployed, v.Tested)
	case same && p.Reason != "":
		return fmt.Errorf("%s: the deployed version %s is tested; remove the reason", p.Name, v.Deployed)
	}
	return nil
}
