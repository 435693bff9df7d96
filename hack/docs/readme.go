package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/versions"
)

// complete are the claims of a complete cloud, each after the claims that it refers to: the default of `make preview`.
var complete = []string{"complete/storage.yaml", "complete/control-plane.yaml", "complete/hypervisors.yaml"}

// completeCloud returns a table of the claims of a complete cloud, with their lines of YAML and the number of composed objects.
func completeCloud() (string, error) {
	var claims [][]byte
	for _, file := range complete {
		claim, err := examples.Files.ReadFile(file)
		if err != nil {
			return "", err
		}
		claims = append(claims, claim)
	}
	cloud, err := emit(claims...)
	if err != nil {
		return "", err
	}
	head, rule, yaml, composed := "| |", "|---|", "| Lines of YAML |", "| Composed objects |"
	lines, objects := 0, 0
	for i, r := range cloud.results {
		n := settings(claims[i])
		head, rule = head+fmt.Sprintf(" [%s](examples/%s) |", r.Kind, complete[i]), rule+"---|"
		yaml, composed = yaml+fmt.Sprintf(" %d |", n), composed+fmt.Sprintf(" %d |", len(r.Objects))
		lines, objects = lines+n, objects+len(r.Objects)
	}
	return fmt.Sprintf("%s Together |\n%s---|\n%s **%d** |\n%s **%d** |\n", head, rule, yaml, lines, composed, objects), nil
}

// settings returns the number of lines of a claim, without comments and empty lines.
func settings(claim []byte) int {
	n := 0
	for line := range bytes.Lines(claim) {
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
			n++
		}
	}
	return n
}

// supported returns a list of the supported releases of OpenStack, and of the versions of the platform and of the operators. Sources is
// the project.
func supported(sources fs.FS) (string, error) {
	var platform, operators []string
	for _, p := range versions.Supported() {
		v, err := p.Versions(sources)
		if err != nil {
			return "", err
		}
		if p.Supported.To == "" {
			platform = append(platform, fmt.Sprintf("%s %s (tested: %s)", p.Name, p.Supported, strings.Join(unique(v.Tested), ", ")))
		} else {
			operators = append(operators, fmt.Sprintf("%s %s", p.Name, p.Supported))
		}
	}
	return fmt.Sprintf("- **OpenStack:** %s\n- **Platform:** %s\n- **Operators:** %s\n",
		openStackReleases(), strings.Join(platform, ", "), strings.Join(operators, ", ")), nil
}

// notesPage is the page of release notes of the version of the code. Pages of earlier versions stay as they are.
const notesPage = "docs/release-notes/v" + release.Version + ".md"

// supportedTable lists the supported programs with their tested versions, for release notes.
func supportedTable(sources fs.FS) (string, error) {
	var rows strings.Builder
	rows.WriteString("| Program | Supported | Tested |\n|---|---|---|\n| OpenStack | " + openStackReleases() + " | all |\n")
	for _, p := range versions.Supported() {
		v, err := p.Versions(sources)
		if err != nil {
			return "", err
		}
		tested := strings.Join(unique(v.Tested), ", ")
		if tested == "" {
			tested = "–"
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", p.Name, p.Supported, tested)
	}
	return rows.String(), nil
}

// openStackReleases lists the supported releases of OpenStack.
func openStackReleases() string {
	var names []string
	for _, r := range release.Releases() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}
