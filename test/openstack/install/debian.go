package install

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// program is a required file (or a pattern), and its Debian package.
type program struct{ path, pkg string }

// programs are the programs that every cloud needs.
var programs = []program{
	// The client of tests and fakes; servers are in trees.
	{"/usr/bin/mariadb", "mariadb-client-core"},
	{"/usr/sbin/slapd", "slapd"},
	{"/usr/sbin/slapadd", "slapd"},
	{"/usr/bin/ldapadd", "ldap-utils"},
	{"/usr/sbin/ip", "iproute2"},
	{"/usr/bin/curl", "curl"},
	{"/usr/bin/mmdebstrap", "mmdebstrap"},
	// Glance's client of Ceph.
	{"/usr/lib/python3/dist-packages/rados.cpython-*.so", "python3-rados"},
	{"/usr/lib/python3/dist-packages/rbd.cpython-*.so", "python3-rbd"},
	{"/usr/bin/qemu-img", "qemu-utils"},
	// Further programs of the RBD drivers of Cinder and Nova.
	{"/usr/bin/ceph", "ceph-common"},
	{"/usr/bin/rbd", "ceph-common"},
	{"/usr/lib/*/qemu/block-rbd.so", "qemu-block-extra"},
	// Neutron's query of OVN's databases before its workers start.
	{"/usr/bin/ovsdb-client", "openvswitch-common"},
	{"/usr/lib/python3/dist-packages/unbound.py", "python3-unbound"},
	// Pages of Nova's console proxies for browsers.
	{"/usr/share/novnc/vnc_lite.html", "novnc"},
	{"/usr/share/spice-html5/spice_auto.html", "spice-html5"},
	// Further programs of hypervisors: an haproxy for each network, the builder of servers' config drives, and the
	// build dependencies of libvirt's binding.
	{"/usr/sbin/haproxy", "haproxy"},
	{"/usr/sbin/iptables", "iptables"},
	{"/usr/bin/genisoimage", "genisoimage"},
	// Programs of routers and networks without OVN.
	{"/usr/bin/ovs-vsctl", "openvswitch-switch"},
	{"/usr/sbin/dnsmasq", "dnsmasq-base"},
	{"/usr/bin/dhcp_release", "dnsmasq-utils"},
	{"/usr/sbin/keepalived", "keepalived"},
	{"/usr/bin/arping", "iputils-arping"},
	{"/usr/sbin/conntrack", "conntrack"},
	{"/usr/sbin/mkfs.fat", "dosfstools"},
	{"/usr/share/qemu/firmware/60-edk2-x86_64.json", "ovmf"},
	{"/usr/bin/ps", "procps"},
	{"/usr/sbin/ethtool", "ethtool"},
	{"/usr/include/libvirt/libvirt.h", "libvirt-dev"},
	// Build dependencies of Keystone's dependencies.
	{"/usr/bin/gcc", "gcc"},
	{"/usr/bin/pkg-config", "pkg-config"},
	{"/usr/include/ldap.h", "libldap2-dev"},
	{"/usr/include/sasl/sasl.h", "libsasl2-dev"},
	{"/usr/include/openssl/ssl.h", "libssl-dev"},
	{python, "python3"},
}

// browser is a browser and its driver.
var browser = []program{{"/usr/bin/chromium", "chromium"}, {"/usr/bin/chromedriver", "chromium-driver"}}

// Debian installs the missing packages of every cloud, and of more. None of their services is started.
//
// The error lists the missing packages if they cannot be installed.
func Debian(ctx context.Context, log io.Writer, more ...program) error {
	var missing []string
	for _, p := range slices.Concat(programs, more) {
		if slices.Contains(missing, p.pkg) {
			continue
		}
		if found, err := filepath.Glob(p.path); err != nil || len(found) == 0 {
			missing = append(missing, p.pkg)
		}
	}
	if exec.CommandContext(ctx, python, "-c", "import ensurepip, sysconfig; open(sysconfig.get_path('include') + '/Python.h')").Run() != nil {
		missing = append(missing, "python3-venv", "python3-dev")
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("missing Debian packages %s: install them, or run as root where there is apt-get",
			strings.Join(missing, ", "))
	}
	fmt.Fprintln(log, "installs Debian packages", strings.Join(missing, ", "))
	release, err := quiet()
	if err != nil {
		return err
	}
	defer release()
	for _, args := range [][]string{
		{"update", "-qq"},
		append([]string{"install", "-yqq", "--no-install-recommends"}, missing...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install the Debian packages %s (apt-get %s): %w\n%s",
				strings.Join(missing, ", "), args[0], err, tail(out))
		}
	}
	return nil
}

// quiet prevents packages from starting their services (https://manpages.debian.org/invoke-rc.d), until release is
// called.
func quiet() (release func(), err error) {
	const policy = "/usr/sbin/policy-rc.d"
	if _, err := os.Stat(policy); err == nil {
		return func() {}, nil
	}
	if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(policy) }, nil
}

// tail returns the end of an output.
func tail(out []byte) string {
	const limit = 2000
	return string(out[max(len(out)-limit, 0):])
}
