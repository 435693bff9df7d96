package nodemaintenance

import (
	"strings"
	"testing"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// TestMethod: the method of a server by its state, its properties and its metadata, and the beginning of its blocker.
func TestMethod(t *testing.T) {
	in := func(status, requested string) candidate {
		return candidate{ServerDetails: compute.ServerDetails{Server: compute.Server{Status: status}}, requested: requested}
	}
	flavor := func(requested, key, value string) candidate {
		c := in("ACTIVE", requested)
		c.ExtraSpecs = map[string]string{key: value}
		return c
	}
	image := func(key, value string) candidate {
		c := in("ACTIVE", "")
		c.ImageProperties = map[string]string{key: value}
		return c
	}
	with := func(c candidate, change func(*candidate)) candidate {
		change(&c)
		return c
	}
	const live, cold, stop, stay = openstackv1.MoveLive, openstackv1.MoveCold, openstackv1.MoveStop, openstackv1.MoveStay
	for name, tc := range map[string]struct {
		reason  string
		c       candidate
		want    openstackv1.MoveMethod
		blocker string
	}{
		"running":           {"Nova live-migrates running servers.", in("ACTIVE", ""), live, ""},
		"running, live":     {"The owner permits only that.", in("ACTIVE", "live"), live, ""},
		"running, cold":     {"The owner prefers it.", in("ACTIVE", "cold"), cold, ""},
		"running, stop":     {"The owner prefers it.", in("ACTIVE", "stop"), stop, ""},
		"running, notify":   {"The owner acts.", in("ACTIVE", "notify"), stay, "its metadata maintenance is notify"},
		"running, never":    {"It must not move.", in("ACTIVE", "never"), stay, "its metadata maintenance is never"},
		"misspelled":        {"A mistake must not move the server.", in("ACTIVE", "nevr"), stay, `its metadata maintenance is "nevr": set`},
		"paused":            {"Nova live-migrates paused servers.", in("PAUSED", ""), live, ""},
		"paused, live":      {"As without metadata.", in("PAUSED", "live"), live, ""},
		"paused, cold":      {"resize accepts ACTIVE and STOPPED only.", in("PAUSED", "cold"), stay, "it is PAUSED"},
		"paused, stop":      {"stop accepts ACTIVE and ERROR only.", in("PAUSED", "stop"), stay, "it is PAUSED"},
		"stopped":           {"It does not run, so that a cold migration does not interrupt it.", in("SHUTOFF", ""), cold, ""},
		"stopped, live":     {"The same.", in("SHUTOFF", "live"), cold, ""},
		"stopped, stop":     {"It stays, and nothing starts it.", in("SHUTOFF", "stop"), stay, ""},
		"stopped, notify":   {"Its owner has stopped it.", in("SHUTOFF", "notify"), stay, ""},
		"stopped, never":    {"It must not move, stopped or not.", in("SHUTOFF", "never"), stay, "its metadata maintenance is never"},
		"suspended":         {"Neither migration accepts it.", in("SUSPENDED", ""), stay, "it is SUSPENDED, and Nova does not move it: resume it"},
		"shelved":           {"It is on the node until it is offloaded.", in("SHELVED", ""), stay, "it is SHELVED, and Nova does not move it: offload it"},
		"rescued":           {"Neither migration accepts it.", in("RESCUE", ""), stay, "it is RESCUE, and Nova does not move it: unrescue it"},
		"failed":            {"Neither migration accepts it.", in("ERROR", ""), stay, "it is ERROR, and Nova does not move it: repair it"},
		"resized":           {"Its owner decides.", in("VERIFY_RESIZE", ""), stay, "it is VERIFY_RESIZE, and Nova does not move it: confirm"},
		"another status":    {"The list of states is not complete.", in("X", ""), stay, "it is X, and Nova does not move it: see openstack server"},
		"SR-IOV port":       {"Nova detaches and attaches it.", with(in("ACTIVE", ""), func(c *candidate) { c.vnics = []string{"normal", "direct"} }), live, ""},
		"huge pages":        {"Nova's scheduler finds a node with pages.", flavor("", "hw:mem_page_size", "1GB"), live, ""},
		"TPM":               {"Nova needs the token of its owner.", flavor("", "hw:tpm_version", "2.0"), live, "it has a TPM"},
		"TPM, cold":         {"The same.", flavor("cold", "hw:tpm_version", "2.0"), cold, "it has a TPM"},
		"TPM, stop":         {"It could not be started afterwards.", flavor("stop", "hw:tpm_version", "2.0"), stop, "it has a TPM"},
		"TPM of the image":  {"The image requests it.", image("hw_tpm_version", "2.0"), live, "it has a TPM"},
		"TPM of the host":   {"Since 2026.1, Nova copies the passphrase.", with(flavor("", "hw:tpm_version", "2.0"), func(c *candidate) { c.ExtraSpecs["hw:tpm_secret_security"] = "host" }), live, ""},
		"SEV":               {"Nova rejects the live migration.", flavor("", "hw:mem_encryption", "true"), live, "its memory is encrypted"},
		"SEV, cold":         {"Nova accepts it.", flavor("cold", "hw:mem_encryption", "true"), cold, ""},
		"SEV off":           {"It is not encrypted.", flavor("", "hw:mem_encryption", "False"), live, ""},
		"SEV of the image":  {"The image requests it.", image("hw_mem_encryption", "True"), live, "its memory is encrypted"},
		"PCI":               {"Most devices cannot be live-migrated.", flavor("", "pci_passthrough:alias", "gpu:1"), live, "it has PCI devices"},
		"PCI, live":         {"The alias may have live_migratable.", flavor("live", "pci_passthrough:alias", "gpu:1"), live, ""},
		"PCI, cold":         {"Nova accepts it.", flavor("cold", "pci_passthrough:alias", "gpu:1"), cold, ""},
		"accelerator":       {"Nova rejects it.", flavor("cold", "accel:device_profile", "p"), cold, "it has an accelerator"},
		"accelerator, stop": {"It stays.", flavor("stop", "accel:device_profile", "p"), stop, ""},
		"accelerator port": {"Nova rejects it.", with(in("SHUTOFF", ""), func(c *candidate) { c.vnics = []string{"accelerator-direct-physical"} }),
			cold, "it has a port with an accelerator"},
		"affinity": {"The scheduler accepts only the host of the others.", with(in("ACTIVE", ""), func(c *candidate) { c.affine = 1 }), live,
			"its server group has affinity"},
		"affinity, stop":  {"It stays.", with(in("ACTIVE", "stop"), func(c *candidate) { c.affine = 1 }), stop, ""},
		"live migration":  {"Its operation ends first.", with(in("MIGRATING", ""), func(c *candidate) { c.Task = "migrating" }), live, ""},
		"cold migration":  {"Its operation ends first.", with(in("RESIZE", ""), func(c *candidate) { c.Task = "resize_migrating" }), cold, ""},
		"being stopped":   {"Its operation ends first.", with(in("ACTIVE", ""), func(c *candidate) { c.Task = "powering-off" }), stop, ""},
		"being created":   {"Its operation ends first.", with(in("BUILD", ""), func(c *candidate) { c.Task = "spawning" }), stay, ""},
		"created, never":  {"It must not move afterwards.", with(in("BUILD", "never"), func(c *candidate) { c.Task = "spawning" }), stay, "its metadata"},
		"paused, with an": {"Nova rejects it.", with(flavor("", "accel:device_profile", "p"), func(c *candidate) { c.Status = "PAUSED" }), live, "it has an"},
	} {
		t.Run(name, func(t *testing.T) {
			got, blocker := tc.c.method()
			if got != tc.want || !strings.HasPrefix(blocker, tc.blocker) || (blocker == "") != (tc.blocker == "") {
				t.Errorf("%s got %s, %q; want %s, %q", tc.reason, got, blocker, tc.want, tc.blocker)
			}
		})
	}
}

// TestEstimate: durations assume 100 MiB/s.
func TestEstimate(t *testing.T) {
	c := candidate{ServerDetails: compute.ServerDetails{Server: compute.Server{Status: "ACTIVE"}, MemoryMiB: 2000, DisksGiB: 10}}
	off := c
	off.Status = "SHUTOFF"
	for name, tc := range map[string]struct {
		c      candidate
		method openstackv1.MoveMethod
		want   int64
	}{
		"live": {c, openstackv1.MoveLive, 10 + 20 + 102}, "cold": {c, openstackv1.MoveCold, 10 + 60 + 102},
		"stopped": {off, openstackv1.MoveCold, 10 + 102}, "stop": {c, openstackv1.MoveStop, 60}, "stay": {c, openstackv1.MoveStay, 0},
	} {
		if got := tc.c.estimate(tc.method); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
