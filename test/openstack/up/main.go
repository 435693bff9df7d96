//go:build linux

// Command up runs a claim as a cloud on this machine, and keeps it running until it is stopped.
//
//	up -claim 'FILE…' -dir FOLDER  start in the background, and return when the cloud is ready
//	up -dir FOLDER -down           stop it; nothing remains
//	up -dir FOLDER -proxy ADDRESS  give browsers of this machine access to it, until interrupted
//
// With a claim for hypervisors in addition to the control plane's, the cloud runs servers, without KVM; FOLDER/enter
// FOLDER/boot then starts one. With a claim for storage, all data is in a real Ceph. A Heat template in addition is
// what boot creates: it needs the parameter image, and the outputs server, address and volume. FOLDER/horizon explains
// how a browser gets to the dashboard.
//
// The cloud has a separate network. FOLDER then contains the administrator's clouds.yaml and a script enter, which runs
// a command with the cloud's emitted host names and addresses:
//
//	FOLDER/enter openstack token issue
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// Files in the folder.
const (
	pidFile, logFile         = "pid", "log"
	readyFile                = "ready"
	cloudsFile, caFile       = "clouds.yaml", "ca.crt"
	claimFile                = "claim.yaml"
	enterFile, bootFile      = "enter", "boot"
	stackFile, diskDir       = "stack.yaml", "disk"
	horizonFile              = "horizon"
	passwordFile, publicFile = "password", "public.crt"
	background               = "-background"
	startTimeout, stopWithin = 15 * time.Minute, 30 * time.Second
)

type options struct {
	claim, platform, dir, root, proxy string
	down, background                  bool
}

func main() {
	sandbox.Main()
	o := options{}
	flag.StringVar(&o.claim, "claim", "", "the claim, or several, in files or folders")
	flag.StringVar(&o.platform, "platform", "", "the PlatformConfig (default: the tests' PlatformConfig, without a secret store)")
	flag.StringVar(&o.dir, "dir", "", "folder for the cloud's files")
	flag.StringVar(&o.root, "root", ".", "folder of this project")
	flag.BoolVar(&o.down, "down", false, "stop the cloud")
	flag.StringVar(&o.proxy, "proxy", "", "address of this machine to be a proxy at by which browsers get into the cloud")
	flag.BoolVar(&o.background, "background", false, "be the cloud itself")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	if o.dir == "" {
		return errors.New("give -dir: the folder of the cloud's files")
	}
	for _, path := range []*string{&o.dir, &o.root} {
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	switch {
	case o.down:
		return o.stop()
	case o.proxy != "":
		return o.browse()
	case sandbox.Entered():
		return o.serve()
	case o.background:
		code, err := sandbox.Enter(o.entered)
		if err == nil && code != 0 {
			err = fmt.Errorf("the cloud ended with %d", code)
		}
		return err
	}
	return o.start()
}

// start runs this program again in the background, and waits until the cloud is ready.
func (o *options) start() error {
	if o.claim == "" {
		return errors.New("give -claim: the file of the claim, for example CLAIM=examples/controlplane/development.yaml")
	}
	if o.running() != 0 {
		return fmt.Errorf("a cloud runs in %s already; stop it with make openstack-down", o.dir)
	}
	ctx := context.Background()
	if _, err := o.programs(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(o.dir), os.MkdirAll(o.dir, 0o755)); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(o.dir, logFile))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the cloud has it
	args := []string{"-claim", o.claim, "-platform", o.platform, "-dir", o.dir, "-root", o.root, background}
	cmd := exec.Command("/proc/self/exe", args...) //nolint:noctx // it outlives this process
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	finished := make(chan error, 1)
	go func() { finished <- cmd.Wait() }()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(o.dir, readyFile)); err == nil {
			fmt.Fprint(os.Stdout, string(text))
			return nil
		}
		select {
		case err := <-finished:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the cloud did not start (%w); the end of %s:\n%s", err, log.Name(), text[max(len(text)-4000, 0):])
		default:
		}
	}
	return errors.Join(fmt.Errorf("the cloud is not ready after %s; see %s", startTimeout, log.Name()), o.stop())
}

// programs returns the programs of a cloud with the claim's release, and installs missing ones.
func (o *options) programs(ctx context.Context) (*install.Programs, error) {
	c, err := readClaims(strings.Fields(o.claim))
	if err != nil {
		return nil, err
	}
	return install.All(ctx, o.root, install.Options{
		Releases: []release.Release{c.release}, Guests: c.pool != nil, Ceph: c.storage != nil,
	}, os.Stderr)
}

// entered records the first process of the cloud, by which others enter and stop it.
func (o *options) entered(pid int) {
	if err := os.WriteFile(filepath.Join(o.dir, pidFile), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "cannot write the process id:", err)
	}
}

// serve runs the cloud.
func (o *options) serve() error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if o.platform == "" {
		o.platform = filepath.Join(o.root, "test", "openstack", "testdata", "platform.yaml")
	}
	claims, err := readClaims(strings.Fields(o.claim))
	if err != nil {
		return err
	}
	platform, err := os.ReadFile(o.platform)
	if err != nil {
		return err
	}
	programs, err := o.programs(ctx)
	if err != nil {
		return err
	}
	if err := sandbox.Prepare(); err != nil {
		return err
	}
	start := time.Now()
	c, err := clouds.Start(ctx, clouds.Options{
		Claim: claims.plane, Pool: claims.pool, Storage: claims.storage, Platform: platform, Programs: programs,
		Dir: filepath.Join(os.TempDir(), "cloud"), Disk: filepath.Join(o.dir, diskDir), Progress: clouds.Stamped(os.Stderr),
	})
	if c != nil {
		defer c.Stop()
	}
	if err != nil {
		return err
	}
	ready, err := o.announce(ctx, c, claims, programs.Guest)
	if err != nil {
		return err
	}
	ready = fmt.Sprintf("the cloud is ready after %.0f s\n%s", time.Since(start).Seconds(), ready)
	if err := os.WriteFile(filepath.Join(o.dir, readyFile), []byte(ready), 0o644); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// running returns the first process of the cloud: 0 if there is none.
func (o *options) running() int {
	text, err := os.ReadFile(filepath.Join(o.dir, pidFile))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return 0
	}
	// Its number may long be another's.
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(args), "\x00"+o.dir+"\x00") {
		return 0
	}
	return pid
}

// stop ends the cloud, with all of its processes, and removes its files.
func (o *options) stop() error {
	pid := o.running()
	if pid != 0 {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			return fmt.Errorf("cannot stop the cloud (process %d): %w", pid, err)
		}
		for deadline := time.Now().Add(stopWithin); o.running() != 0; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		fmt.Fprintln(os.Stdout, "the cloud is stopped")
	} else {
		fmt.Fprintln(os.Stdout, "no cloud runs in", o.dir)
	}
	return os.RemoveAll(o.dir)
}
