package hypervisor

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Connections of a node, as the kernel lists them, and the socket of the connection. The agent's child has ownSocket.
const (
	toQueue              = "10.0.0.1:9000 10.0.0.2:1627 01"
	toNova               = "10.0.0.1:9000 10.0.0.2:0050 01"
	listening            = "10.0.0.1:1627 0.0.0.0:0000 0A"
	ownSocket, elsewhere = "77", "78"
)

// withConnection returns a folder of stubs, on a node with one connection.
func withConnection(t *testing.T, programs map[string]string, connection, socket string) string {
	t.Helper()
	all := map[string]string{
		"ps": "echo 12", "ls": `case $2 in /proc/12/fd) echo "l 64 3 -> socket:[` + ownSocket + `]" ;; esac`,
		"awk": `exec /usr/bin/awk "$1" "$2" "$3" "$(dirname "$0")/tcp"`,
	}
	maps.Copy(all, programs)
	dir := stubs(t, all)
	write(t, filepath.Join(dir, "tcp"), "  sl local rem st tx tr re uid t inode\n  0: "+connection+" 0:0 0:0 0 0 0 "+socket+" 1\n")
	return dir
}

// TestAgentsRequireOwnQueueConnection verifies that agents are ready only with their own connection to the queue: pods on nodes share the
// connections of the node.
func TestAgentsRequireOwnQueueConnection(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, connection, socket string
		want                       bool
	}{
		"connected": {"A process of the agent has one.", toQueue, ownSocket, true},
		"another's": {"Another process of the node has one.", toQueue, elsewhere, false},
		"listens":   {"A listening socket is not a connection.", listening, ownSocket, false},
		"elsewhere": {"The connection is to an API of Nova.", toNova, ownSocket, false},
	} {
		for _, program := range []string{"nova-compute.sh", "neutron-agent.sh"} {
			t.Run(name+" "+program, func(t *testing.T) {
				dir := withConnection(t, nil, tc.connection, tc.socket)
				write(t, filepath.Join(dir, "agent-id"), "11\n")
				write(t, filepath.Join(dir, "taken"), "")
				out, err := script(t, dir, queueLogin(t, dir), program, "ready")
				if (err == nil) != tc.want || !tc.want && !strings.Contains(out, "no connection to the queue") {
					t.Errorf("%s\nready: %v, %q", tc.reason, err, out)
				}
			})
		}
	}
}

// TestReplacedLoginRestartsStuckAgents verifies when agents restart after their login was replaced: not before the rolling update had time
// to reach their node, and immediately if the rolling update waits for them.
func TestReplacedLoginRestartsStuckAgents(t *testing.T) {
	const hour = 3600
	for name, tc := range map[string]struct {
		reason string
		// after is the number of seconds since the new login was mounted.
		after      int
		connection string
		// early is set if the process started before the login of its pod template was mounted, and returned if the login is the previous
		// one again.
		early, returned bool
		want            bool
	}{
		"at first":     {reason: "The rolling update replaces the pod.", after: 0, connection: toQueue},
		"in an hour":   {reason: "The rolling update may be in progress.", after: hour - 1, connection: toQueue},
		"at last":      {reason: "The rolling update does not reach the node.", after: 4 * hour, connection: toQueue, want: true},
		"waiting":      {reason: "The rolling update waits for this pod.", after: 0, connection: toQueue, early: true, want: true},
		"disconnected": {reason: "The previous login may be revoked.", after: 300, connection: toNova, want: true},
		"reconnects":   {reason: "All nodes have lost their connection.", after: 0, connection: toNova},
		"returned":     {reason: "The login is the one of the start.", after: 4 * hour, connection: toQueue, returned: true},
	} {
		for _, program := range []string{"nova-compute.sh", "neutron-agent.sh"} {
			t.Run(name+" "+program, func(t *testing.T) {
				dir := withConnection(t, map[string]string{"nova-compute": "", "agent": "", "date": `cat "$(dirname "$0")/now"`}, tc.connection, ownSocket)
				login(t, dir)
				env := append(queueLogin(t, dir), "LOGINS="+dir, "INSTANCES="+dir+"/instances", "HUGE_PAGES=", "CELLS=/none", "RESERVED="+dir+"/reserved",
					"RESERVE_DISK=", "INTERFACE=", "DOMAIN=", "LIVE_MIGRATION=", "PROGRAMS="+dir+"/programs")
				if tc.early {
					env = append(env, "QUEUE_USER=next")
				}
				if out, err := script(t, dir, env, program); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				probe := func(after int, password string) (string, error) {
					write(t, filepath.Join(dir, "now"), strconv.Itoa(1_000_000+after))
					write(t, filepath.Join(dir, "password"), password)       // of an agent
					write(t, filepath.Join(dir, "queue/password"), password) // of nova-compute
					return script(t, dir, env, program, "alive")
				}
				write(t, filepath.Join(dir, "queue/password"), "secret-1")
				if out, err := script(t, dir, env, program); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if out, err := probe(-9*hour, "secret-1"); err != nil {
					t.Fatalf("it restarts with its login: %v: %s", err, out)
				}
				if _, err := probe(0, "secret-2"); tc.after > 0 && err != nil {
					t.Errorf("%s\nit restarts when the login is mounted", tc.reason)
				}
				password := "secret-2"
				if tc.returned {
					password = "secret-1"
				}
				out, err := probe(tc.after, password)
				if (err != nil) != tc.want || tc.want && !strings.Contains(out, "replaced") {
					t.Errorf("%s\nalive: %v, %q", tc.reason, err, out)
				}
			})
		}
	}
}

// TestReplacedLogin_Waves verifies that nodes that the rolling update does not reach restart at different times: in three hours, and at
// most 2 % of them in the same minute.
func TestReplacedLogin_Waves(t *testing.T) {
	const nodes, seconds = 600, 10800
	out, err := script(t, t.TempDir(), nil, "-euc", `. ./login.sh; for i in $(seq 600); do NODE_NAME=node-$i; delay 10800; done`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	perMinute, total := map[int]int{}, 0
	for text := range strings.FieldsSeq(out) {
		second, err := strconv.Atoi(text)
		if err != nil || second < 0 || second >= seconds {
			t.Fatalf("a node waits %q seconds", text)
		}
		perMinute[second/60]++
		total++
	}
	if most := slices.Max(slices.Collect(maps.Values(perMinute))); total != nodes || most > nodes*2/100 {
		t.Errorf("%d of %d nodes restart in the same minute", most, total)
	}
}

// TestNovaCompute_Calls verifies that nova-compute is called as Nova calls it, is not ready while it does not answer, and is restarted if
// it keeps receiving no calls. An unavailable queue changes nothing.
func TestNovaCompute_Calls(t *testing.T) {
	repeat := func(status string, times int) []string { return slices.Repeat([]string{status}, times) }
	const answered, missed, unknown = "0", "1", "2"
	for name, tc := range map[string]struct {
		reason       string
		results      []string
		ready, alive bool
		pauses       string
	}{
		"none":     {"It has just started.", nil, true, true, ""},
		"answers":  {"It receives calls.", repeat(answered, 2), true, true, "300 300"},
		"one":      {"A call can be lost with a member of RabbitMQ.", []string{answered, missed}, true, true, "300 60"},
		"two":      {"Servers should not be scheduled to it.", []string{answered, missed, missed}, false, true, "300 60 60"},
		"deaf":     {"It still reports to Nova that it is up.", append(repeat(answered, 1), repeat(missed, 5)...), false, false, "300 60 60 60 60 60"},
		"recovers": {"It reconnected.", []string{answered, missed, missed, answered}, true, true, "300 60 60 300"},
		"unknown":  {"A restart does not help while the queue is unavailable.", append(repeat(answered, 1), repeat(unknown, 9)...), true, true, "300 300 300 300 300 300 300 300 300 300"},
		"killed":   {"The program that calls hangs.", repeat("124", 9), true, true, "300 300 300 300 300 300 300 300 300"},
		"starts":   {"It examines thousands of servers.", repeat(missed, 29), false, true, strings.TrimSpace(strings.Repeat("60 ", 29))},
		"never":    {"It does not receive calls at all.", repeat(missed, 30), false, false, strings.TrimSpace(strings.Repeat("60 ", 30))},
	} {
		t.Run(name, func(t *testing.T) {
			here := `here=$(dirname "$0")` + "\n"
			// When all results are used, the loop stops at the next call until nova-compute has ended.
			dir := withConnection(t, map[string]string{
				"sleep":        "",
				"timeout":      `[ "$*" = "-k 5 60 python3 -I ./rpc-ping.py /etc/cobaltcore/nova.conf" ] && [ "$OS_OSLO_MESSAGING_RABBIT__PROCESSNAME" = rpc-ping ] && shift 3 && exec "$@"; exit 9`,
				"nova-compute": here + `until [ -e "$here/used" ]; do /bin/sleep 0.01; done`,
				"python3": here + `result=$(head -n 1 "$here/results"); sed -i 1d "$here/results"
[ -z "$result" ] || exit "$result"
: >"$here/used"; while kill -0 "$(cat "$here/agent-id")" 2>/dev/null; do /bin/sleep 0.01; done; exit 2`,
			}, toQueue, ownSocket)
			login(t, dir)
			write(t, filepath.Join(dir, "results"), strings.Join(append(slices.Clone(tc.results), ""), "\n"))
			env := append(queueLogin(t, dir), "LOGINS="+dir, "INSTANCES="+dir+"/instances", "HUGE_PAGES=", "CELLS=/none", "RESERVED="+dir+"/reserved",
				"RESERVE_DISK=", "INTERFACE=", "DOMAIN=", "LIVE_MIGRATION=", "PROGRAMS="+dir+"/programs", "RPC="+dir+"/rpc")
			if out, err := script(t, dir, env, "./nova-compute.sh"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var pauses []string
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(called)) {
				if pause, ok := strings.CutPrefix(strings.TrimSpace(line), "sleep "); ok {
					pauses = append(pauses, pause)
				}
			}
			first, err := strconv.Atoi(pauses[0])
			if err != nil || first < 60 || first >= 300 {
				t.Errorf("the first call is after %s seconds", pauses[0])
			}
			if diff := cmp.Diff(tc.pauses, strings.Join(pauses[1:min(len(pauses), len(tc.results)+1)], " ")); diff != "" {
				t.Errorf("%s\nseconds between calls (-want +got):\n%s", tc.reason, diff)
			}
			for probe, want := range map[string]bool{"ready": tc.ready, "alive": tc.alive} {
				out, err := script(t, dir, env, "./nova-compute.sh", probe)
				if (err == nil) != want || !want && !strings.Contains(out, "does not answer calls") {
					t.Errorf("%s\n%s: %v, %q", tc.reason, probe, err, out)
				}
			}
		})
	}
}

// TestNamespaces_MountError verifies that an agent does not start without a network namespace that exists and cannot be mounted, and has
// it after the next start.
func TestNamespaces_MountError(t *testing.T) {
	dir := stubs(t, map[string]string{
		"agent": `for name in $MAKE; do ip netns add "$name"; done; for place in /run/netns/*; do echo "${place##*/}"; done`,
		"mount": `case "$1 $3" in --no-canonicalize*qrouter-a) [ ! -e "$DIR/broken" ] || { echo "mount: no memory" >&2; exit 32; } ;; esac
case $1 in -o) ;; *) exec /bin/mount "$@" ;; esac`,
	})
	agentFiles(t, dir)
	out := inMounts(t, dir, namespacesScript+`
run first "qrouter-a qrouter-b"
: >"$DIR/broken"
run broken "" 2>&1 || echo failed
rm "$DIR/broken"
run repaired ""
end`)
	const want = "first\nqrouter-a\nqrouter-b\nbroken\nmount: no memory\n" +
		"the network namespace qrouter-a cannot be mounted; the agent does not start without it\nfailed\nrepaired\nqrouter-a\nqrouter-b\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// agentFiles writes the files of an agent's ConfigMap into a folder. Processes stay in the control group of the test.
func agentFiles(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"neutron-agent.sh": neutronAgentScript, "login.sh": loginScript, "address.sh": addressScript, "outlive.sh": `exec "$@"`,
	} {
		write(t, filepath.Join(dir, name), text)
	}
}

// namespacesScript defines a function that runs an agent in a new container of a node, and one that ends the process that keeps its
// namespaces.
const namespacesScript = `mkdir "$DIR/netns"; export KEEPER="$DIR/keeper"
run() {
  echo "$1"
  MAKE="$2" unshare --mount --propagation private sh -euc '/bin/mount -t tmpfs none /run; mkdir /run/netns
    /bin/mount --bind "$DIR/netns" /run/netns; exec sh "$DIR/neutron-agent.sh"'
}
end() {
  keeper=$(cat "$KEEPER")
  until kill -- "-$keeper" 2>/dev/null; do sleep 0.1; done
  while [ -e "/proc/$keeper/root/" ]; do sleep 0.1; done # A zombie process has no root.
}`
