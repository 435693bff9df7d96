//go:build linux

package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// others are images that a platform takes from elsewhere, and that are made of Debian's packages here: the name that is asked for, and
// the folder in ./images.
var others = []struct{ name, folder string }{
	{"library/memcached:1.6.39", "memcached"},
	{"library/mariadb:11.8.5", "mariadb"},             // that mariadb-operator asks for
	{"library/rabbitmq:4.1.3-management", "rabbitmq"}, // that RabbitMQ's cluster operator asks for
}

// Releases are those of OpenStack that a node has images of Keystone of: tests go from one to the next. Other services are tried in one
// release alone, as each image takes minutes to build; test-openstack tries them in all.
var Releases = []release.Release{"2025.1", together, "2026.1"}

const together release.Release = "2025.2"

// upgraded are the services that tests bring from one release to the next.
var upgraded = []string{"keystone"}

// InstallImages builds the images that a control plane runs from and that are not there yet: OpenStack's of some releases, and those that a
// platform takes from elsewhere. Like Install, it needs the network.
func InstallImages(ctx context.Context, root string, log io.Writer, releases ...release.Release) error {
	folder, err := Folder()
	if err != nil {
		return err
	}
	b := builder{root: root, log: log}
	table, err := images.Table()
	if err != nil {
		return err
	}
	openstack := layout{filepath.Join(folder, "..", "images", "oci")}
	for _, i := range table {
		for _, r := range releases {
			if ofHypervisors(i.Name) || i.Package != "" && r != together && !slices.Contains(upgraded, i.Name) {
				continue
			}
			reference, err := i.Reference(r)
			if err != nil {
				return err
			}
			if err := b.build(ctx, openstack, reference, "-release", string(r), i.Name); err != nil {
				return err
			}
		}
	}
	local := layout{filepath.Join(folder, "images")}
	for _, o := range others {
		dir := filepath.Join(root, "test", "node", "images", o.folder)
		if err := b.build(ctx, local, o.name, "-suite", "trixie", "-out", local.dir, "-name", o.name, dir); err != nil {
			return err
		}
	}
	return nil
}

// ofHypervisors are images that nothing here runs: hypervisors are faked.
func ofHypervisors(name string) bool {
	_, part := release.PartOf(name)
	return part || name == release.Libvirt
}

// builder calls hack/images.
type builder struct {
	root string
	log  io.Writer
}

// build builds an image, unless a layout has it. What it says is shown only when it fails.
func (b builder) build(ctx context.Context, l layout, name string, args ...string) error {
	all, err := l.images()
	if err != nil {
		return err
	}
	for have := range all {
		if withoutRegistry(have) == withoutRegistry(name) {
			return nil
		}
	}
	fmt.Fprintln(b.log, "builds the image", name, "(once)")
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./hack/images"}, args...)...)
	cmd.Dir, cmd.Env = b.root, os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		const enough = 4000
		return fmt.Errorf("cannot build the image %s: %w\n%s", name, err, out[max(len(out)-enough, 0):])
	}
	return nil
}
