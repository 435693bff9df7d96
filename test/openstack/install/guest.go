package install

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Guest is the boot image of servers, in two files: a cloud kernel of Debian, and a root with only BusyBox, which is
// in memory. It gets an address by DHCP, reads its metadata, and serves it by HTTP.
type Guest struct {
	Kernel, Initrd string
}

// guestInit is its first process, and guestLease the handler of its DHCP lease.
var (
	//go:embed guest-init.sh
	guestInit string
	//go:embed guest-lease.sh
	guestLease string
)

// guestModules are the kernel modules for its devices, in the order in which they are loaded.
var guestModules = []string{
	"virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci",
	"failover", "net_failover", "virtio_net", "virtio_blk",
}

// NewGuest builds the files from Debian's packages, unless they exist.
func NewGuest(ctx context.Context, log io.Writer) (Guest, error) {
	dir, err := once("guest", append([]string{guestInit, guestLease}, guestModules...), func(dir string) error {
		fmt.Fprintln(log, "makes a guest of Debian's packages in", dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := unpack(ctx, dir); err != nil {
			return err
		}
		if err := assemble(dir); err != nil {
			return fmt.Errorf("cannot make the guest: %w", err)
		}
		return os.RemoveAll(filepath.Join(dir, "root"))
	})
	return Guest{Kernel: filepath.Join(dir, "vmlinuz"), Initrd: filepath.Join(dir, "initrd.gz")}, err
}

// unpack fetches the packages, and extracts them below root.
func unpack(ctx context.Context, dir string) error {
	kernel, err := output(ctx, dir, "apt-cache", "depends", "--important", "linux-image-cloud-amd64")
	if err != nil {
		return err
	}
	_, name, found := strings.Cut(kernel, "Depends: ")
	if !found {
		return fmt.Errorf("cannot find Debian's kernel for clouds: %s", kernel)
	}
	name = strings.Fields(name)[0]
	for _, pkg := range []string{name, "busybox-static"} {
		if _, err := output(ctx, dir, "apt-get", "download", "-qq", pkg); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, pkg+"_*.deb"))
		if err != nil || len(files) != 1 {
			return fmt.Errorf("cannot find the package %s: %v, %w", pkg, files, err)
		}
		if _, err := output(ctx, dir, "dpkg-deb", "-x", files[0], filepath.Join(dir, "root")); err != nil {
			return err
		}
		if err := os.Remove(files[0]); err != nil {
			return err
		}
	}
	return nil
}

// assemble creates the two files from the packages.
func assemble(dir string) error {
	kernels, err := filepath.Glob(filepath.Join(dir, "root", "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		return fmt.Errorf("there are the kernels %v (%w)", kernels, err)
	}
	busybox, err := os.ReadFile(filepath.Join(dir, "root", "bin", "busybox"))
	if err != nil {
		return err
	}
	a := &archive{}
	for _, d := range []string{"bin", "dev", "etc", "lib", "lib/modules", "proc", "sys", "tmp", "www"} {
		a.add(d, folderMode, nil)
	}
	a.add("bin/busybox", programMode, busybox)
	a.add("init", programMode, []byte(guestInit))
	a.add("etc/lease", programMode, []byte(guestLease))
	err = filepath.WalkDir(filepath.Join(dir, "root", "lib", "modules"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, m := range guestModules {
			if d.Name() == m+".ko" {
				text, err := os.ReadFile(path) //nolint:gosec // nobody else writes there
				a.add("lib/modules/"+d.Name(), fileMode, text)
				return err
			}
		}
		return nil
	})
	a.add("etc/modules", fileMode, []byte(strings.Join(guestModules, "\n")+"\n"))
	packed := &bytes.Buffer{}
	zip := gzip.NewWriter(packed)
	_, e := zip.Write(a.bytes())
	return errors.Join(err, e, zip.Close(), os.WriteFile(filepath.Join(dir, "initrd.gz"), packed.Bytes(), 0o644),
		os.Rename(kernels[0], filepath.Join(dir, "vmlinuz")))
}

// Modes of files in an archive.
const (
	folderMode  = 0o040755
	programMode = 0o100755
	fileMode    = 0o100644
)

// archive is the kernel's initial root: the format newc of cpio
// (https://docs.kernel.org/driver-api/early-userspace/buffer-format.html).
type archive struct {
	buffer bytes.Buffer
	files  int
}

func (a *archive) add(name string, mode int, data []byte) {
	a.files++
	fmt.Fprintf(&a.buffer, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.files, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	a.pad()
	a.buffer.Write(data)
	a.pad()
}

func (a *archive) pad() {
	const alignment = 4
	for a.buffer.Len()%alignment != 0 {
		a.buffer.WriteByte(0)
	}
}

func (a *archive) bytes() []byte {
	a.add("TRAILER!!!", 0, nil)
	return a.buffer.Bytes()
}

// output returns the output of a program that runs in a folder.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %v: %w\n%s", program, args, err, tail(out))
	}
	return string(out), nil
}
