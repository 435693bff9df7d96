package hypervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestScripts verifies that a shell parses each script.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) != 13 {
		t.Fatalf("%v, %v", scripts, err)
	}
	for _, script := range scripts {
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
}

// stubs writes programs into a folder, each from shell commands. Their arguments are recorded in the file "called" there.
func stubs(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, commands := range programs {
		text := "#!/bin/sh\necho \"" + name + " $*\" >>\"" + dir + "/called\"\n" + commands + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// script runs one of our scripts with stubs and variables. It returns its output.
func script(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", args...)
	cmd.Env = append([]string{"PATH=" + dir + ":" + os.Getenv("PATH")}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestConfiguresSwitchOfNode verifies that the node's switch is configured with its name, the address of the selected interface and its
// bridges, and that outdated settings are removed.
func TestConfiguresSwitchOfNode(t *testing.T) {
	const connect = "ovs-vsctl --timeout=10 --no-wait show\n"
	const end = "ovn-controller unix:/run/openvswitch/db.sock --unixctl=/run/ovn/ovn-controller.ctl --pidfile=/run/ovn/ovn-controller.pid " +
		"--private-key=/tls/tls.key --certificate=/tls/tls.crt --ca-cert=/tls/ca.crt -vconsole:info -vsyslog:off\n"
	set := func(keep, encapsulation, ip, datapath string) string {
		return fmt.Sprintf(`ovs-vsctl --timeout=10 -- set open . external-ids:ovn-ofctrl-wait-before-clear=%s `+
			`external-ids:system-id=node-1 external-ids:hostname=node-1 `+
			`external-ids:ovn-remote="ssl:a:6642,ssl:b:6642" external-ids:ovn-remote-probe-interval=120000 external-ids:ovn-encap-type=%s `+
			`external-ids:ovn-encap-ip="%s" external-ids:ovn-bridge=br-int external-ids:ovn-bridge-datapath-type=%s`+"\n", keep, encapsulation, ip, datapath)
	}
	const look = "ovs-ofctl --timeout=5 dump-aggregate br-int\n"
	bridge := func(name, datapath, more string) string {
		return fmt.Sprintf("ovs-vsctl --timeout=10 -- --may-exist add-br %s -- set bridge %[1]s datapath_type=%s%s\n", name, datapath, more)
	}
	for name, tc := range map[string]struct {
		reason string
		flows  string
		env    []string
		want   string
	}{
		"Least": {
			"The node's address, no external network, and a switch that has just started.", "0",
			[]string{"ENCAPSULATION=geneve", "INTERFACE=", "DATAPATH=netdev", "MAPPINGS=", "BRIDGES=", "OPTIONS="},
			connect + bridge("br-int", "netdev", " fail-mode=secure") + look + set("0", "geneve", "10.0.0.1", "netdev") +
				"ovs-vsctl --timeout=10 remove open . external-ids ovn-bridge-mappings\n" +
				"ovs-vsctl --timeout=10 remove open . external-ids ovn-cms-options\n" + end,
		},
		"Gateway": {
			"A separate address for tunnels, and bridges, one of which is not changed. Flows exist.", "105",
			[]string{
				"ENCAPSULATION=vxlan", "INTERFACE=bond0", "DATAPATH=system", "MAPPINGS=external:br-ex,storage:br-s", "BRIDGES=br-ex=bond1 br-s=",
				"OPTIONS=enable-chassis-as-gw",
			},
			"ip -o addr show dev bond0 scope global\n" + connect + bridge("br-int", "system", " fail-mode=secure") + bridge("br-ex", "system", "") +
				"ovs-vsctl --timeout=10 -- --may-exist add-port br-ex bond1\n" + bridge("br-s", "system", "") + look + set("8000", "vxlan", "10.7.0.9", "system") +
				"ovs-vsctl --timeout=10 set open . external-ids:ovn-bridge-mappings=\"external:br-ex,storage:br-s\"\n" +
				"ovs-vsctl --timeout=10 set open . external-ids:ovn-cms-options=\"enable-chassis-as-gw\"\n" + end,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{
				"ovs-vsctl": "", "ovn-controller": "", "ovn-appctl": "",
				"ovs-ofctl": "echo 'NXST_AGGREGATE reply (xid=0x4): packet_count=7 byte_count=512 flow_count=" + tc.flows + "'",
				"ip":        "echo '7: bond0    inet 10.7.0.9/24 brd 10.7.0.255 scope global bond0'; echo '7: bond0    inet6 fd00::9/64 scope global'",
			})
			tls := t.TempDir()
			env := append([]string{"NODE_NAME=node-1", "NODE_IP=10.0.0.1", "SOUTHBOUND=ssl:a:6642,ssl:b:6642", "PROBE_MILLISECONDS=120000", "TLS=" + tls}, tc.env...)
			// The certificate comes later, from another container.
			written := time.AfterFunc(100*time.Millisecond, func() {
				if err := os.WriteFile(filepath.Join(tls, "tls.crt"), []byte("certificate"), 0o600); err != nil {
					t.Error(err)
				}
			})
			defer written.Stop()
			if out, err := script(t, dir, env, "ovn-controller.sh"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got, err := os.ReadFile(filepath.Join(dir, "called"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, strings.ReplaceAll(string(got), tls, "/tls")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	env := []string{"NODE_NAME=n", "NODE_IP=10.0.0.1", "SOUTHBOUND=s", "TLS=/tls", "ENCAPSULATION=geneve", "INTERFACE=bond0"}
	if out, err := script(t, stubs(t, map[string]string{"ip": "exit 1"}), env, "ovn-controller.sh"); err == nil ||
		!strings.Contains(out, "the node has no address on bond0") {
		t.Errorf("an interface that is not there: %v, %s", err, out)
	}
}

// TestLogins verifies that nova-compute starts with the current logins.
func TestLogins(t *testing.T) {
	dir := stubs(t, map[string]string{"nova-compute": "env | grep -E '^OS_(DEFAULT|PLACEMENT)__' | sort"})
	login(t, dir)
	env := []string{
		"QUEUE_HOST=rabbitmq.cloud.svc", "QUEUE_PORT=5671", "QUEUE_VHOST=nova_cell1", "QUEUE_CA=/ca.crt", "INSTANCES=" + dir + "/instances",
		"LOGINS=" + dir, "STARTED=" + dir + "/started", "TAKEN=" + dir + "/taken", "AGENT=" + dir + "/agent", "HUGE_PAGES=", "CELLS=/none", "RESERVED=" + dir + "/reserved", "RESERVE_DISK=",
		"NODE_IP=10.0.0.1", "INTERFACE=", "DOMAIN=", "LIVE_MIGRATION=", "PROGRAMS=" + dir + "/programs",
	}
	out, err := script(t, dir, env, "nova-compute.sh")
	want := "OS_DEFAULT__TRANSPORT_URL=rabbit://nova-cell1-x7:abc@rabbitmq.cloud.svc:5671/nova_cell1?ssl=true&ssl_ca_file=/ca.crt\n" +
		"OS_PLACEMENT__APPLICATION_CREDENTIAL_ID=id\nOS_PLACEMENT__APPLICATION_CREDENTIAL_SECRET=def\n"
	if err != nil || out != want {
		t.Errorf("%v\n got %s\nwant %s", err, out, want)
	}
	balancer := append([]string{"QUEUE_HOST=fd00::5"}, env[1:]...)
	if out, err := script(t, dir, balancer, "nova-compute.sh"); err != nil || !strings.Contains(out, "@[fd00::5]:5671/") {
		t.Errorf("an IPv6 address of a load balancer: %v, %s", err, out)
	}
	if out, err := script(t, dir, env, "nova-compute.sh", "alive"); err != nil {
		t.Errorf("it is restarted for nothing: %v: %s", err, out)
	}
}

// TestReadinessRequiresLoginsOfTemplate verifies that a pod becomes ready when its process has started with the logins of its template, and
// stays ready with later ones, so that a completed rollout proves that they are in use.
func TestReadinessRequiresLoginsOfTemplate(t *testing.T) {
	for name, tc := range map[string]struct {
		reason            string
		queue, credential string
		// again starts the process again with other logins.
		renewed bool
		ready   bool
	}{
		"Has":        {reason: "Both are here.", queue: "nova-cell1-x7", credential: "id", ready: true},
		"Any":        {reason: "The required logins are not known yet.", ready: true},
		"Queue":      {reason: "The queue's is still to come.", queue: "nova-cell1-x8", credential: "id"},
		"Credential": {reason: "Keystone's is still to come.", queue: "nova-cell1-x7", credential: "id2"},
		"Come":       {reason: "It has come by now.", queue: "nova-cell1-x8", credential: "id", renewed: true, ready: true},
		"Later":      {reason: "The next login is mounted before the pod is replaced.", queue: "nova-cell1-x7", credential: "id", renewed: true, ready: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := withConnection(t, map[string]string{"nova-compute": ""}, toQueue, ownSocket)
			login(t, dir)
			env := []string{
				"QUEUE_HOST=q", "QUEUE_PORT=5671", "QUEUE_VHOST=v", "QUEUE_CA=/ca.crt", "INSTANCES=" + dir + "/instances", "LOGINS=" + dir,
				"STARTED=" + dir + "/started", "TAKEN=" + dir + "/taken", "AGENT=" + dir + "/agent", "QUEUE_USER=" + tc.queue, "CREDENTIAL=" + tc.credential,
				"NODE_IP=10.0.0.1", "INTERFACE=", "DOMAIN=", "LIVE_MIGRATION=", "PROGRAMS=" + dir + "/programs", "HUGE_PAGES=", "CELLS=/none", "RESERVED=" + dir + "/reserved", "RESERVE_DISK=",
			}
			start := func() {
				if out, err := script(t, dir, env, "nova-compute.sh"); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			start()
			if tc.renewed {
				write(t, filepath.Join(dir, "queue/username"), "nova-cell1-x8")
				start()
			}
			if out, err := script(t, dir, env, "nova-compute.sh", "ready"); (err == nil) != tc.ready {
				t.Errorf("%s\nit is ready: %v: %s", tc.reason, err, out)
			}
		})
	}
}

// login writes the logins of nova-compute into a folder.
func login(t *testing.T, dir string) {
	t.Helper()
	for file, text := range map[string]string{
		"queue/username": "nova-cell1-x7", "queue/password": "abc",
		"credential/application_credential_id": "id", "credential/application_credential_secret": "def",
	} {
		write(t, filepath.Join(dir, file), text)
	}
}

// write creates a file and its folder.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestNovaReservesUnassignedHugePages verifies that servers get the requested number of huge pages, the same number of each NUMA cell, and
// that Nova reserves the others.
func TestNovaReservesUnassignedHugePages(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, pages string
		existing      map[string]string // pages of a size in a cell
		want          string
	}{
		"All":  {"The node's own libvirt has them.", "", map[string]string{"0/2048": "8"}, ""},
		"None": {"They are others'.", "2048:0 1048576:0", map[string]string{"0/2048": "8", "0/1048576": "2"}, "node:0,size:2048,count:8 node:0,size:1048576,count:2"},
		"Half": {"Cells give alike.", "2048:9", map[string]string{"0/2048": "8", "1/2048": "8"}, "node:0,size:2048,count:3 node:1,size:2048,count:4"},
		"Uneven": {
			"Other cells compensate for a cell with few pages.", "2048:30", map[string]string{"0/2048": "20", "1/2048": "20", "10/2048": "2"},
			"node:10,size:2048,count:0 node:0,size:2048,count:6 node:1,size:2048,count:6",
		},
		"Few":     {"There are not as many.", "2048:30", map[string]string{"0/2048": "20"}, "node:0,size:2048,count:0"},
		"No cell": {"The kernel has no such pages.", "2048:30 1048576:1", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{"nova-compute": ""})
			login(t, dir)
			for at, pages := range tc.existing {
				cell, size, _ := strings.Cut(at, "/")
				write(t, filepath.Join(dir, "node"+cell, "hugepages", "hugepages-"+size+"kB", "nr_hugepages"), pages+"\n")
			}
			out, err := script(t, dir, []string{
				"QUEUE_HOST=", "QUEUE_PORT=", "QUEUE_VHOST=", "QUEUE_CA=", "INSTANCES=" + dir, "LOGINS=" + dir, "STARTED=" + dir + "/started",
				"TAKEN=" + dir + "/taken", "AGENT=" + dir + "/agent", "HUGE_PAGES=" + tc.pages, "CELLS=" + dir, "RESERVED=" + dir + "/reserved", "RESERVE_DISK=", "NODE_IP=10.0.0.1", "INTERFACE=", "DOMAIN=",
				"LIVE_MIGRATION=", "PROGRAMS=" + dir + "/programs",
			}, "nova-compute.sh")
			got, e := os.ReadFile(filepath.Join(dir, "reserved"))
			if err := errors.Join(err, e); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lines := []string{"[DEFAULT]"}
			for line := range strings.FieldsSeq(tc.want) {
				lines = append(lines, "reserved_huge_pages = "+line)
			}
			if diff := cmp.Diff(strings.Join(lines, "\n")+"\n", string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDiskReservationPreventsEviction verifies that Nova reserves enough of the disk to prevent evictions by the kubelet.
func TestDiskReservationPreventsEviction(t *testing.T) {
	const gib = 1 << 20 // in KiB
	for name, tc := range map[string]struct {
		reason, reserve string
		kib             int
		want            string
	}{
		"InCeph": {"Room of the node is not Nova's.", "", 100 * gib, ""},
		"Small":  {"15 % for the kubelet and a tenth for others.", "yes", 40 * gib, "reserved_host_disk_mb = 10239\n"},
		"Edge":   {"A tenth is 10 GiB.", "yes", 100 * gib, "reserved_host_disk_mb = 25600\n"},
		"Large":  {"Others have no more than 10 GiB.", "yes", 4000 * gib, "reserved_host_disk_mb = 624640\n"},
		"Tiny":   {"Nova refuses more than there is.", "yes", gib / 2, "reserved_host_disk_mb = 127\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{
				"nova-compute": "",
				"df":           fmt.Sprintf("echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'; echo '/dev/vda %d 7 8 1%% /var/lib/nova'", tc.kib),
			})
			login(t, dir)
			out, err := script(t, dir, []string{
				"QUEUE_HOST=", "QUEUE_PORT=", "QUEUE_VHOST=", "QUEUE_CA=", "INSTANCES=" + dir + "/instances", "LOGINS=" + dir,
				"STARTED=" + dir + "/started", "TAKEN=" + dir + "/taken", "AGENT=" + dir + "/agent", "HUGE_PAGES=", "CELLS=/none", "RESERVED=" + dir + "/reserved",
				"RESERVE_DISK=" + tc.reserve, "NODE_IP=10.0.0.1", "INTERFACE=", "DOMAIN=", "LIVE_MIGRATION=", "PROGRAMS=" + dir + "/programs",
			}, "nova-compute.sh")
			got, e := os.ReadFile(filepath.Join(dir, "reserved"))
			if err := errors.Join(err, e); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if diff := cmp.Diff("[DEFAULT]\n"+tc.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if called, _ := os.ReadFile(filepath.Join(dir, "called")); tc.want != "" && !strings.Contains(string(called), "df -Pk "+dir+"/instances\n") {
				t.Errorf("it looks at another disk: %s", called)
			}
		})
	}
}

// TestLibvirt_Logger verifies that virtlogd starts before libvirt's daemon, outside of the pod's control group, and that a running one is
// kept.
func TestLibvirt_Logger(t *testing.T) {
	const (
		responses, unreachable = "", "exit 1"
		// started is the expected arguments of virtlogd, after it was moved into the control group of servers.
		started = "virtlogd --daemon --config DIR/cobaltcore/virtlogd.conf --pid-file DIR/run/virtlogd.pid\nin vms\n"
		daemon  = "libvirtd --listen --config DIR/tmp/private/libvirtd.conf --pid-file DIR/run/libvirtd.pid\n"
		query   = "virt-admin --connect virtlogd:///system server-list\n"
	)
	for name, tc := range map[string]struct {
		reason, admin string
		// process is the name of the process whose ID is in virtlogd's file. Empty: there is no file.
		process string
		missing bool
		want    string
		// ends reports whether the process is stopped.
		ends, fails bool
	}{
		"first":   {reason: "No daemon runs on the node.", admin: unreachable, want: query + started + daemon},
		"answers": {reason: "Servers write to it.", admin: responses, process: "virtlogd", want: query + daemon},
		"hangs":   {reason: "Servers wait for it.", admin: unreachable, process: "virtlogd", want: query + started + daemon, ends: true},
		"ended":   {reason: "Another process has its number.", admin: unreachable, process: "decoy", want: query + started + daemon},
		"missing": {reason: "A server would fill the disk.", admin: unreachable, missing: true, want: query, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			programs := map[string]string{
				"virt-admin": tc.admin, "libvirtd": "", "virsh": "", "sleep": "", // The image of an earlier version has no swtpm.
				"virtlogd": `[ "$(cat "${0%/*}"/cgroup/vms/cgroup.procs)" != 0 ] || echo "in vms" >>"${0%/*}/called"`,
			}
			if tc.missing {
				delete(programs, "virtlogd")
			}
			dir := stubs(t, programs)
			nodeOf(t, dir)
			ended := make(chan error, 1)
			if tc.process != "" {
				// The kernel names the process of a script by its file.
				at := filepath.Join(t.TempDir(), tc.process)
				if err := os.WriteFile(at, []byte("#!/bin/sh\nread -r _\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				process := exec.CommandContext(t.Context(), at)
				in, err := process.StdinPipe()
				if err := errors.Join(err, process.Start()); err != nil {
					t.Fatal(err)
				}
				go func() { ended <- process.Wait() }()
				defer func() {
					_ = in.Close()
					err := <-ended
					if killed := err != nil && err.Error() == "signal: killed"; killed != tc.ends {
						t.Errorf("%s\nthe process is ended: %v", tc.reason, err)
					}
				}()
				write(t, filepath.Join(dir, "run/virtlogd.pid"), fmt.Sprint(process.Process.Pid))
			}
			path := withoutPrograms(t, "swtpm")
			if tc.missing { // This machine may have one.
				path = withoutPrograms(t, "swtpm", "virtlogd")
			}
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "libvirt.sh"))
			cmd.Env = []string{"PATH=" + dir + ":" + path, "NODE_IP=10.0.0.1", "INTERFACE=", "URI=qemu:///system"}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails || tc.fails && !strings.Contains(string(out), "the image has no virtlogd") {
				t.Fatalf("%s\n%v: %s", tc.reason, err, out)
			}
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(strings.ReplaceAll(string(called), "sleep 1\n", ""), dir, "DIR")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for _, probe := range []string{"alive", "ready"} {
				cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "libvirt.sh"), probe)
				cmd.Env = []string{"PATH=" + dir + ":" + path, "URI=qemu:///system"}
				// A pod that started without virtlogd, by an earlier version, does not need it.
				if err := cmd.Run(); (err == nil) != (tc.admin == responses || tc.fails) {
					t.Errorf("%s\nit is %s: %v", tc.reason, probe, err)
				}
			}
		})
	}
}

// TestLibvirt_Unresponsive verifies that a probe ends by itself if a daemon accepts a connection and does not respond, and names the
// daemon.
func TestLibvirt_Unresponsive(t *testing.T) {
	const unresponsive = "exec tail -f /dev/null"
	for name, tc := range map[string]struct{ admin, client, want string }{
		"virtlogd": {unresponsive, "", "virtlogd does not respond"},
		"libvirtd": {"", unresponsive, "libvirtd does not respond"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := stubs(t, map[string]string{"virt-admin": tc.admin, "virsh": tc.client})
			nodeOf(t, dir)
			write(t, filepath.Join(dir, "tmp/logger"), "")
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "libvirt.sh"), "alive")
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "URI=qemu:///system"}
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), tc.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// nodeOf writes the files of a node that libvirt.sh reads into a folder, and the script with paths in that folder.
func nodeOf(t *testing.T, dir string) {
	t.Helper()
	for file, text := range map[string]string{
		"cgroup/cgroup.controllers": "cpu", "cgroup/cgroup.procs": "", "run/known": "", "tmp/known": "", "pts/ptmx": "",
		"libvirt/qemu.conf": "user = \"root\"\n", "libvirt/secrets/known": "", "libvirt/qemu/known": "", "cache/known": "",
		"pki/CA/cacert.pem": "a", "pki/libvirt/servercert.pem": "b", "pki/libvirt/private/serverkey.pem": "c", "pki/qemu/ca-cert.pem": "d",
		"cobaltcore/libvirtd.conf": "", "libvirt.sh": strings.NewReplacer("/run/libvirt", dir+"/run", "/tmp/", dir+"/tmp/", "/etc/pki", dir+"/pki",
			"/etc/cobaltcore", dir+"/cobaltcore", "/sys/fs/cgroup", dir+"/cgroup", "/dev/", dir+"/", "/etc/libvirt", dir+"/libvirt",
			"/var/cache/libvirt", dir+"/cache",
			"/usr/bin/qemu-", dir+"/qemu-").Replace(libvirtScript),
		"address.sh": addressScript,
	} {
		write(t, filepath.Join(dir, file), text)
	}
}

// withoutPrograms returns the folders of PATH that do not contain the given programs.
func withoutPrograms(t *testing.T, names ...string) string {
	t.Helper()
	return strings.Join(slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		})
	}), ":")
}

// TestConsoleOutputIsBounded verifies that console output is bounded, and that enough remains for Nova, which shows the last 100 KiB.
func TestConsoleOutputIsBounded(t *testing.T) {
	if !strings.Contains(qemuConf, "\nstdio_handler = \"logd\"\n") {
		t.Errorf("QEMU writes output itself, without a bound:\n%s", qemuConf)
	}
	got := map[string]int{}
	for line := range strings.Lines(virtlogdConf) {
		var option string
		var value int
		if _, err := fmt.Sscanf(line, "%s = %d", &option, &value); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got[option] = value
	}
	const shown, most = 100 << 10, 4 << 20
	if size := got["max_size"]; size < shown || size*(got["max_backups"]+1) > most {
		t.Errorf("a console has %d files of %d bytes", got["max_backups"]+1, size)
	}
	if diff := cmp.Diff(map[string]int{"max_size": 1 << 20, "max_backups": 3, "max_age_days": 30}, got); diff != "" {
		t.Errorf("docs/how-to/hypervisors-settings.md has these values (-want +got):\n%s", diff)
	}
}

// TestPrefersInterfaceAddressOfNodeFamily verifies that the address of an interface has the family of the node's address, and that it does
// not expire.
func TestPrefersInterfaceAddressOfNodeFamily(t *testing.T) {
	const ipv4, ipv6 = "7: bond1    inet 10.7.0.9/24 brd 10.7.0.255 scope global bond1", "7: bond1    inet6 fd00::9/64 scope global"
	for name, tc := range map[string]struct {
		reason string
		node   string
		have   []string
		want   string
	}{
		"IPv4":         {"A node with IPv4 prefers IPv4, in any order.", "10.0.0.1", []string{ipv6, ipv4}, "10.7.0.9"},
		"IPv6":         {"A node with IPv6 prefers IPv6, in any order.", "fd00::1", []string{ipv4, ipv6}, "fd00::9"},
		"IPv4Only":     {"No address has the family of the node.", "fd00::1", []string{ipv4}, "10.7.0.9"},
		"IPv6Only":     {"No address has the family of the node.", "10.0.0.1", []string{ipv6}, "fd00::9"},
		"First":        {"Of several addresses of a family, the first one counts.", "10.0.0.1", []string{ipv4, strings.ReplaceAll(ipv4, "7.0.9", "7.0.8")}, "10.7.0.9"},
		"Temporary":    {"An address for privacy changes within a day.", "fd00::1", []string{strings.Replace(ipv6, "::9", "::a", 1) + " temporary dynamic", ipv6}, "fd00::9"},
		"Deprecated":   {"An address at the end of its life expires soon.", "fd00::1", []string{strings.Replace(ipv6, "::9", "::a", 1) + " deprecated mngtmpaddr", ipv6}, "fd00::9"},
		"OnlyExpiring": {"There is no other address.", "fd00::1", []string{ipv6 + " deprecated"}, "fd00::9"},
		"Tentative":    {"Another node may have the address.", "fd00::1", []string{ipv6 + " tentative"}, ""},
		"None":         {"The interface has no address.", "fd00::1", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{"ip": "cat <<'EOF'\n" + strings.Join(tc.have, "\n") + "\nEOF"})
			command := exec.CommandContext(t.Context(), "sh", "-euc", addressScript+"\naddress bond1 networks.liveMigration.interface")
			command.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "NODE_IP=" + tc.node}
			out, err := command.Output()
			if diff := cmp.Diff(tc.want, strings.TrimSpace(string(out))); diff != "" || (err != nil) != (tc.want == "") {
				t.Errorf("%s\n%v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestNovaComputeReportsResolvableName verifies that nova-compute reports a name that resolves to the address of the node, or of an
// interface.
func TestNovaComputeReportsResolvableName(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		env    []string
		want   string
	}{
		"Node":      {"The node's own address.", []string{"INTERFACE=", "LIVE_MIGRATION=yes"}, "10-0-0-1.pool.pod 10-0-0-1.pool.pod"},
		"Interface": {"A separate interface for migrations.", []string{"INTERFACE=bond1", "LIVE_MIGRATION=yes"}, "fd00--9.pool.pod fd00--9.pool.pod"}, //nolint:dupword // Nova and libvirt get one name each.
		"Host":      {"If the node's operating system runs libvirt, it configures the address.", []string{"INTERFACE=", "LIVE_MIGRATION="}, "10-0-0-1.pool.pod "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{
				"nova-compute": `echo "$OS_LIBVIRT__MIGRATION_INBOUND_ADDR ${OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR:-}"`,
				"ip":           "echo '7: bond1    inet6 fd00::9/64 scope global'",
			})
			login(t, dir)
			env := append([]string{
				"QUEUE_HOST=q", "QUEUE_PORT=5671", "QUEUE_VHOST=v", "QUEUE_CA=/ca.crt", "INSTANCES=" + dir + "/instances", "LOGINS=" + dir,
				"STARTED=" + dir + "/started", "TAKEN=" + dir + "/taken", "AGENT=" + dir + "/agent", "NODE_IP=10.0.0.1",
				"HUGE_PAGES=", "CELLS=/none", "RESERVED=" + dir + "/reserved", "RESERVE_DISK=", "DOMAIN=pool.pod", "PROGRAMS=" + dir + "/programs",
			}, tc.env...)
			if out, err := script(t, dir, env, "nova-compute.sh"); err != nil || out != tc.want+"\n" {
				t.Errorf("%s\n%v, %q, want %q", tc.reason, err, out, tc.want)
			}
		})
	}
}

// TestNovaCompute_Programs verifies that Nova finds our client as ssh and scp, regardless of the image's programs.
func TestNovaCompute_Programs(t *testing.T) {
	dir := stubs(t, map[string]string{
		"nova-compute": "ssh -o BatchMode=yes node mkdir -p '/a b'\nscp -r /a node:/b", "python3": `printf '<%s>' "$@"; echo`,
		"ssh": "echo of the image", "scp": "echo of the image",
	})
	login(t, dir)
	out, err := script(t, dir, []string{
		"QUEUE_HOST=q", "QUEUE_PORT=5671", "QUEUE_VHOST=v", "QUEUE_CA=/ca.crt", "INSTANCES=" + dir + "/instances", "LOGINS=" + dir,
		"STARTED=" + dir + "/started", "TAKEN=" + dir + "/taken", "AGENT=" + dir + "/agent", "NODE_IP=10.0.0.1", "INTERFACE=", "LIVE_MIGRATION=", "HUGE_PAGES=",
		"CELLS=/none", "RESERVED=" + dir + "/reserved", "RESERVE_DISK=", "DOMAIN=pool.pod", "PROGRAMS=" + dir + "/programs",
	}, "nova-compute.sh")
	want := "<-I><./disk-transfer.py><ssh><-o><BatchMode=yes><node><mkdir><-p></a b>\n<-I><./disk-transfer.py><scp><-r></a><node:/b>\n"
	if err != nil || out != want {
		t.Errorf("%v\n got %s\nwant %s", err, out, want)
	}
}

// TestRemovesDevicesOfPreviousAgent verifies that an agent starts after the devices of its predecessor are removed from the switch, and no
// others.
func TestRemovesDevicesOfPreviousAgent(t *testing.T) {
	dir := stubs(t, map[string]string{
		"ovsdb-client": `case "$*" in
*" Open_vSwitch external_ids") echo '"{hostname=node-1, system-id=node-1}"' ;;
*" Interface external_ids name")
  echo '"{attached-mac=""fa:16:3e:00:00:01"", iface-id=""p-1"", iface-status=active}",tap1234-56'
  echo '"{iface-id=metadata-port}",tapc1cd57bc-b0'
  echo '"{iface-id=somebodys}",o-hm0'
  echo '{},br-int' ;;
*" Port _uuid name") printf '%s\n' u-1,tap1234-56 u-2,tapc1cd57bc-b0 u-3,o-hm0 u-4,br-int ;;
esac`,
		"mount": "", "agent": "",
	})
	tls := t.TempDir()
	if err := os.WriteFile(filepath.Join(tls, "tls.crt"), []byte("certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := script(t, dir, []string{"PROGRAM=agent", "TLS=" + tls}, "metadata.sh"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	called, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil {
		t.Fatal(err)
	}
	removed := regexp.MustCompile(`"ports", "delete", \["uuid", "([^"]*)"\]`).FindAllStringSubmatch(string(called), -1)
	if len(removed) != 1 || removed[0][1] != "u-2" {
		t.Errorf("it removes %v, want u-2 alone", removed)
	}
	const end = "mount -o remount,bind,rw /proc/sys\nagent --config-file /etc/cobaltcore/neutron.conf\n"
	if !strings.HasSuffix(string(called), end) {
		t.Errorf("it ends with\n%s\nwant\n%s", called, end)
	}
}

// TestSwitchFillsInChecksums verifies that the switch is configured, before it starts, to fill in checksums that servers leave to it.
func TestSwitchFillsInChecksums(t *testing.T) {
	dir := stubs(t, map[string]string{"ovs-vsctl": "", "ovs-vswitchd": ""})
	if out, err := script(t, dir, nil, "openvswitch.sh", "ovs-vswitchd"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "ovs-vsctl --no-wait --timeout=5 init\n" +
		"ovs-vsctl --no-wait --timeout=5 set open . other_config:userspace-tso-enable=true\n" +
		"ovs-vsctl --no-wait --timeout=5 remove open . external-ids ovn-ofctrl-wait-before-clear\n" +
		"ovs-vswitchd unix:/run/openvswitch/db.sock --unixctl=/run/openvswitch/ovs-vswitchd.ctl " +
		"--pidfile=/run/openvswitch/ovs-vswitchd.pid -vconsole:info -vsyslog:off\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSwitchDatabase verifies that a new database gets its name after it is complete: a part of one would be kept.
func TestSwitchDatabase(t *testing.T) {
	dir := stubs(t, map[string]string{"rm": "", "ovsdb-tool": "", "mv": "", "ovsdb-server": ""})
	if out, err := script(t, dir, nil, "openvswitch.sh", "ovsdb-server"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "rm -f /etc/openvswitch/conf.db.new\n" +
		"ovsdb-tool create /etc/openvswitch/conf.db.new /usr/share/openvswitch/vswitch.ovsschema\n" +
		"mv /etc/openvswitch/conf.db.new /etc/openvswitch/conf.db\n"
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestVolumeKeys verifies that a key is defined in libvirt once, again after a restart, and again when it changes, and never passed on a
// command line.
func TestVolumeKeys(t *testing.T) {
	const uuid = "6f0d2c3a-1b4e-8a55-8c1f-0123456789ab"
	dir := stubs(t, map[string]string{
		"virsh": `case "$*" in
*secret-list) cat "$(dirname "$0")/has" 2>/dev/null; true ;;
*"secret-define /dev/stdin")
  cd "$(dirname "$0")" && cat >next && { [ ! -s has ] || cmp -s next defined; } || exit 1
  mv next defined; echo "` + uuid + ` ceph" >has ;;
*"secret-set-value ` + uuid + ` --file /dev/stdin") cat >"$(dirname "$0")/key" ;;
*) exit 1 ;;
esac`,
		// The second round ends the script.
		"sleep": `[ ! -e "$(dirname "$0")/slept" ] || kill -TERM "$PPID"; touch "$(dirname "$0")/slept"`,
	})
	file := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name)) // one that is not there is empty
		return string(text)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"LIBVIRT=qemu:///system", "KEYS=" + dir, "VOLUMES=ceph_a:volumes:" + uuid + " spec.storage:volumes:" + uuid,
		"TOLD=" + filepath.Join(dir, "told"),
	}
	const others = "[client.volumes-2]\n\tkey = wrong==\n[client.volumes]\n\tkey = %s \n\tcaps mon = \"profile rbd\"\n[client.other]\nkey = wrong==\n"
	for _, tc := range []struct {
		reason, key string
		change      func()
		configured  bool
	}{
		{"It has none.", "AQA+b/c==", func() {}, true},
		{"It has it, since the pod began again.", "AQA+b/c==", func() {}, false},
		{"It was restarted.", "AQA+b/c==", func() { write("has", "") }, true},
		{"There is another key.", "AQB==", func() {}, true},
	} {
		tc.change()
		write("ceph_a", fmt.Sprintf(others, tc.key))
		write("spec.storage", tc.key) // It is the key alone.
		for _, f := range []string{"key", "called", "slept"} {
			_ = os.Remove(filepath.Join(dir, f))
		}
		if tc.configured {
			if out, err := script(t, dir, env, "volume-keys.sh", "ready"); err == nil {
				t.Errorf("%s It is ready before: %s", tc.reason, out)
			}
		}
		out, err := script(t, dir, env, "volume-keys.sh")
		if err != nil {
			t.Fatalf("%s %v: %s", tc.reason, err, out)
		}
		want := ""
		if tc.configured {
			want = tc.key
		}
		if file("key") != want {
			t.Errorf("%s libvirt has %q, want %q: %s", tc.reason, file("key"), want, out)
		}
		if strings.Contains(file("called")+out, tc.key) {
			t.Errorf("%s The key is on a command line or in the log: %s%s", tc.reason, file("called"), out)
		}
		if tc.configured && (!strings.Contains(file("defined"), "ephemeral='yes' private='yes'") || !strings.Contains(file("defined"), uuid)) {
			t.Errorf("%s It defines %s", tc.reason, file("defined"))
		}
		if out, err := script(t, dir, env, "volume-keys.sh", "ready"); err != nil {
			t.Errorf("%s It is not ready: %v: %s", tc.reason, err, out)
		}
	}
	write("ceph_a", "[client.other]\nkey = wrong==\n")
	if out, err := script(t, dir, env, "volume-keys.sh", "ready"); err == nil || !strings.Contains(out, "the keyring of ceph_a has no key of client.volumes") {
		t.Errorf("the keyring of another user: %v: %s", err, out)
	}
}
