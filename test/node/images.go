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

// externalImage is an image of another project that is rebuilt here from Debian's packages: its original name, and the
// folder in ./images.
type externalImage struct{ name, folder string }

// cephImage is the image of Debian's Ceph version, which is the oldest that Rook supports.
const cephImage = "quay.io/ceph/ceph:v18.2.7"

// releases are the OpenStack releases with images of Keystone on a node: tests upgrade from one to the next. Other
// services are tested in one release only, as each image takes minutes to build; test-openstack tests them in all.
var releases = []release.Release{"2025.1", together, "2026.1"}

const together release.Release = "2025.2"

// upgraded are the services that tests bring from one release to the next.
var upgraded = []string{"keystone"}

// openstack builds the missing OpenStack images of a kit.
func (b builder) openstack(ctx context.Context, l layout, k PlatformServices) error {
	table, err := images.Table()
	if err != nil {
		return err
	}
	for _, i := range table {
		for _, r := range k.releases {
			if !k.needs(i.Name) || i.Package != "" && r != together && !slices.Contains(upgraded, i.Name) {
				continue
			}
			reference, err := i.Reference(r)
			if err != nil {
				return err
			}
			if err := b.build(ctx, l, reference, "-release", string(r), i.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// others builds the missing images of other projects.
func (b builder) others(ctx context.Context, l layout, all []externalImage) error {
	for _, o := range all {
		dir := filepath.Join(b.root, "test", "node", "images", o.folder)
		name := withoutRegistry(o.name)
		if err := b.build(ctx, l, name, "-suite", "trixie", "-out", l.dir, "-name", name, dir); err != nil {
			return err
		}
	}
	return nil
}

// needs reports whether an image is one of the kit's.
func (k PlatformServices) needs(name string) bool {
	if k.services != nil {
		return slices.Contains(k.services, name)
	}
	_, ofHypervisors := release.ServiceOf(name)
	return !ofHypervisors && name != release.Libvirt
}

// builder calls hack/images.
type builder struct {
	root string
	log  io.Writer
}

// build builds an image, unless a layout has it. Its output is shown only when it fails.
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
		const limit = 4000
		return fmt.Errorf("cannot build the image %s: %w\n%s", name, err, out[max(len(out)-limit, 0):])
	}
	return nil
}
