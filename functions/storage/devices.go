package storage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// checkDeviceNames returns an error for a device that a node has twice: sdb is /dev/sdb, and the disk of sdb1.
func (m *model) checkDeviceNames() error {
	var errs []error
	for i, n := range m.spec.Nodes {
		for j, d := range n.Devices {
			field := fmt.Sprintf("spec.nodes[%d].devices[%d].name", i, j)
			for first, other := range n.Devices[:j] {
				a, b := strings.TrimPrefix(d.Name, "/dev/"), strings.TrimPrefix(other.Name, "/dev/")
				switch {
				case a == b:
					errs = append(errs, invalid.Field(field, "%s is the device of devices[%d] already; remove one of them", d.Name, first))
				case isPartition(a, b) || isPartition(b, a):
					errs = append(errs, invalid.Field(field, "%s and devices[%d] (%s) are a disk and a partition of it, and an OSD takes a whole "+
						"device; remove one of them", d.Name, first, other.Name))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// isPartition reports whether a device is a partition of a disk, by the names that the kernel and udev give
// (https://www.kernel.org/doc/html/latest/admin-guide/devices.html): sda1 of sda, nvme0n1p1 of nvme0n1, and -part1 of links.
func isPartition(device, disk string) bool {
	number, ok := strings.CutPrefix(device, disk)
	if !ok || disk == "" {
		return false
	}
	switch last := disk[len(disk)-1]; {
	case strings.Contains(disk, "/"): // a link such as disk/by-id/wwn-0x5000
		number, ok = strings.CutPrefix(number, "-part")
	case last >= '0' && last <= '9':
		number, ok = strings.CutPrefix(number, "p")
	}
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}
