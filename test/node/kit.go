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

// PlatformServices is what a platform has beside Kubernetes, Crossplane and everything of ours, for some kinds of claims.
type PlatformServices struct {
	operators []operator
	// images are taken from elsewhere, releases are those of OpenStack whose images there are: of services, or of all that need no hypervisor.
	images   []externalImage
	releases []release.Release
	services []string
	// folders are those of the node in which pods keep something, and which are the machine's own.
	folders []string
	// queues says that RabbitMQ's operators get an authority.
	queues bool
}

// ControlPlanes is for claims of control planes.
var ControlPlanes = PlatformServices{
	operators: controlPlaneOperators, releases: releases, queues: true,
	images: servers,
}

// servers are the images of what control planes keep things in.
var servers = []externalImage{
	{"library/memcached:1.6.39", "memcached"},
	{"library/mariadb:11.8.5", "mariadb"},             // that mariadb-operator asks for
	{"library/rabbitmq:4.1.3-management", "rabbitmq"}, // that RabbitMQ's cluster operator asks for
}

// Hypervisors is for claims of hypervisors, and of what virtual machines need besides.
var Hypervisors = PlatformServices{
	operators: controlPlaneOperators, queues: true, images: servers,
	releases: []release.Release{together},
	services: []string{
		"keystone", "placement", "glance", "nova", "neutron", release.OVN,
		release.NovaCompute, release.OVNAgent, release.Libvirt,
	},
	folders: []string{"/var/lib/cobaltcore"}, // what outlasts a restart of a node: disks, and what its daemons know
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
	folders: []string{"/var/lib/rook"}, // what daemons have beside their devices
}

// Install brings what a platform of the kit needs and is not there yet, after Install of the node: programs, images and manifests, of
// Crossplane and of ours, too. It needs the network.
func (k PlatformServices) Install(ctx context.Context, root string, log io.Writer) error {
	r, err := newRenderer(root, log)
	if err != nil {
		return err
	}
	b := builder{root: root, log: log}
	// Programs are put into some of these.
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
