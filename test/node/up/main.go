//go:build linux

// Command up starts a cluster of one real node on this machine, and keeps it until it is stopped.
//
//	up               start in the background, and return when it is ready
//	up -platform     the same, with the operators of other projects, Crossplane, and this project, for control planes
//	up -storage      the same for Ceph clusters
//	up -hypervisors  the same for control planes and hypervisors, of which the node is one
//	up -down         stop it; nothing remains
//
// The cluster has a separate network. The printed script runs a command in it, with the administrator's kubeconfig:
//
//	~/.cache/cobaltcore/node/enter kubectl get pods -A
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

	"github.com/c5c3/crossplane-cobaltcore/test/node"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// startTimeout is the maximum duration of a start when everything is built.
const startTimeout = 10 * time.Minute

// Flags that select the platform services of a node.
const (
	platformFlag = "platform"
	storageFlag  = "storage"
	poolFlag     = "hypervisors"
)

// deviceSize is the size of a device for Ceph, in bytes. Only written blocks use disk space.
const deviceSize = 12 << 30

func main() {
	sandbox.Main()
	root := flag.String("root", ".", "folder of this project")
	down := flag.Bool("down", false, "stop the cluster")
	background := flag.Bool("background", false, "be the cluster")
	platform := flag.Bool(platformFlag, false, "install the operators of control planes, Crossplane and everything of ours, too")
	storage := flag.Bool(storageFlag, false, "install the operators of Ceph clusters, Crossplane and everything of ours, too")
	pool := flag.Bool(poolFlag, false, "the same as -platform, and make the node a hypervisor")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	folder, err := node.Folder()
	if err == nil {
		*root, err = filepath.Abs(*root)
	}
	if err == nil {
		u := up{folder: folder, root: *root}
		switch {
		case *platform:
			u.kit, u.flag = &node.ControlPlanes, platformFlag
		case *storage:
			u.kit, u.flag = &node.Storage, storageFlag
		case *pool:
			u.kit, u.flag = &node.Hypervisors, poolFlag
		}
		switch {
		case *down:
			err = u.stop()
		case sandbox.Entered():
			err = u.serve()
		case *background:
			err = u.enter()
		default:
			err = u.start()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

// up is a cluster that runs in the background. Its files are in a folder: pid, of the process outside of its sandbox;
// log; and ready, which exists when the cluster is ready.
type up struct {
	folder string
	root   string
	// kit of a platform, and its flag. Nil: there is none.
	kit  *node.PlatformServices
	flag string
}

func (u up) file(name string) string { return filepath.Join(u.folder, name) }

// start runs this program again in the background, and waits until the cluster is ready.
func (u up) start() error {
	if pid := u.running(); pid != 0 {
		return fmt.Errorf("a node runs already (process %d); stop it with make node-down", pid)
	}
	if err := node.Install(context.Background(), u.root, os.Stderr); err != nil {
		return err
	}
	args := []string{"-background", "-root=" + u.root}
	if u.kit != nil {
		args = append(args, "-"+u.flag)
		if err := u.kit.Install(context.Background(), u.root, os.Stderr); err != nil {
			return err
		}
	}
	if err := errors.Join(node.Clean(), os.RemoveAll(u.file("ready"))); err != nil {
		return err
	}
	log, err := os.Create(u.file("log"))
	if err != nil {
		return err
	}
	defer log.Close()                              //nolint:errcheck // the cluster has it
	cmd := exec.Command("/proc/self/exe", args...) //nolint:noctx // it outlives this process
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	finished := make(chan error, 1)
	go func() { finished <- cmd.Wait() }()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if text, err := os.ReadFile(u.file("ready")); err == nil {
			fmt.Fprint(os.Stdout, string(text))
			return nil
		}
		select {
		case err := <-finished:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("it did not start (%w):\n%s", err, text[max(len(text)-4000, 0):])
		default:
		}
	}
	return errors.Join(fmt.Errorf("it is not ready after %s; see %s", startTimeout, log.Name()), u.stop())
}

// enter runs the process outside of the cluster's sandbox, which lives as long as the sandbox.
func (u up) enter() error {
	if err := os.WriteFile(u.file("pid"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return err
	}
	code, err := sandbox.Enter(u.entered)
	if err == nil && code != 0 {
		err = fmt.Errorf("it ended with %d", code)
	}
	return errors.Join(err, node.Clean(), os.Remove(u.file("pid")))
}

// entered writes the script that enters the sandbox of a first process.
func (u up) entered(pid int) {
	script := fmt.Sprintf("#!/bin/sh\n# Runs a command in the machine of the node.\nexport KUBECONFIG=%s PATH=%s:$PATH\n"+
		"exec nsenter -t %d -n -m -p -u -i --wdns=\"$PWD\" -- \"$@\"\n", u.file("state/pki/admin.kubeconfig"), u.file("bin"), pid)
	if err := os.WriteFile(u.file("enter"), []byte(script), 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "cannot write the script that enters the machine:", err)
	}
}

// serve runs the first process of the cluster's sandbox.
func (u up) serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	n, err := node.Start(starting, os.Stdout)
	if err != nil {
		return err
	}
	defer n.Stop()
	if u.kit != nil {
		if err := errors.Join(n.Operators(starting, *u.kit), n.Crossplane(starting, u.root, node.Platform)); err != nil {
			return err
		}
	}
	text := "the node is ready"
	switch u.flag {
	case poolFlag:
		if err := n.Hypervisor(starting); err != nil {
			return err
		}
		text += fmt.Sprintf(", a hypervisor that leads to %s by %s (claims are in test/node/testdata)", node.OutsideNetwork, node.Uplink)
	case storageFlag:
		device, err := n.Device(deviceSize)
		if err != nil {
			return err
		}
		text += ", and its device " + device + " is empty"
	}
	text += fmt.Sprintf("; try\n  %s kubectl get pods -A\nand stop it with make node-down\n", u.file("enter"))
	if err := os.WriteFile(u.file("ready"), []byte(text), 0o644); err != nil {
		return err
	}
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := n.Err(); err != nil {
				return err
			}
		}
	}
}

// running returns the process of a cluster, or 0.
func (u up) running() int {
	text, err := os.ReadFile(u.file("pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	// Its number may long be another's.
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(command), "-background") {
		return 0
	}
	return pid
}

// stop ends the cluster, and removes its files.
func (u up) stop() error {
	pid := u.running()
	// The sandbox ends with its first process, however that ends.
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if pid == 0 {
			break
		}
		if err := syscall.Kill(pid, signal); err != nil {
			return err
		}
		for waited := 0; u.running() != 0 && waited < 300; waited++ {
			time.Sleep(100 * time.Millisecond)
		}
		pid = u.running()
	}
	for _, name := range []string{"pid", "ready", "enter"} {
		if err := os.RemoveAll(u.file(name)); err != nil {
			return err
		}
	}
	return node.Clean()
}
