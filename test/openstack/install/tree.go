package install

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// tree is the root of a separate Debian, for programs in other versions than this machine's.
type tree struct {
	name, suite string
	packages    []string
}

// newer is the Debian of servers whose images come from other projects: it has the deployed versions of more of them
// than the Debian of this project's images. test/versions lists the differences.
const newer = "trixie"

// trees without an image of this project.
var (
	// servers hold the data of a control plane.
	servers = tree{"servers", newer, []string{
		"ca-certificates", "rabbitmq-server", "valkey-server", "valkey-tools", "mariadb-server-core", "mariadb-client-core", "mariadb-backup",
		"memcached",
	}}
	// ceph has no dashboard and only the modules that the manager requires to start.
	ceph = tree{"ceph", newer, []string{"ca-certificates", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-common", "radosgw"}}
	// proxies are the programs of Ingress controllers.
	proxies = tree{"proxies", newer, []string{"ca-certificates", "nginx", "haproxy"}}
)

// ofImage returns the tree with the packages of one of this project's images, of the Debian on which the image is
// based.
func ofImage(name string) (tree, error) {
	i, err := images.Find(name)
	if err != nil {
		return tree{}, err
	}
	return tree{name, i.Base(), append([]string{"ca-certificates"}, i.Runtime...)}, nil
}

// imageTrees are the images with a tree. The services' images use the packages of this machine.
var imageTrees = []string{release.OVN, release.Libvirt, release.FederationProxy}

// mirror of Debian, which serves the security updates as well.
const mirror = "http://deb.debian.org"

// sources returns the sources of a suite as in Debian's images: updates replace packages of the suite.
func sources(suite string) []string {
	return []string{
		fmt.Sprintf("deb %s/debian %s main", mirror, suite),
		fmt.Sprintf("deb %s/debian %s-updates main", mirror, suite),
		fmt.Sprintf("deb %s/debian-security %s-security main", mirror, suite),
	}
}

// install returns the folder of a tree, which is created if it is missing.
func (t tree) install(ctx context.Context, log io.Writer) (string, error) {
	from := sources(t.suite)
	return once(t.name, append(append([]string{t.suite}, from...), t.packages...), func(dir string) error {
		fmt.Fprintf(log, "installs Debian %s with %s into %s\n", t.suite, strings.Join(t.packages, ", "), dir)
		args := append([]string{
			"--quiet", "--mode=root", "--variant=minbase", `--aptopt=APT::Install-Recommends "false"`,
			"--include=" + strings.Join(t.packages, ","), t.suite, dir,
		}, from...)
		out, err := exec.CommandContext(ctx, "mmdebstrap", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("cannot make %s (mmdebstrap): %w\n%s", filepath.Base(dir), err, tail(out))
		}
		return nil
	})
}
