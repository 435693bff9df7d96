package hypervisor

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// queueLogin is a folder with a login, and the variables of an agent that has it.
func queueLogin(t *testing.T, dir string) []string {
	t.Helper()
	for name, text := range map[string]string{"username": "neutron-1", "password": "secret-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		"PROGRAM=agent", "QUEUE_HOST=q", "QUEUE_PORT=5671", "QUEUE_VHOST=neutron", "QUEUE_CA=/ca.crt", "LOGIN=" + dir, "NODE_IP=10.0.0.1",
		"STARTED=" + dir + "/started", "TAKEN=" + dir + "/taken", "AGENT=" + dir + "/agent-id", "NODE_NAME=node-1",
	}
}

// TestNeutronAgentStartsWithMountedLogin verifies that an agent starts with the mounted login and with the address of tunnels, if any. It
// is ready only with the login of its pod.
func TestNeutronAgentStartsWithMountedLogin(t *testing.T) {
	const requested = `echo "$OS_DEFAULT__TRANSPORT_URL ${OS_OVS__LOCAL_IP-none} $*"`
	const url = "rabbit://neutron-1:secret-1@q:5671/neutron?ssl=true&ssl_ca_file=/ca.crt"
	for name, tc := range map[string]struct {
		reason string
		env    []string
		ip     string
		ready  bool
	}{
		"Any":       {"The pod does not require a login.", nil, "none", true},
		"Its":       {"It is the pod's.", []string{"QUEUE_USER=neutron-1"}, "none", true},
		"Earlier":   {"The pod's one has not come yet.", []string{"QUEUE_USER=neutron-2"}, "none", false},
		"Tunnels":   {"They end at the node.", []string{"TUNNELS=yes", "INTERFACE="}, "10.0.0.1", true},
		"Interface": {"They end at an interface of their own.", []string{"TUNNELS=yes", "INTERFACE=bond0"}, "fd00::9", true},
		"IPv6":      {"The queue is a load balancer with an IPv6 address, which a URL has in brackets.", []string{"QUEUE_HOST=fd00::5"}, "none", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{"agent": requested, "ip": "echo '7: bond0    inet6 fd00::9/64 scope global'"})
			env := append(queueLogin(t, dir), tc.env...)
			out, err := script(t, dir, env, "neutron-agent.sh")
			url := url
			if slices.Contains(tc.env, "QUEUE_HOST=fd00::5") {
				url = strings.Replace(url, "@q:", "@[fd00::5]:", 1)
			}
			if want := url + " " + tc.ip + " --config-file /etc/cobaltcore/neutron.conf\n"; err != nil || out != want {
				t.Errorf("%s\n%v, %q, want %q", tc.reason, err, out, want)
			}
			if _, err := os.Stat(filepath.Join(dir, "taken")); (err == nil) != tc.ready {
				t.Errorf("%s It counts: %v", tc.reason, err)
			}
			if out, err := script(t, dir, env, "neutron-agent.sh", "alive"); err != nil {
				t.Errorf("it has its login, and is restarted: %v: %s", err, out)
			}
		})
	}
}

// TestNeutronAgentStarted verifies that the Open vSwitch agent has started once it monitors the switch, and is not alive while the switch
// responds without flows of the agent.
func TestNeutronAgentStarted(t *testing.T) {
	const flow, none = "echo ' table=23, n_packets=0, n_bytes=0, priority=0 actions=drop'", "echo 'OFPST_FLOW reply (OF1.3) (xid=0x6):'"
	const unwatched, unserved = "it does not watch the switch", "the switch has no flows of it"
	for name, tc := range map[string]struct{ reason, watcher, processes, flows, started, alive string }{
		"Watches": {"The agent monitors the switch.", "ovsdb-client", "privsep-helper\\novsdb-client", flow, "", ""},
		"Dead":    {"The main thread exited earlier.", "ovsdb-client", "privsep-helper", flow, unwatched, ""},
		"Hangs":   {"It waits for a switch that was restarted.", "ovsdb-client", "ovsdb-client", none, unserved, unserved},
		"Away":    {"Agent and switch are down.", "ovsdb-client", "privsep-helper", "exit 1", unwatched, ""},
		"Other":   {"Other agents do not monitor the switch.", "", "privsep-helper", none, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{
				"ps":        `[ "$*" = "-o comm= --ppid 11" ] && printf '` + tc.processes + `\n'`,
				"ovs-ofctl": `[ "$6" = table=23 ] || exit 1; ` + tc.flows,
			})
			login := fmt.Sprintf("%x  -\n", sha256.Sum256([]byte("neutron-1secret-1")))
			for name, text := range map[string]string{"agent-id": "11\n", "started": login} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := append(queueLogin(t, dir), "WATCHER="+tc.watcher)
			for probe, want := range map[string]string{"started": tc.started, "alive": tc.alive} {
				out, err := script(t, dir, env, "neutron-agent.sh", probe)
				if (err == nil) != (want == "") || !strings.Contains(out, want) {
					t.Errorf("%s\n%s: %v, %q, want %q", tc.reason, probe, err, out, want)
				}
			}
		})
	}
}

// TestBridges verifies that the bridges of physical networks exist before the agent starts.
func TestBridges(t *testing.T) {
	dir := stubs(t, map[string]string{"ovs-vsctl": ""})
	if out, err := script(t, dir, []string{"DATAPATH=netdev", "BRIDGES=br-ex=bond1 br-b="}, "bridges.sh"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "ovs-vsctl --timeout=10 --no-wait show\n" +
		"ovs-vsctl --timeout=10 -- --may-exist add-br br-ex -- set bridge br-ex datapath_type=netdev\n" +
		"ovs-vsctl --timeout=10 -- --may-exist add-port br-ex bond1\n" +
		"ovs-vsctl --timeout=10 -- --may-exist add-br br-b -- set bridge br-b datapath_type=netdev\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// inMounts runs a shell's commands with mounts of their own, which root may have, and others in most places.
func inMounts(t *testing.T, dir, commands string) string {
	t.Helper()
	args := []string{"--mount", "--propagation", "private"}
	if os.Geteuid() != 0 {
		args = append(args, "--map-root-user", "--net")
	}
	if err := exec.CommandContext(t.Context(), "unshare", append(args, "true")...).Run(); err != nil {
		t.Skipf("mount namespaces are not permitted: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(args, "sh", "-euc", commands)...)
	cmd.Env = append([]string{"PATH=" + dir + ":" + os.Getenv("PATH"), "DIR=" + dir}, queueLogin(t, dir)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestAgentsRetainNetworkNamespaces verifies that an agent in a new container has the network namespaces of all previous containers,
// without the names of deleted ones, and that only the last keeper process remains.
func TestAgentsRetainNetworkNamespaces(t *testing.T) {
	dir := stubs(t, map[string]string{
		"agent": `for name in $MAKE; do ip netns add "$name"; ip -n "$name" link set lo up; done
for place in /run/netns/*; do
  [ -e "$place" ] && echo "${place##*/} $(ip -n "${place##*/}" -o addr show dev lo | grep -c 127.0.0.1)"
done
true`,
		"mount": `case $1 in -o) ;; *) exec /bin/mount "$@" ;; esac`,
	})
	agentFiles(t, dir)
	out := inMounts(t, dir, namespacesScript+`
run first "qrouter-a qrouter-b"
one=$(cat "$KEEPER")
run second qrouter-c
run third ""
[ ! -e "/proc/$one/root/" ] || echo "the first one is left" # A zombie process has no root.
end
run restarted ""
end`)
	const want = "first\nqrouter-a 1\nqrouter-b 1\nsecond\nqrouter-a 1\nqrouter-b 1\nqrouter-c 1\nthird\nqrouter-a 1\nqrouter-b 1\nqrouter-c 1\nrestarted\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProcessesLeaveControlGroupOfPod verifies that processes of agents leave the control group of their pod in every hierarchy, of both
// versions, and do not inherit the login.
func TestProcessesLeaveControlGroupOfPod(t *testing.T) {
	for name, tc := range map[string]struct{ make, want string }{
		"first": {
			"for h in memory cpuset; do mkdir $h; touch $h/cgroup.procs; done; ln -s memory alias; mkdir other; echo 0-3 >cpuset/cpuset.cpus; " +
				"echo 0 >cpuset/cpuset.mems; mkdir cpuset/neutron; touch cpuset/neutron/cpuset.cpus cpuset/neutron/cpuset.mems",
			"ran without\n./cpuset/neutron/cgroup.procs 0\n./cpuset/neutron/cpuset.cpus 0-3\n./cpuset/neutron/cpuset.mems 0\n./memory/neutron/cgroup.procs 0\n",
		},
		"second": {"touch cgroup.controllers cgroup.procs; mkdir kubepods; touch kubepods/cgroup.procs", "ran without\n./neutron/cgroup.procs 0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			here, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			out := inMounts(t, t.TempDir(), "mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup; "+tc.make+"; export OS_DEFAULT__TRANSPORT_URL=secret; sh "+here+"/outlive.sh sh -c 'echo ran ${OS_DEFAULT__TRANSPORT_URL-without}'; "+
				`find . -path '*/neutron/*' | sort | while read -r file; do echo "$file $(cat "$file")"; done`)
			if diff := cmp.Diff(tc.want, out); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
