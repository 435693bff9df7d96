//go:build node && linux

package node_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/node"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// running: the tests run in the sandbox of a node that `make node-up ARGS=-platform` started.
var running = flag.Bool("running", false, "use the node that runs, in whose machine this is, instead of starting one")

// cluster is the node with the platform that all tests share.
var cluster *node.Node

func TestMain(m *testing.M) {
	sandbox.Main()
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// selected reports whether tests of a name were selected, instead of all tests.
func selected(name string) bool {
	return strings.Contains(flag.Lookup("test.run").Value.String(), name)
}

// kit returns the platform services that the selected tests need.
func kit() node.PlatformServices {
	switch {
	case selected("Storage"):
		return node.Storage
	case selected("Hypervisors"):
		return node.Hypervisors
	case selected("Tempest"):
		return node.Tempest
	}
	return node.ControlPlanes
}

// run installs the prerequisites while there is a network, and then runs the tests in a sandbox.
func run(m *testing.M) (code int, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return 0, err
	}
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if *running {
		if cluster, err = node.Attach(os.Stdout); err != nil {
			return 0, err
		}
		return m.Run(), nil
	}
	if !sandbox.Entered() {
		if err := build(root); err != nil {
			return 0, err
		}
		code, err := sandbox.Enter(nil)
		return code, errors.Join(err, node.Clean())
	}
	if cluster, err = node.Start(ctx, os.Stdout); err != nil {
		return 0, err
	}
	defer cluster.Stop()
	if err := cluster.Operators(ctx, kit()); err != nil {
		return 0, err
	}
	if err := cluster.Crossplane(ctx, root, node.Platform); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// build builds the node, its operators and the tests' tools, which takes long the first time.
func build(root string) error {
	unhurried := context.Background()
	if err := node.Install(unhurried, root, os.Stderr); err != nil {
		return err
	}
	if err := kit().Install(unhurried, root, os.Stderr); err != nil || selected("Storage") {
		return err
	}
	if selected("Hypervisors") {
		_, err := install.NewGuest(unhurried, os.Stderr)
		return err
	}
	_, err := install.Services(unhurried, root, clientRelease, os.Stderr)
	return err
}
