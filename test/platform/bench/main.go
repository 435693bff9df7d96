// Command bench measures the load of control planes on a real Crossplane:
//
//	go run ./test/platform/bench 1 10 50              # with the flags recommended in docs/install.md
//	go run ./test/platform/bench --defaults 1 10      # with Crossplane's defaults
//
// It creates claims up to each number, waits until all are ready, and prints a line of a table for each number; then
// the load of the control planes while nothing changes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// cli are the flags.
type cli struct {
	Planes   []int         `arg:"" optional:"" help:"How many control planes there are to be, one number after the other. Default: 1 10 50."`
	Core     string        `default:"crossplane-core-newest" help:"Tool of hack/tools with Crossplane's core."`
	Defaults bool          `help:"Run Crossplane with the circuit breaker's defaults."`
	Flags    []string      `help:"Further flags of Crossplane's core."`
	Rest     time.Duration `default:"60s" help:"How long to watch the ready control planes at the end."`
	Timeout  time.Duration `default:"30m" help:"How long to wait until control planes are ready."`
}

func main() {
	var c cli
	kong.Parse(&c, kong.Description("Measure the load of control planes on a real Crossplane."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func (c *cli) run(ctx context.Context) error {
	cache, err := platform.CacheDir()
	if err != nil {
		return err
	}
	if len(c.Planes) == 0 {
		c.Planes = []int{1, 10, 50}
	}
	options := platform.Options{
		Dir: filepath.Join(cache, "platform-bench"), Core: c.Core, Audit: true, FakeCompanion: true, Progress: os.Stderr,
	}
	if c.Defaults {
		options.CrossplaneArgs = []string{"--circuit-breaker-burst=100", "--circuit-breaker-refill-rate=1"}
	}
	options.CrossplaneArgs = append(options.CrossplaneArgs, c.Flags...)
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	p, err := platform.Start(ctx, options)
	if err != nil {
		return err
	}
	defer p.Stop()
	b := &bench{p: p, out: os.Stdout}
	for i, n := range c.Planes {
		if err := b.grow(ctx, n, i == 0); err != nil {
			return err
		}
	}
	if err := b.largest(ctx); err != nil {
		return err
	}
	return b.rest(ctx, c.Rest)
}
