package install

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// A tree is the root of another Debian, for programs that this machine's has in versions which nobody orders.
type tree struct {
	name     string
	packages []string
}

var (
	// brokers are RabbitMQ 4 and Valkey, which Debian 12 does not have.
	brokers = tree{"brokers", []string{"ca-certificates", "rabbitmq-server", "valkey-server", "valkey-tools"}}
	// network is OVN with the databases' server, in the versions that its image has.
	network = tree{"ovn", []string{
		"ca-certificates", "curl", "openvswitch-common", "openvswitch-switch", "ovn-central", "ovn-common", "ovn-host", "iproute2",
	}}
	// hypervisor is libvirt with QEMU, as its image has it.
	hypervisor = tree{"hypervisor", []string{
		"iproute2", "libvirt-clients", "libvirt-daemon", "libvirt-daemon-driver-qemu", "libvirt-daemon-driver-secret", "qemu-block-extra",
		"qemu-system-x86", "qemu-utils",
	}}
	// ceph has no dashboard and no modules but those that the manager does not start without.
	ceph = tree{"ceph", []string{"ca-certificates", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-common", "radosgw"}}
)

// The Debian that trees are made of.
const (
	suite  = "trixie"
	mirror = "http://deb.debian.org/debian"
)

// install returns the folder of a tree, which is made if it is not there.
func (t tree) install(ctx context.Context, log io.Writer) (string, error) {
	return once(t.name, append([]string{suite, mirror}, t.packages...), func(dir string) error {
		fmt.Fprintf(log, "installs Debian %s with %s into %s\n", suite, strings.Join(t.packages, ", "), dir)
		out, err := exec.CommandContext(ctx, "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase",
			`--aptopt=APT::Install-Recommends "false"`, "--include="+strings.Join(t.packages, ","), suite, dir, mirror).CombinedOutput()
		if err != nil {
			return fmt.Errorf("cannot make %s (mmdebstrap): %w\n%s", filepath.Base(dir), err, tail(out))
		}
		return nil
	})
}
