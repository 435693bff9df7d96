package hypervisor

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
)

// TestLibvirt_Emulator verifies that QEMU runs as a separate user, which gets the certificates of QEMU and the devices that it opens, and
// cannot change files of libvirt. It must not get them while the configuration has root, as in a pod of an earlier version.
func TestLibvirt_Emulator(t *testing.T) {
	if emulatorUser == agentUser || emulatorUser == 0 {
		t.Errorf("other processes have QEMU's user %d", emulatorUser)
	}
	const user = "42427"
	own := fmt.Sprintf(qemuConf, agentUser, compute.LastConsolePort, emulatorUser)
	for name, tc := range map[string]struct {
		reason, conf string
		// devices exist on the node.
		devices []string
		// calls are the expected changes of groups. FRESH is the folder with the certificates.
		calls string
		want  map[string]fs.FileMode
	}{
		"own user": {
			"It reads the certificates by its group, and QEMU of an earlier version as their owner.", own, nil, "chgrp -R " + user + " FRESH\n",
			map[string]fs.FileMode{"run/pki/": 0o750, "run/pki/vnc": 0o750, "run/pki/ca-cert.pem": 0o640},
		},
		"devices": {
			"It opens them itself.", own, []string{"kvm", "userfaultfd"}, "chgrp " + user + " DIR/userfaultfd\nchgrp -R " + user + " FRESH\n",
			map[string]fs.FileMode{"kvm": 0o606, "userfaultfd": 0o660},
		},
		"root": {
			"The configuration is of an earlier version.", "user = \"root\"\ngroup = \"root\"\n", []string{"kvm", "userfaultfd"}, "",
			map[string]fs.FileMode{"run/pki/": 0o700, "kvm": 0o600, "userfaultfd": 0o600},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{"virt-admin": "", "libvirtd": "", "virsh": "", "chgrp": ""})
			nodeOf(t, dir)
			write(t, filepath.Join(dir, "libvirt/qemu.conf"), tc.conf)
			for _, device := range tc.devices {
				if err := os.WriteFile(filepath.Join(dir, device), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, folder := range []string{"tmp", "libvirt/secrets", "libvirt/qemu", "cache"} { // Volumes are writable for every user.
				if err := os.Chmod(filepath.Join(dir, folder), 0o777); err != nil { // as the kubelet does
					t.Fatal(err)
				}
			}
			env := []string{"PATH=" + dir + ":" + withoutPrograms(t, "swtpm"), "NODE_IP=10.0.0.1", "INTERFACE=", "URI=qemu:///system"}
			if out, err := script(t, dir, env, filepath.Join(dir, "libvirt.sh")); err != nil {
				t.Fatalf("%s\n%v: %s", tc.reason, err, out)
			}
			fresh, err := os.Readlink(filepath.Join(dir, "run/pki"))
			if err != nil {
				t.Fatal(err)
			}
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			if err != nil {
				t.Fatal(err)
			}
			var calls strings.Builder
			for line := range strings.Lines(string(called)) {
				if strings.HasPrefix(line, "chgrp") {
					calls.WriteString(strings.NewReplacer(dir+"/run/"+fresh, "FRESH", dir, "DIR").Replace(line))
				}
			}
			if diff := cmp.Diff(tc.calls, calls.String()); diff != "" {
				t.Errorf("%s groups (-want +got):\n%s", tc.reason, diff)
			}
			want := map[string]fs.FileMode{
				"tmp": 0o777 | fs.ModeSticky, "tmp/private": 0o700, "libvirt/secrets": 0o700, "libvirt/qemu": 0o700, "cache": 0o755,
			}
			maps.Copy(want, tc.want)
			for file, mode := range want {
				info, err := os.Stat(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				if got := info.Mode() &^ fs.ModeDir; got != mode {
					t.Errorf("%s %s has mode %v, want %v", tc.reason, file, got, mode)
				}
			}
			entries, err := os.ReadDir(filepath.Join(dir, "tmp"))
			if err != nil || len(entries) != 2 { // One existed before.
				t.Errorf("files that QEMU could replace: %v (%v)", entries, err)
			}
		})
	}
}

// TestLibvirt_EarlierPod verifies that probes of a pod of an earlier version use its files: the script of its volume is the current one.
func TestLibvirt_EarlierPod(t *testing.T) {
	dir := stubs(t, map[string]string{"virt-admin": "", "virsh": "", "chgrp": ""})
	nodeOf(t, dir)
	write(t, filepath.Join(dir, "tmp/certificates"), "of an earlier certificate\n")
	env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "URI=qemu:///system"}
	for _, want := range []string{"virt-admin --connect libvirtd:///system server-update-tls libvirtd\n", ""} {
		if err := os.RemoveAll(filepath.Join(dir, "called")); err != nil {
			t.Fatal(err)
		}
		if out, err := script(t, dir, env, filepath.Join(dir, "libvirt.sh"), "ready"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		called, err := os.ReadFile(filepath.Join(dir, "called"))
		if diff := cmp.Diff(want+"virsh --quiet --connect qemu:///system version\n", string(called)); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "tmp/private")); !os.IsNotExist(err) {
		t.Errorf("a probe creates the folder of the next version: %v", err)
	}
}
