// Command demo shows the creation of an OpenStack control plane by the real Crossplane, on one machine:
//
//	go run ./test/platform/demo            # starts a platform, creates a claim, and runs until Ctrl-C
//	go run ./test/platform/demo --down     # stops it from another terminal, and removes its files
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// remote is the additional cluster that the PlatformConfig of the examples offers.
const remote = "west"

// cli are the flags.
type cli struct {
	Claim    string        `default:"examples/controlplane/claim.yaml" help:"File with the claim to order." type:"existingfile"`
	Dir      string        `help:"Folder of the platform. Default: demo in the cache folder."`
	Packages string        `help:"Folder made by make package, to install from. Default: packages of this tree." type:"existingdir"`
	Remote   bool          `help:"Start a second cluster and order the workloads there."`
	Timeout  time.Duration `default:"15m" help:"How long to wait for the platform, and then for the claim; building is not counted."`
	Once     bool          `help:"End when the claim is ready, instead of staying up."`
	Down     bool          `help:"Stop a running demo, and remove its files."`
}

func main() {
	var c cli
	kong.Parse(&c, kong.Description("Order an OpenStack control plane from the real Crossplane, on this machine."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := c.run(ctx, os.Stdout)
	if ctx.Err() != nil {
		err = nil // it was stopped by the user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func (c *cli) run(ctx context.Context, out io.Writer) error {
	if c.Dir == "" {
		cache, err := platform.CacheDir()
		if err != nil {
			return err
		}
		c.Dir = filepath.Join(cache, "demo")
	}
	if c.Down {
		return down(ctx, c.Dir, out)
	}
	claim, err := readClaim(c.Claim)
	if err != nil {
		return err
	}
	options := platform.Options{Dir: c.Dir, Packages: c.Packages, Progress: out, Timeout: c.Timeout}
	if c.Remote {
		options.Remote = remote
		if err := unstructured.SetNestedField(claim.Object, remote, "spec", "cluster", "ref", "name"); err != nil {
			return err
		}
	}
	p, err := platform.Start(ctx, options)
	if err != nil {
		return err
	}
	defer p.Stop()
	timeout, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("%s are over", c.Timeout))
	defer cancel()
	if err := order(timeout, p, claim, out); err != nil {
		return fmt.Errorf("%w\nLogs are in %s", err, filepath.Join(p.Dir, "logs"))
	}
	if c.Once {
		return nil
	}
	next(ctx, p, claim, out)
	for p.Err() == nil {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out, "\nStopping.")
			return nil
		case <-time.After(time.Second):
		}
	}
	return p.Err()
}

func down(ctx context.Context, dir string, out io.Writer) error {
	previous, err := platform.Down(ctx, dir)
	switch {
	case err != nil:
		return err
	case previous:
		fmt.Fprintln(out, "The demo is stopped, and everything that it wrote is gone.")
	default:
		fmt.Fprintln(out, "No demo runs.")
	}
	return nil
}

var errNotOne = errors.New("it has to hold exactly one object, the claim")
