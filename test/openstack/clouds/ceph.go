//go:build linux

package clouds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// StartCeph runs a Ceph with pools and clients, in a separate cluster, until it is stopped. Its data is in a folder
// that has to be on a disk: an OSD bypasses the page cache.
func StartCeph(
	ctx context.Context, p *install.Programs, disk string, pools []string, clients map[string]operators.Caps, progress io.Writer,
) (ceph *operators.Ceph, stop func(), err error) {
	if p.Ceph == "" {
		return nil, nil, errors.New("there is no Ceph: it was not installed")
	}
	if err := errors.Join(os.MkdirAll(disk, 0o755), os.Chmod(disk, 0o755)); err != nil {
		return nil, nil, err
	}
	c, err := cluster.New(disk, func(string) (cluster.Image, error) { return cluster.Image{Root: p.Ceph}, nil }, progress)
	if err != nil {
		return nil, nil, err
	}
	alive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop = func() {
		cancel()
		c.Stop()
	}
	public, err := pki.New("public")
	if err == nil {
		ceph, err = operators.New(alive, c, public, p.MariaDBOperator).Ceph(alive, "rook-ceph", pools, clients)
	}
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("cannot run Ceph: %w", err)
	}
	return ceph, stop, nil
}
