//go:build linux

package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Device creates an empty block device of some bytes, and returns its name: loop0. It is a private file, which is
// removed with this process and the last pod that has it open.
func (n *Node) Device(size int64) (string, error) {
	file, err := os.CreateTemp(n.state, "device-")
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // the device has it
	if err := errors.Join(os.Remove(file.Name()), file.Truncate(size)); err != nil {
		return "", err
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("this machine has no loop devices: %w", err)
	}
	defer control.Close() //nolint:errcheck // nothing was written
	const attempts = 10
	for range attempts {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", fmt.Errorf("there is no loop device left: %w", err)
		}
		name := fmt.Sprintf("loop%d", number)
		device, err := os.OpenFile(filepath.Join("/dev", name), os.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}} //nolint:gosec // small
		if err = unix.IoctlLoopConfigure(int(device.Fd()), &config); err == nil {
			n.devices = append(n.devices, device)
			return name, nil
		}
		if err = errors.Join(err, device.Close()); !errors.Is(err, unix.EBUSY) {
			return "", fmt.Errorf("cannot make the device %s: %w", name, err)
		}
		time.Sleep(100 * time.Millisecond) // another process was faster
	}
	return "", errors.New("others take every loop device that is free")
}

// own replaces a folder of the node by a private one of this machine, in memory. It is large enough for the daemons,
// whatever the free space of the machine's disk: Ceph's monitors warn if less than 30 % is free.
func own(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("node", folder, "tmpfs", 0, "mode=755,size=2g"); err != nil {
		return fmt.Errorf("cannot mount a private folder %s: %w", folder, err)
	}
	return nil
}
