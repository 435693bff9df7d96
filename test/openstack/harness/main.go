//go:build openstack && linux

package harness

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

var (
	// service is the selected subject; empty: all that need no Ceph.
	service = flag.String("service", "", "the service or infrastructure to test; empty: all")
	// logs is a folder for the logs of the pods of a failed test; empty: they are deleted with the test.
	logs = flag.String("logs", "", "a folder for the logs of the pods of tests that fail")
	// Busy is the time for which TestLoadMatchesModelOfCapacity keeps a server busy, and a stream idle. An upload takes twice as long.
	Busy = flag.Duration("busy", 10*time.Minute, "how long the load tests keep a server busy; an upload takes twice as long")
	// Programs are the programs of clouds.
	Programs *install.Programs
	// Newest is the release of components without a release.
	Newest = release.Releases()[len(release.Releases())-1]
)

// Main runs the tests of a package, as its TestMain.
func Main(m *testing.M) {
	sandbox.Main()
	flag.DurationVar(&operators.Timeout, "ready-timeout", operators.Timeout, "how long anything may take to become ready")
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run installs the prerequisites while there is a network, and then runs the tests in a sandbox.
func run(m *testing.M) (int, error) {
	options := install.Options{Releases: release.Releases(), Browser: true, Guests: true}
	options.Proxies = strings.Contains(flag.Lookup("test.run").Value.String(), "TestLoad")
	if *service != "" {
		if err := narrow(&options); err != nil {
			return 0, err
		}
	}
	if options.Proxies {
		// The load tests wait rather than compute: all of them run at a time, on how few processors there may be.
		if err := flag.Set("test.parallel", "8"); err != nil {
			return 0, err
		}
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		return 0, err
	}
	if Programs, err = install.All(context.Background(), root, options, os.Stderr); err != nil {
		return 0, err
	}
	if !sandbox.Entered() {
		return sandbox.Enter(nil)
	}
	if err := sandbox.Prepare(); err != nil {
		return 0, err
	}
	ctrl.SetLogger(logr.Discard())
	return m.Run(), nil
}

// narrow reduces the options to those of the tests of one service.
func narrow(options *install.Options) error {
	s, err := find(*service)
	if err != nil {
		return err
	}
	options.Ceph, options.Browser, options.Guests, options.Proxies = s.ceph, s.browser, s.runsServers, s.proxies
	if s.alone || len(s.releases) > 0 {
		options.Releases = s.releases
	}
	if flag.Lookup("test.run").Value.String() == "" {
		return flag.Set("test.run", "^Test"+s.name)
	}
	return nil
}

// Progress returns the writer for clouds' progress, each line with its time.
func Progress() io.Writer {
	if testing.Verbose() {
		return clouds.Stamped(os.Stderr)
	}
	return io.Discard
}

// Platform returns the settings of the platform, for the address family of the sandbox.
func Platform(t testing.TB) []byte {
	t.Helper()
	text := Read(t, "platform.yaml")
	if sandbox.IPv6 {
		text = bytes.Replace(text, []byte("\nspec:\n"), []byte("\nspec:\n  ipFamily: IPv6\n"), 1)
	}
	return text
}

// Read returns a file of test/openstack/testdata.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// KeepLogs copies the logs of pods, if the test has failed and a folder is set.
func KeepLogs(t testing.TB, dir string) {
	t.Helper()
	if !t.Failed() || *logs == "" {
		return
	}
	to := filepath.Join(*logs, t.Name())
	if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(filepath.Join(dir, "logs")))); err != nil {
		t.Log("cannot keep the logs:", err)
		return
	}
	t.Log("logs of the pods:", to)
}

// Start returns a cloud that is stopped after the test.
func Start(t testing.TB, claim []byte, change func(*clouds.Options)) *clouds.Cloud {
	t.Helper()
	o := clouds.Options{Claim: claim, Platform: Platform(t), Programs: Programs, Dir: t.TempDir(), Progress: Progress()}
	if change != nil {
		change(&o)
	}
	t.Cleanup(func() { KeepLogs(t, o.Dir) })
	c, err := clouds.Start(context.Background(), o)
	if c != nil {
		t.Cleanup(c.Stop)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
