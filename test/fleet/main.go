// Command fleet measures the passes of a companion over all hypervisors of a control plane, and a rollout of nova-compute:
//
//	make bench-fleet                       # 500, 1,000, 2,000 and 5,000 nodes
//	make bench-fleet NODES=2000
//
// The companion, the API server and the controller of DaemonSets are the real programs. Simulated are the scheduler and the kubelets, and
// OpenStack, with TLS and a delay of each response. The nodes are in four pools and four cells, and one of a hundred is down. The exit code
// is 1 if a pass over 2,000 nodes exceeds a limit, or if a rollout does not reach all nodes that respond.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
)

const (
	// interval is the default time between two passes of a pool, in seconds.
	interval = 60
	// limitRollout is the time after which a rollout is considered blocked.
	limitRollout = time.Hour
	// The limits of a pass over limitNodes.
	limitNodes    = 2000
	limitTime     = 20 * time.Second
	limitRequests = 400
	limitMemory   = 150.0 // MiB
)

// cli are the flags.
type cli struct {
	Nodes     []int  `arg:"" optional:"" help:"Numbers of nodes. Default: 500 1000 2000 5000."`
	Companion string `required:"" type:"existingfile" help:"Path of the companion."`
	// Kubernetes has several programs in one.
	Kubernetes string `required:"" type:"existingfile" help:"Path of the tool kubernetes, with etcd, the API server and its controllers."`
	Passes     int    `default:"1" help:"How many passes of each pool are measured after the first one."`
	Details    bool   `help:"Print the requests by path."`
}

func main() {
	var c cli
	kong.Parse(&c, kong.Description("Measure the passes of a companion over all hypervisors of a control plane."))
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to stop.
	}
}

func (c *cli) run(ctx context.Context) error {
	if len(c.Nodes) == 0 {
		c.Nodes = []int{500, 1000, 2000, 5000}
	}
	fmt.Println("| Nodes, servers | First pass, later passes | Requests of a pass to OpenStack (connections), to Kubernetes | Memory, peak |")
	fmt.Println("|---|---|---|---|")
	var rollouts strings.Builder
	rollouts.WriteString("\n| Nodes, down | A rollout reaches all others after | Of these without a pod at a time, at most |\n|---|---|---|\n")
	var all []result
	var exceeded error
	for _, n := range c.Nodes {
		r, err := c.measure(ctx, n)
		if err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
		fmt.Printf("| %d, %d | %.1f s, %.1f s | %d (%d), %d | %.0f MiB |\n",
			n, r.servers, r.first.Seconds(), r.later.Seconds(), r.requests, r.connections, r.reads, r.memory)
		fmt.Fprintf(&rollouts, "| %d, %d | %.0f s | %d |\n", r.nodes, r.rollout.down, r.rollout.duration.Seconds(), r.rollout.unavailable)
		if c.Details {
			for _, path := range slices.Sorted(maps.Keys(r.byPath)) {
				fmt.Printf("  %s: %d in %d passes\n", path, r.byPath[path], c.Passes+1)
			}
		}
		all = append(all, r)
		if n == limitNodes && (max(r.first, r.later) > limitTime || r.requests > limitRequests || r.memory > limitMemory) {
			exceeded = fmt.Errorf("a pass over %d nodes exceeds %s, %d requests or %.0f MiB", n, limitTime, limitRequests, limitMemory)
		}
	}
	if first, last := all[0], all[len(all)-1]; last.nodes > first.nodes {
		thousands := float64(last.nodes-first.nodes) / 1000
		fmt.Printf("\nFor each 1,000 nodes: %.2f s, %.1f requests, %.1f MiB\n", (last.later-first.later).Seconds()/thousands,
			float64(last.requests-first.requests)/thousands, (last.memory-first.memory)/thousands)
	}
	fmt.Print(rollouts.String())
	return exceeded
}

// result is the cost of one pass of all pools.
type result struct {
	nodes   int
	servers int64
	// first is the time of the first pass of all pools, and later the mean of the others.
	first, later time.Duration
	// requests and connections to OpenStack, and reads from Kubernetes, are means of the later passes.
	requests, connections, reads int
	byPath                       map[string]int
	// memory is the peak of the resident memory in MiB.
	memory  float64
	rollout rollout
}

// measure measures a number of nodes.
func (c *cli) measure(ctx context.Context, nodes int) (r result, err error) {
	o, err := startOpenStack(nodes)
	if err != nil {
		return r, err
	}
	defer o.stop()
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // The folder is temporary.
	k, err := startCluster(ctx, c.Kubernetes, dir, nodes)
	defer k.stop()
	if err != nil {
		return r, err
	}
	if err := k.check(ctx, o.clouds(), o.ca.Certificate); err != nil {
		return r, err
	}
	if r, err = c.measurePasses(ctx, o, k, dir, nodes); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, limitRollout)
	defer cancel()
	r.rollout, err = k.roll(ctx, nodes)
	return r, err
}

// measurePasses measures the passes of a companion.
func (c *cli) measurePasses(
	ctx context.Context, o *openStack, k *cluster, dir string, nodes int,
) (result, error) {
	r := result{nodes: nodes}
	ports, err := kubernetes.FreePorts(1)
	if err != nil {
		return r, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return r, err
	}
	defer log.Close() //nolint:errcheck // It is read below.
	metrics := kubernetes.Address(ports[0])
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	companion := exec.CommandContext(ctx, c.Companion,
		"--namespace="+namespace, "--controllers=servicecheck", "--metrics-address="+metrics, "--health-address=0")
	companion.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig)
	companion.Stdout, companion.Stderr = log, log
	if err := companion.Start(); err != nil {
		return r, err
	}
	ended := make(chan error, 1)
	go func() { ended <- companion.Wait() }()
	defer func() {
		cancel()
		<-ended
	}()

	m := &meter{metrics: metrics, ended: ended, log: log.Name()}
	first, err := m.wait(ctx, pools)
	if err != nil {
		return r, err
	}
	checks, servers, err := k.counted(ctx)
	if err != nil {
		return r, err
	}
	if checks != pools || servers != int64(nodes)*serversPerNode {
		return r, fmt.Errorf("%d of %d pools are counted, with %d servers; the end of the log:\n%s", checks, pools, servers, m.tail())
	}
	_, requests, connections := o.counts()
	last, err := m.wait(ctx, first.passes+pools*c.Passes)
	if err != nil {
		return r, err
	}
	r.servers, r.first, r.later = servers, first.time, (last.time-first.time)/time.Duration(c.Passes)
	byPath, total, opened := o.counts()
	r.byPath, r.requests, r.connections = byPath, (total-requests)/c.Passes, (opened-connections)/c.Passes
	r.reads = (last.requests - first.requests) / c.Passes
	r.memory, err = peakMemory(companion.Process.Pid)
	return r, err
}

// meter reads the metrics of the companion.
type meter struct {
	metrics, log string
	ended        chan error
}

// passes is a number of passes, the sum of their times, and the number of requests to Kubernetes.
type passes struct {
	passes, requests int
	time             time.Duration
}

// wait waits for a number of passes.
func (m *meter) wait(ctx context.Context, n int) (passes, error) {
	for {
		select {
		case <-ctx.Done():
			return passes{}, ctx.Err()
		case err := <-m.ended:
			m.ended <- err
			return passes{}, fmt.Errorf("the companion has ended: %w; the end of its log:\n%s", err, m.tail())
		case <-time.After(200 * time.Millisecond):
		}
		if p, err := m.read(ctx); err == nil && p.passes >= n {
			return p, nil
		}
	}
}

// read reads the metrics of controller-runtime.
func (m *meter) read(ctx context.Context) (p passes, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.metrics+"/metrics", http.NoBody)
	if err != nil {
		return p, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return p, err
	}
	defer response.Body.Close() //nolint:errcheck // It is read.
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		ofController := strings.Contains(name, `controller="servicecheck"`)
		number, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case strings.HasPrefix(name, "rest_client_requests_total{"):
			p.requests += int(number)
		case !ofController:
		case strings.HasPrefix(name, "controller_runtime_reconcile_time_seconds_sum"):
			p.time = time.Duration(number * float64(time.Second))
		case strings.HasPrefix(name, "controller_runtime_reconcile_time_seconds_count"):
			p.passes = int(number)
		}
	}
	return p, lines.Err()
}

// tail returns the end of the log.
func (m *meter) tail() string {
	text, err := os.ReadFile(m.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(len(lines)-20, 0):], "\n")
}

// peakMemory returns the peak of a process's resident memory in MiB.
func peakMemory(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("the memory can be measured on Linux only: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("the kernel reports no peak of the memory")
}
