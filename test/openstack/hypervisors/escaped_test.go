//go:build openstack && linux

package hypervisors

import (
	"regexp"
	"strings"
	"testing"
)

// asEmulator runs a shell command in the container of libvirt with the rights of QEMU: its user, and no capabilities.
const asEmulator = "setpriv --reuid 42427 --regid 42427 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs sh -c "

// testEscaped checks the rights of QEMU's process, and attacks the node as a guest that has escaped from QEMU, so that it runs commands in
// the container of libvirt with these rights: it does not get control of libvirt.
func testEscaped(t *testing.T, m *Machines, g Guest) {
	const rights = `for p in /proc/[0-9]*; do case $(cat "$p/comm" 2>/dev/null) in qemu-system*)
grep -E "^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs|Seccomp):" "$p/status" | tr -s "[:space:]" " "; echo ;; esac; done`
	const want = "Uid: 42427 42427 42427 42427 Gid: 42427 42427 42427 42427 Groups: 42427 NoNewPrivs: 1 Seccomp: 2 CapPrm: 0 CapEff: 0"
	zeros, processes := regexp.MustCompile("0{16}"), 0
	for line := range strings.Lines(m.inLibvirt(t, g, rights)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		processes++
		have := map[string]bool{}
		for _, part := range partsOf(zeros.ReplaceAllString(line, "0")) {
			have[part] = true
		}
		for _, part := range partsOf(want) {
			if !have[part] && (!strings.HasPrefix(part, "Groups:") || !have["Groups:"]) {
				t.Errorf("QEMU does not have %q: %s", part, line)
			}
		}
	}
	if processes == 0 {
		t.Error("no QEMU runs")
	}
	// QEMU uses its own files below these paths. The disks of all servers on the node are among them, because all have the same user.
	const (
		own   = "/(tmp|dev|var/tmp|var/cache/libvirt/qemu|var/lib/libvirt/qemu|run/libvirt/qemu|var/lib/nova/instances/[^/]+)(/|$)"
		other = "^/tmp/private"
	)
	allowed, never := regexp.MustCompile("^"+own), regexp.MustCompile(other)
	for name, tc := range map[string]struct {
		reason, command string
		// allowed matches lines of the output that are no success. finds is one that an attack that works finds.
		allowed *regexp.Regexp
		finds   string
	}{
		"sockets": {
			"A client of libvirt, its administration or its logger controls all servers, and is root.",
			`find / -path /proc -prune -o -type s -writable -print`, allowed, "",
		},
		"files": {
			"Programs of root read them.", `find / \( -path /proc -o -path /sys \) -prune -o \( -type f -o -type d \) -writable -print`, allowed,
			"/var/lib/nova/instances/" + g.Server.ID + "/disk",
		},
		"keys": {
			"libvirt accepts its own certificate, and other nodes accept the certificate of disk transfer.",
			`grep -rlsI "PRIVATE KEY" /etc /run /tmp /var/lib /var/cache /var/run`, regexp.MustCompile(`^(/var)?/run/libvirt/pki(\.\w+)?/(vnc/)?\w+-key\.pem$`),
			"/client-key.pem",
		},
		"secrets": {"They are passphrases of disks, and other servers.", `ls -A /etc/libvirt/secrets /etc/libvirt/qemu /tmp/private`, nil, ""},
		"devices": {
			"Disks of the node are devices.", `find /dev \( -type b -o -type c \) \( -readable -o -writable \)`,
			regexp.MustCompile(`^/dev/(null|zero|full|u?random|tty|console|ptmx|net/tun|kvm|pts/(ptmx|[0-9]+))$`), "/dev/pts/ptmx",
		},
		"processes": {
			"Environments and memory of agents have passwords.",
			`for p in /proc/[0-9]*; do [ "$(stat -c %u "$p")" = 42427 ] || ! head -c 1 "$p/environ" >/dev/null || echo "$p"; done`, nil, "",
		},
		"libvirt": {
			"It is root.", `for s in libvirt-sock libvirt-sock-ro; do virsh --connect "qemu+unix:///system?socket=/run/libvirt/$s" version; done;
virt-admin --connect libvirtd:///system server-list; virt-admin --connect virtlogd:///system server-list; kill -9 $(cat /run/libvirt/libvirtd.pid) && echo killed`, nil, "",
		},
	} {
		command := asEmulator + "'" + strings.ReplaceAll("{ "+tc.command+"; } 2>/dev/null; true", "'", `'"'"'`) + "'"
		out := m.inLibvirt(t, g, command)
		if !strings.Contains(out, tc.finds) {
			t.Errorf("%s: the attack does not find %s:\n%s", name, tc.finds, out)
		}
		for line := range strings.Lines(out) {
			line = strings.TrimSpace(line)
			if line != "" && (tc.allowed == nil || !tc.allowed.MatchString(line) || never.MatchString(line) && line != "/tmp/private") {
				t.Errorf("%s: %s. %s", name, line, tc.reason)
			}
		}
	}
	node := m.Place(t, g).Host
	libvirt, emulator := m.peerOf(t, node, "libvirt", "/etc/node-certificate"), m.peerOf(t, node, "libvirt", "/etc/node-certificate/qemu")
	const port = "16514"
	if err := libvirt.accepted(libvirt, port, ""); err != nil {
		t.Errorf("libvirt does not accept a node of its pool: %v", err)
	}
	if err := libvirt.accepted(emulator, port, ""); err == nil {
		t.Error("libvirt accepts the certificate of QEMU")
	}
}

// partsOf splits "Name: a b Other: c" into "Name: a b" and "Other: c".
func partsOf(line string) []string {
	var out []string
	for word := range strings.FieldsSeq(line) {
		if strings.HasSuffix(word, ":") || len(out) == 0 {
			out = append(out, word)
			continue
		}
		out[len(out)-1] += " " + word
	}
	return out
}
