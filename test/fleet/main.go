// Command fleet measures the passes of a companion over all hypervisors of a control plane:
//
//	make bench-fleet                       # 500, 1,000, 2,000 and 5,000 nodes
//	make bench-fleet NODES=2000
//
// The companion is the real program. OpenStack is simulated, with TLS and a delay of each response, and so is the API server, which
// returns pods in the encoding of a real one. The nodes are in four pools and four cells, and one of a hundred is down. The exit code is 1
// if a pass over 2,000 nodes exceeds a limit.
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
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
)

const (
	// pools is the number of pools, and interval the default time between two passes of each, in seconds.
	pools, interval = 4, 60
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
	Passes    int    `default:"1" help:"How many passes of each pool are measured after the first one."`
	Details   bool   `help:"Print the requests by path."`
}

func main() {
	var c cli
	kong.Parse(&c, kong.Description("Measure the passes of a companion over all hypervisors of a control plane."))
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
	var all []result
	var exceeded error
	for _, n := range c.Nodes {
		r, err := c.measure(ctx, n)
		if err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
		fmt.Printf("| %d, %d | %.1f s, %.1f s | %d (%d), %d | %.0f MiB |\n",
			n, r.servers, r.first.Seconds(), r.later.Seconds(), r.requests, r.connections, r.reads, r.memory)
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
	memory float64
}

// measure starts a companion for a number of nodes.
func (c *cli) measure(ctx context.Context, nodes int) (result, error) { //nolint:funlen // one step after the other
	r := result{nodes: nodes}
	o, err := startOpenStack(nodes)
	if err != nil {
		return r, err
	}
	defer o.stop()
	k := startAPI(nodes, pools, o.clouds(), o.ca.Certificate)
	defer k.CloseClientConnections()
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // The folder is temporary.
	config := filepath.Join(dir, "kubeconfig")
	if err := kubernetes.Kubeconfig(config, k.URL, nil, &clientcmdapi.AuthInfo{}); err != nil {
		return r, err
	}
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
	companion := exec.CommandContext(ctx, c.Companion,
		"--namespace="+namespace, "--controllers=servicecheck", "--metrics-address="+metrics, "--health-address=0")
	companion.Env = append(os.Environ(), "KUBECONFIG="+config)
	companion.Stdout, companion.Stderr = log, log
	if err := companion.Start(); err != nil {
		cancel()
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
	checks, servers := k.counted()
	if checks != pools || servers != int64(nodes)*serversPerNode {
		return r, fmt.Errorf("%d of %d pools are counted, with %d servers; the end of the log:\n%s", checks, pools, servers, m.tail())
	}
	_, requests, connections := o.counts()
	reads := k.count()
	last, err := m.wait(ctx, first.passes+pools*c.Passes)
	if err != nil {
		return r, err
	}
	r.servers, r.first, r.later = servers, first.time, (last.time-first.time)/time.Duration(c.Passes)
	byPath, total, opened := o.counts()
	r.byPath, r.requests, r.connections = byPath, (total-requests)/c.Passes, (opened-connections)/c.Passes
	r.reads = (k.count() - reads) / c.Passes
	r.memory, err = peakMemory(companion.Process.Pid)
	return r, err
}

// meter reads the metrics of the companion.
type meter struct {
	metrics, log string
	ended        chan error
}

// passes is a number of passes and the sum of their times.
type passes struct {
	passes int
	time   time.Duration
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
		if !strings.Contains(name, `controller="servicecheck"`) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
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
