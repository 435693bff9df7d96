package install

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/images"
)

// Packages returns the Debian packages that the suites install, by suite of Debian.
func Packages() (map[string][]string, error) {
	out := map[string][]string{}
	for _, p := range slices.Concat(programs, browser) {
		out[images.Debian] = append(out[images.Debian], p.pkg)
	}
	trees, err := allTrees()
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		out[t.suite] = append(out[t.suite], t.packages...)
	}
	for suite, all := range out {
		slices.Sort(all)
		out[suite] = slices.Compact(all)
	}
	return out, nil
}

// allTrees returns the trees of every suite.
func allTrees() ([]tree, error) {
	out := []tree{servers, ceph, proxies}
	for _, name := range imageTrees {
		t, err := ofImage(name)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Installed returns the versions of the Debian packages below a root: "/" is this machine.
func Installed(root string) (map[string]string, error) {
	f, err := os.Open(filepath.Join(root, "var/lib/dpkg/status"))
	if err != nil {
		return nil, fmt.Errorf("cannot read which packages are installed: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was read
	out, name := map[string]string{}, ""
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "Package":
			name = value
		case "Version":
			out[name] = value
		}
	}
	return out, lines.Err()
}

// checkMachine rejects a machine with another Debian than the images: services would run with other programs than
// deployed ones.
func checkMachine(release string) error {
	data, err := os.ReadFile(release)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	codename := ""
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			codename = strings.Trim(value, `"`)
		}
	}
	if codename != images.Debian {
		return fmt.Errorf("this machine is %q, and the services' images are built on Debian %s; run the suites there, as in a container",
			codename, images.Debian)
	}
	return nil
}
