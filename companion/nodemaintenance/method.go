package nodemaintenance

import (
	"fmt"
	"strings"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// metadataKey is the metadata key of a server with which its owner selects the method.
const metadataKey = "maintenance"

// Values of the metadata.
const (
	liveOnly  = "live"
	coldOnly  = "cold"
	stopOnly  = "stop"
	notifyOne = "notify"
	neverMove = "never"
)

// candidate is a server on the node, with the properties that its own record does not have.
type candidate struct {
	compute.ServerDetails

	// requested is the value of its metadata; "" if it is not set, or has no effect.
	requested string
	// vnics are the types of its ports.
	vnics []string
	// affine is the number of other servers on the node that its server group keeps on the same host.
	affine int
}

// has reports whether the flavor or the image of the server sets a property: hw:name in extra specs, hw_name in properties of images.
func (c *candidate) has(name string) bool {
	flavor, image := c.ExtraSpecs["hw:"+name], c.ImageProperties["hw_"+name]
	return flavor != "" && !strings.EqualFold(flavor, "false") || image != "" && !strings.EqualFold(image, "false")
}

func (c *candidate) hasVNIC(prefix string) bool {
	for _, v := range c.vnics {
		if strings.HasPrefix(v, prefix) {
			return true
		}
	}
	return false
}

// states are the states in which Nova moves no server (check_instance_state of live_migrate and resize in nova/compute/api.py), with the
// remedies.
var states = map[string]string{
	"SUSPENDED":     "resume it",
	"SHELVED":       "offload it (openstack server shelve --offload), or unshelve it",
	"RESCUE":        "unrescue it",
	"ERROR":         "repair it (openstack server set --state active), or delete it",
	"VERIFY_RESIZE": "confirm or revert its resize",
	"PASSWORD":      "wait until its password is set",
	"UNKNOWN":       "check the database of its cell",
}

// method returns the method of a server, and the reason for which it blocks the maintenance; "" if it does not. A server with an operation
// in progress keeps its method: the operation ends first.
func (c *candidate) method() (method openstackv1.MoveMethod, blocker string) {
	switch c.requested {
	case "", liveOnly, coldOnly, stopOnly:
	case neverMove:
		return openstackv1.MoveStay, "its metadata maintenance is never: its owner has to move or delete it"
	case notifyOne:
		if c.Status == "SHUTOFF" {
			return openstackv1.MoveStay, ""
		}
		return openstackv1.MoveStay, "its metadata maintenance is notify: its owner has to move or stop it"
	default:
		return openstackv1.MoveStay, fmt.Sprintf("its metadata maintenance is %q: set live, cold, stop, notify or never", c.requested)
	}
	switch {
	case c.Task != "":
		return c.inProgress(), ""
	case c.Status == "SHUTOFF" && c.requested == stopOnly:
		return openstackv1.MoveStay, ""
	case c.Status == "SHUTOFF":
		return openstackv1.MoveCold, c.unmovable(openstackv1.MoveCold)
	case c.Status == "PAUSED" && (c.requested == coldOnly || c.requested == stopOnly):
		return openstackv1.MoveStay, "it is PAUSED, and can only be live-migrated: unpause it, or remove its metadata maintenance"
	case c.Status != "ACTIVE" && c.Status != "PAUSED":
		remedy := states[c.Status]
		if remedy == "" {
			remedy = "see openstack server show"
		}
		return openstackv1.MoveStay, fmt.Sprintf("it is %s, and Nova does not move it: %s", c.Status, remedy)
	}
	method = map[string]openstackv1.MoveMethod{
		"": openstackv1.MoveLive, liveOnly: openstackv1.MoveLive, coldOnly: openstackv1.MoveCold, stopOnly: openstackv1.MoveStop,
	}[c.requested]
	return method, c.unmovable(method)
}

// inProgress returns the method that matches the operation in progress.
func (c *candidate) inProgress() openstackv1.MoveMethod {
	switch {
	case c.Task == "migrating":
		return openstackv1.MoveLive
	case strings.HasPrefix(c.Task, "resize_"):
		return openstackv1.MoveCold
	case c.Task == "powering-off":
		return openstackv1.MoveStop
	}
	return openstackv1.MoveStay
}

// An obstacle is a property with which Nova rejects a method, or cannot complete it.
type obstacle struct {
	methods []openstackv1.MoveMethod
	why     string
	applies func(*candidate) bool
}

var (
	anyMigration = []openstackv1.MoveMethod{openstackv1.MoveLive, openstackv1.MoveCold}
	onlyLive     = []openstackv1.MoveMethod{openstackv1.MoveLive}
	anyMethod    = []openstackv1.MoveMethod{openstackv1.MoveLive, openstackv1.MoveCold, openstackv1.MoveStop}
)

// obstacles are evaluated in this order; the first that applies is reported. Decorators are those of nova/compute/api.py in 2025.1 to
// 2026.2. Not listed, because Nova moves such servers, if another node has the resources: SR-IOV ports (detached and attached again),
// huge pages, pinned CPUs, local disks, members of groups with anti-affinity, and locked servers (an administrator is not affected by a
// lock).
var obstacles = []obstacle{
	{anyMigration, "it has an accelerator, and Nova does not migrate it: set its metadata maintenance to stop", // block_accelerators
		func(c *candidate) bool { return c.ExtraSpecs["accel:device_profile"] != "" }},
	{anyMigration, "it has a port with an accelerator, and Nova does not migrate it: set its metadata maintenance to stop",
		func(c *candidate) bool { return c.hasVNIC("accelerator-direct") }}, // block_port_accelerators
	// reject_vtpm_instances, and since 2026.1 reject_legacy_vtpm_live_migration. The passphrase belongs to the owner, whose token Nova needs
	// to start the server on any node: https://docs.openstack.org/nova/latest/admin/emulated-tpm.html#limitations
	{anyMethod, "it has a TPM whose passphrase only its owner can use: its owner has to migrate or stop it",
		func(c *candidate) bool {
			return c.has("tpm_version") && c.ExtraSpecs["hw:tpm_secret_security"] != "host"
		}},
	{onlyLive, "its memory is encrypted (SEV), and Nova does not live-migrate it: set its metadata maintenance to cold or stop",
		func(c *candidate) bool { return c.has("mem_encryption") }}, // reject_sev_instances
	// _check_can_migrate_pci of nova/conductor/tasks/live_migrate.py accepts aliases with live_migratable, which the API does not return.
	{onlyLive, "it has PCI devices: set its metadata maintenance to cold or stop, or to live if their alias is live_migratable",
		func(c *candidate) bool { return c.ExtraSpecs["pci_passthrough:alias"] != "" && c.requested != liveOnly }},
	// ServerGroupAffinityFilter of nova/scheduler/filters/affinity_filter.py accepts only the host of the other members.
	{anyMigration, "its server group has affinity, and other members are on the node: set the metadata maintenance of the members to stop",
		func(c *candidate) bool { return c.affine > 0 }},
}

// unmovable returns why the method cannot be executed; "" if it can.
func (c *candidate) unmovable(method openstackv1.MoveMethod) string {
	for _, o := range obstacles {
		for _, m := range o.methods {
			if m == method && o.applies(c) {
				return o.why
			}
		}
	}
	return ""
}

const (
	// mebibytesPerSecond is the assumed throughput of a migration.
	mebibytesPerSecond = 100
	// overheadSeconds is the assumed duration of a move without data, and shutdownSeconds Nova's default limit for a shutdown
	// (shutdown_timeout).
	overheadSeconds, shutdownSeconds = 10, 60
)

// estimate returns the estimated duration of a move, in seconds.
func (c *candidate) estimate(method openstackv1.MoveMethod) int64 {
	const mebibytes = 1024
	disks := c.DisksGiB * mebibytes / mebibytesPerSecond
	switch method {
	case openstackv1.MoveLive:
		return overheadSeconds + c.MemoryMiB/mebibytesPerSecond + disks
	case openstackv1.MoveCold:
		if c.Status == "SHUTOFF" {
			return overheadSeconds + disks
		}
		return overheadSeconds + shutdownSeconds + disks
	case openstackv1.MoveStop:
		return shutdownSeconds
	case openstackv1.MoveStay:
	}
	return 0
}
