// Package timeouts verifies that no client waits forever for a component that accepts connections and does not respond, and that each
// client gives up before the layer above it does.
package timeouts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// clients are the programs by which scripts connect to other processes, and the limits that each call must have.
// short matches a request that ends within 99 s: it needs no limits for its progress and for retries.
const short = `|--max-time \d{1,2}\s`

var clients = []struct {
	reason, program string
	limits          []string
}{
	{"a connection, a transfer without progress, and all of it", `curl`, []string{
		`--connect-timeout \d+`, `--speed-time \d+` + short, `--max-time \d+`, `--retry-max-time \d+` + short,
	}},
	{"a call of Open vSwitch or OVN", `(?:ovsdb-client|ovs-vsctl|ovs-appctl|ovs-ofctl|ovn-appctl|ovn-nbctl|ovn-sbctl)`, []string{`--timeout=\d+`}},
	{
		"a program without an option for it",
		`(?:virsh|virt-admin|ceph|rbd|rados|radosgw-admin|mariadb|mysql|mysqladmin|valkey-cli|redis-cli|rabbitmqctl|rabbitmq-diagnostics|nc|` +
			`openssl s_client|wget|openstack|kubectl)`,
		[]string{`\btimeout (?:-k \d+ )?\d+ `},
	},
	{"a connection of the shell", `bash -c '</dev/tcp/`, []string{`\btimeout \d+ `}},
	{"a program of ours that calls a service", `python3 -I \S*rpc-ping\.py`, []string{`TIMEOUT=\d+`, `\btimeout -k \d+ \d+ `}},
}

// TestScriptsLimitEachCall verifies that each call of a client in a script has limits, also if it runs only in a probe: the kubelet ends
// the probe, and not always its processes, and the log does not show which call hangs.
func TestScriptsLimitEachCall(t *testing.T) {
	calls := map[string]int{}
	for name, text := range scripts(t) {
		found, problems := unbounded(text)
		for program, n := range found {
			calls[program] += n
		}
		for _, p := range problems {
			t.Errorf("%s: %s", name, p)
		}
	}
	for _, c := range clients[:3] {
		if calls[c.program] == 0 {
			t.Errorf("no script calls %s: this tests nothing", c.program)
		}
	}
}

// unbounded returns how many commands of a script call each client, and a problem for each call without a limit.
func unbounded(text string) (calls map[string]int, problems []string) {
	calls = map[string]int{}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for command := range strings.SplitSeq(separators.ReplaceAllString(line, "\x00"), "\x00") {
			for _, c := range clients {
				if !regexp.MustCompile(start + c.program + `(?:\s|$|[^-\w.])`).MatchString(command) {
					continue
				}
				calls[c.program]++
				for _, limit := range c.limits {
					if !regexp.MustCompile(limit).MatchString(command) {
						problems = append(problems, fmt.Sprintf("no %s (%s): %s", limit, c.reason, strings.TrimSpace(command)))
					}
				}
			}
		}
	}
	return calls, problems
}

// separators are the operators between commands of a line. start matches what may precede the program of a command: words of the shell,
// assignments, and the programs that run another one.
var separators = regexp.MustCompile(`&&|\|\||[;|&]\s|\$\(|\x60`)

const start = `^[\s({!]*(?:[\w|*-]+\)\s+)?(?:\w+\(\) \{ )?` +
	`(?:(?:if|until|while|then|do|else|exec|setsid|env|!|-k|\d+|timeout|\w+=\S*|case|sh|"\S*/outlive.sh")\s+)*`

// TestFindsCallsWithoutLimit verifies that a call without a limit is found wherever a command can be in a script.
func TestFindsCallsWithoutLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"alone":                      {`virsh version`, 1},
		"with a limit":               {`timeout 3 virsh version`, 0},
		"with a limit and a kill":    {`timeout -k 5 3 virsh version`, 0},
		"in place of the shell":      {`exec virsh version`, 1},
		"a limit of another command": {`timeout 3 true && virsh version`, 1},
		"after a limited one":        {`timeout 3 virsh version; virsh list`, 1},
		"in a substitution":          {`now="$(virsh version)"`, 1},
		"in a condition":             {`if ! virsh version; then`, 1},
		"in a loop":                  {`until ovs-vsctl --no-wait show >/dev/null; do sleep 1; done`, 1},
		"in a function":              {`libvirt() { virsh "$@"; }`, 1},
		"behind an assignment":       {`LANG=C virsh version`, 1},
		"over two lines":             {"virsh \\\n  version", 1},
		"behind a pipe":              {`printf x | virsh secret-set-value`, 1},
		"a separate option":          {`ovs-vsctl --timeout=10 show`, 0},
		"a separate option, missing": {`ovs-vsctl show`, 1},
		"a short request":            {`curl --connect-timeout 10 --max-time 30 https://x`, 0},
		"a long request":             {`curl --connect-timeout 10 --max-time 300 https://x`, 2},
		"a comment":                  {`# virsh version`, 0},
		"a text":                     {`echo "use virsh version"`, 0},
		"a file":                     {`cat /etc/ceph/ceph.conf`, 0},
		"in a batch of a case":       {`  alive) virsh version ;;`, 1},
		"in the background":          {`sleep 1 & virsh version`, 1},
	} {
		if _, got := unbounded(tc.text); len(got) != tc.want {
			t.Errorf("%s: %q has the problems %q, want %d", name, tc.text, got, tc.want)
		}
	}
}

// scripts returns the shell scripts of containers by their path.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, folder := range []string{"functions", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || filepath.Ext(path) != ".sh":
				return nil
			}
			text, err := os.ReadFile(path)
			out[strings.TrimPrefix(path, root+"/")] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A limit is a number in a file, with its unit. Several numbers are added up.
type limit struct {
	file     string
	patterns []string
	unit     time.Duration
}

// TestInnerLayersTimeOutFirst verifies that a client gives up before the layer that calls it: otherwise the upper layer reports that the
// client hangs, and the reason is lost.
func TestInnerLayersTimeOutFirst(t *testing.T) {
	const (
		probe   = "internal/kube/workload/probe.go"
		steps   = "companion/internal/controller/step.go"
		compute = "functions/hypervisor/nova-compute.sh"
	)
	for name, tc := range map[string]struct{ inner, outer limit }{
		"a connection of the companion, and its request": {
			limit{"companion/internal/identity/identity.go", []string{`connectTimeout = (\d+) \* time\.Second`}, time.Second},
			limit{"companion/internal/identity/identity.go", []string{`[^t]timeout = (\d+) \* time\.Second`}, time.Second},
		},
		"Nova's wait for the database of a cell (60 s), and a request of the companion": {
			limit{"companion/internal/identity/identity.go", []string{`CELL_TIMEOUT, (\d+) s`}, time.Second},
			limit{"companion/internal/identity/identity.go", []string{`[^t]timeout = (\d+) \* time\.Second`}, time.Second},
		},
		"a request of the companion, and its pass": {
			limit{"companion/internal/identity/identity.go", []string{`[^t]timeout = (\d+) \* time\.Second`}, time.Second},
			limit{steps, []string{`PassTimeout = (\d+) \* time\.Minute`}, time.Minute},
		},
		"a silent object store with all retries, and a transfer": {
			limit{"functions/ovn/bucket.sh", []string{`--speed-time (\d+)`, `--retry-max-time (\d+)`}, time.Second},
			limit{"functions/ovn/bucket.sh", []string{`--max-time (\d+)`}, time.Second},
		},
		"a copy of a database, and its Job": {
			limit{"functions/ovn/snapshot.sh", []string{`ovsdb-client --timeout=(\d+)`}, time.Second},
			limit{"internal/kube/workload/objects.go", []string{`ActiveDeadlineSeconds:\s+ptr\.To\[int64\]\((\d+)\)`}, time.Second},
		},
		"a request to an object store, and its Job": {
			limit{"functions/ovn/bucket.sh", []string{`--max-time (\d+)`, `--retry-max-time (\d+)`}, time.Second},
			limit{"internal/kube/workload/objects.go", []string{`ActiveDeadlineSeconds:\s+ptr\.To\[int64\]\((\d+)\)`}, time.Second},
		},
		"flows of a switch, and the probe of its agent": {
			limit{"functions/hypervisor/neutron-agent.sh", []string{`ovs-ofctl --timeout=(\d+)`}, time.Second},
			limit{probe, []string{`lightCommands = .*readiness: pace\{\d+, (\d+)`}, time.Second},
		},
		"a connection to a queue, and its probe": {
			limit{probe, []string{`timeout (\d+) bash`}, time.Second},
			limit{probe, []string{`attached = .*liveness: pace\{\d+, (\d+)`}, time.Second},
		},
		"the answer of nova-compute, and the program that waits for it": {
			limit{compute, []string{`TIMEOUT=(\d+)`}, time.Second}, limit{compute, []string{`timeout -k \d+ (\d+) python3`}, time.Second},
		},
		"the calls of libvirt's probe, and the probe": {
			limit{"functions/hypervisor/libvirt.sh", []string{`timeout (\d+) virt-admin --connect virtlogd`, `timeout (\d+) virsh`,
				`timeout (\d+) virt-admin --connect libvirtd`}, time.Second},
			limit{probe, []string{`commands = .*readiness: pace\{\d+, (\d+)`}, time.Second},
		},
		"two waits of Nova for a database, and its wait for a cell (60 s)": {
			limit{"internal/openstack/compute/timeouts.go", []string{`apiReadTimeout = (\d+) `, `apiReadTimeout = (\d+) `,
				`databaseConnectTimeout = (\d+) `}, time.Second},
			limit{"companion/internal/identity/identity.go", []string{`CELL_TIMEOUT, (\d+) s`}, time.Second},
		},
		"two waits of Nova's scheduler for a database after a report, and the limit of its age (service_down_time, 60 s)": {
			limit{"internal/openstack/compute/timeouts.go", []string{`schedulerReadTimeout = (\d+) `, `schedulerReadTimeout = (\d+) `,
				`databaseConnectTimeout = (\d+) `, `reports, which come every (\d+) s`}, time.Second},
			limit{"internal/openstack/compute/timeouts.go", []string{`service_down_time \((\d+) s\)`}, time.Second},
		},
		"a query of libvirt, and the probe of its keys": {
			limit{"functions/hypervisor/volume-keys.sh", []string{`timeout (\d+) virsh`}, time.Second},
			limit{probe, []string{`commands = .*readiness: pace\{\d+, (\d+)`}, time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if inner, outer := tc.inner.read(t), tc.outer.read(t); inner >= outer {
				t.Errorf("%s is not below %s", inner, outer)
			}
		})
	}
}

func (l limit) read(t *testing.T) (total time.Duration) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, l.file))
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range l.patterns {
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no %s", l.file, pattern)
		}
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		total += time.Duration(n) * l.unit
	}
	return total
}
