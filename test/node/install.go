//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// debian are required files, and the package of each.
var debian = []struct{ path, pkg string }{
	{"/usr/bin/containerd", "containerd"},
	{"/usr/sbin/runc", "runc"},
	{"/usr/lib/cni/bridge", "containernetworking-plugins"},
	{"/usr/sbin/iptables", "iptables"},
	{"/usr/sbin/nft", "nftables"},
	{"/usr/sbin/conntrack", "conntrack"},
	{"/usr/sbin/ip", "iproute2"},
	{"/usr/bin/mount", "mount"},
}

// programs are the programs that run as processes, and the tool of hack/tools that contains each.
var programs = map[string]string{
	"etcd":                    "kubernetes",
	"kube-apiserver":          "kubernetes",
	"kube-controller-manager": "kubernetes",
	"kubectl":                 "kubernetes",
	"kubelet":                 "kubernetes-node",
	"kube-proxy":              "kubernetes-node",
	"kube-scheduler":          "kubernetes-node",
	"helm":                    "helm",
}

// pods are tools that run as pods: each becomes an image of one program.
var pods = []string{"coredns", "hostpath-provisioner", "versitygw"}

// Install installs the missing prerequisites of a node: Debian packages, programs and images. It needs the network, so
// it has to run before the node's sandbox is entered; it logs its progress. Root is the folder of this project.
func Install(ctx context.Context, root string, log io.Writer) error {
	if err := packages(ctx, log); err != nil {
		return err
	}
	folder, err := Folder()
	if err != nil {
		return err
	}
	bin := filepath.Join(folder, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for name, tool := range programs {
		path, err := install.Tool(ctx, root, tool, log)
		if err != nil {
			return err
		}
		if err := replace(path, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	layout := layout{filepath.Join(folder, "images")}
	for _, name := range pods {
		path, err := install.Tool(ctx, root, name, log)
		if err != nil {
			return err
		}
		if err := layout.program(local(name), name, path); err != nil {
			return fmt.Errorf("cannot make the image of %s: %w", name, err)
		}
	}
	for _, name := range []string{"pause", "probe"} {
		path := filepath.Join(bin, name)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./test/node/"+name)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build the program %s: %w\n%s", name, err, out)
		}
		if err := layout.program(local(name), name, path); err != nil {
			return err
		}
	}
	return nil
}

// local returns the name of an image that no other registry has.
func local(name string) string { return "cobaltcore.test/" + name + ":1" }

// Folder returns the folder of all files of this package, below the cache: bin and images are kept, state belongs to
// the running node.
func Folder() (string, error) {
	cache, err := platform.CacheDir()
	return filepath.Join(cache, "node"), err
}

// replace links a program.
func replace(path, link string) error {
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(path, link)
}

// packages installs the Debian packages that are missing. The error lists them if they cannot be installed.
func packages(ctx context.Context, log io.Writer) error {
	var missing []string
	for _, p := range debian {
		if _, err := os.Stat(p.path); err != nil {
			missing = append(missing, p.pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := strings.Join(missing, ", ")
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("missing Debian packages %s: install them, or run as root where there is apt-get", names)
	}
	fmt.Fprintln(log, "installs Debian packages", names)
	for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-yqq", "--no-install-recommends"}, missing...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		// Installed services are not started.
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install the Debian packages %s (apt-get %s): %w\n%s", names, args[0], err, out)
		}
	}
	return nil
}
