//go:build linux

package node

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// PlatformServices are the services of a platform in addition to Kubernetes, Crossplane and this project, for some
// kinds of claims.
type PlatformServices struct {
	operators []operator
	// images are of other projects, releases the releases of OpenStack with images: of services, or of all that need no
	// hypervisor.
	images   []externalImage
	releases []release.Release
	services []string
	// folders are the folders of the node in which pods keep data, and which are private to its sandbox.
	folders []string
	// queues: RabbitMQ's operators get a CA.
	queues bool
}

// ControlPlanes is for claims of control planes.
var ControlPlanes = PlatformServices{
	operators: controlPlaneOperators, releases: releases, queues: true,
	images: servers,
}

// servers are the images of the databases, caches and queues of control planes.
var servers = []externalImage{
	{"library/memcached:1.6.39", "memcached"},
	{"library/mariadb:11.8.5", "mariadb"},             // the default of mariadb-operator
	{"library/rabbitmq:4.0.5-management", "rabbitmq"}, // the version of Debian, which Platform names: it needs a token of Kubernetes
}

// Hypervisors is for claims of hypervisors, and their servers.
var Hypervisors = PlatformServices{
	operators: controlPlaneOperators, queues: true, images: servers,
	releases: []release.Release{together},
	services: []string{
		"keystone", "placement", "glance", "nova", "neutron", release.OVN,
		release.NovaCompute, release.OVNAgent, release.Libvirt,
	},
	folders: []string{"/var/lib/cobaltcore"}, // data that outlives a restart of a node: disks, and the daemons' state
}

// Tempest is for claims that test a Keystone and a Glance.
var Tempest = PlatformServices{
	operators: controlPlaneOperators, queues: true, images: servers,
	releases: []release.Release{together}, services: []string{"keystone", "glance", "tempest"},
}

// kits are all.
var kits = []PlatformServices{ControlPlanes, Storage, Hypervisors, Tempest}

// Storage is for claims of Ceph clusters.
var Storage = PlatformServices{
	operators: []operator{certManager, externalSecrets, rook}, images: []externalImage{{cephImage, "ceph"}},
	folders: []string{"/var/lib/rook"}, // data of daemons outside of their devices
}

// Install installs the missing prerequisites of a platform of the kit, after Install of the node: programs, images and
// manifests, including those of Crossplane and of this project. It needs the network.
func (k PlatformServices) Install(ctx context.Context, root string, log io.Writer) error {
	r, err := newRenderer(root, log)
	if err != nil {
		return err
	}
	b := builder{root: root, log: log}
	// Programs are added to some of these images.
	if err := b.others(ctx, layout{filepath.Join(r.folder, "images")}, k.images); err != nil {
		return err
	}
	for _, o := range append(slices.Clone(k.operators), crossplane) {
		if err := r.install(ctx, o); err != nil {
			return fmt.Errorf("cannot bring %s: %w", o.name, err)
		}
	}
	if err := r.packages(ctx); err != nil {
		return err
	}
	return b.openstack(ctx, layout{filepath.Join(r.folder, "..", "images", "oci")}, k)
}
