//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/barbican"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestHypervisorsFirmware checks that a server of every release boots by UEFI and has a TPM, whose passphrase is in
// Barbican. Both outlive the pods of the node and a hard reboot, and are deleted with the server. In one release the
// server is moved to another node with its TPM.
func TestHypervisorsFirmware(t *testing.T) {
	for i, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			plane := strings.Replace(string(harness.Claim(t, "compute.yaml", r, harness.Suffix(r))), "    glance:\n",
				"    barbican:\n      enabled: true\n      uwsgi: {processes: 1}\n    glance:\n", 1)
			nodes := 1
			if r == RestartRelease {
				nodes = 2
				// Nodes of this switch have no tunnels between them: the server is reached where it is.
				plane = strings.Replace(plane, "      ml2:", "      distributedFloatingIPs: true\n      ml2:", 1)
			}
			m := Start(t, []byte(plane), harness.Claim(t, "hypervisors.yaml", r, harness.Suffix(r)), i, func(o *clouds.Options) { o.Nodes = nodes })
			const memory = 256 // OVMF itself takes some.
			m.RAM = memory
			m.properties = map[string]string{"hw_firmware_type": "uefi", "hw_tpm_version": "2.0", "hw_tpm_model": "tpm-crb"}
			f := firmware{m, barbican.Of(t, m.Cloud)}
			g := m.Boot(t)
			t.Run("Boot", func(t *testing.T) { f.booted(t, g) })
			t.Run("Restarts", func(t *testing.T) { f.restarts(t, g) })
			t.Run("SecureBoot", func(t *testing.T) { f.secureBoot(t) })
			if r >= "2026.1" {
				t.Run("SecretSecurity", func(t *testing.T) { f.secretSecurity(t) })
			}
			if nodes > 1 {
				t.Run("Migrate", func(t *testing.T) { f.migrates(t, g) })
			}
			t.Run("Delete", func(t *testing.T) { f.deletes(t, g) })
			m.Memory(t)
		})
	}
}

// firmware is a cloud whose servers have UEFI and a TPM.
type firmware struct {
	*Machines
	keys barbican.Barbican
}

// run runs a shell command in the pod of libvirt on a server's node.
func (f firmware) run(t *testing.T, g Guest, command string) string {
	t.Helper()
	p := f.On(t, f.Place(t, g).Host, "libvirt")
	out, err := f.Cloud.Cluster.Exec(context.Background(), p.Namespace, p.Name, "sh", "-c", command)
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return strings.TrimSpace(out)
}

// state returns the parts of a server's firmware that must not change: the inode of the UEFI variables, and the number
// of TPMs that were manufactured for it on its node.
func (f firmware) state(t *testing.T, g Guest) (variables, manufactured string) {
	t.Helper()
	return f.run(t, g, "stat -c %i /var/lib/libvirt/qemu/nvram/"+g.InstanceName+"_VARS.fd"),
		f.run(t, g, "grep -ci 'starting vtpm manufacturing' /var/log/swtpm/libvirt/qemu/"+g.InstanceName+"-swtpm.log || :")
}

// passphrases returns the names of the secrets in the administrator's project.
func (f firmware) passphrases(t *testing.T) (names []string) {
	t.Helper()
	page, err := secrets.List(f.keys.ServiceClient, nil).AllPages(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, err := secrets.ExtractSecrets(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// booted checks that the kernel was started by UEFI with measurements in a TPM of version 2, and that the TPM cannot be
// read without the passphrase.
func (f firmware) booted(t *testing.T, g Guest) {
	f.Until(t, "the kernel's words about its firmware", g.Server.ID, func() error {
		text, err := servers.ShowConsoleOutput(context.Background(), f.ServiceClient, g.Server.ID, servers.ShowConsoleOutputOpts{}).Extract()
		if err != nil {
			return err
		}
		for _, lines := range []string{"efi: EFI v2", "TPMEventLog="} {
			if !strings.Contains(text, lines) {
				return fmt.Errorf("the console has no %q", lines)
			}
		}
		return nil
	})
	state := "/var/lib/libvirt/swtpm/" + g.Server.ID + "/tpm2"
	if got, want := f.run(t, g, "stat -c '%u %g' "+state+"/tpm2-00.permall"), "42424 42424"; got != want {
		t.Errorf("the state of the TPM is of %s, want %s", got, want)
	}
	if xml := f.run(t, g, Virsh+"dumpxml "+g.InstanceName); !strings.Contains(xml, "<encryption secret=") || !strings.Contains(xml, "model='tpm-crb'") {
		t.Errorf("the TPM is another one, or its state is not encrypted:\n%s", xml)
	}
	if got, want := strings.Join(f.passphrases(t), ","), "vTPM secret for instance "+g.Server.ID; got != want {
		t.Errorf("Barbican has %q, want %q", got, want)
	}
	if owners := f.run(t, g, "ps -o uid= -C swtpm 2>/dev/null || for p in /proc/[0-9]*; do [ \"$(cat $p/comm)\" != swtpm ] || stat -c %u $p; done"); strings.TrimSpace(owners) != "42424" {
		t.Errorf("emulators run as %q", owners)
	}
}

// restarts checks that the server keeps running while the pods of its node are replaced, and that it keeps its firmware
// and TPM after a hard reboot.
func (f firmware) restarts(t *testing.T, g Guest) {
	before := f.Seconds(t, g)
	variables, manufactured := f.state(t, g)
	if manufactured != "1" {
		t.Errorf("%s TPMs were made", manufactured)
	}
	node := f.Place(t, g).Host
	for _, component := range []string{"libvirt", "nova-compute"} {
		p := f.On(t, node, component)
		if err := f.Cloud.Cluster.Evict(p.Namespace, p.Name); err != nil {
			t.Fatal(err)
		}
		f.ready(t, node, component, string(p.UID))
	}
	f.WaitForHypervisor(t)
	f.Until(t, "the server's answer", g.Server.ID, func() error { _, err := g.Get("seconds"); return err })
	if after := f.Seconds(t, g); after <= before {
		t.Errorf("the server has started again: it counted to %d, and now to %d", before, after)
	}
	f.act(t, g, map[string]any{"reboot": map[string]any{"type": "HARD"}})
	f.becomes(t, g, "ACTIVE")
	f.Until(t, "the server's answer after a reboot", g.Server.ID, func() error { _, err := g.Get("seconds"); return err })
	if v, n := f.state(t, g); v != variables || n != manufactured {
		t.Errorf("after a reboot the variables of UEFI are file %s (before %s), and %s TPMs were made (before %s)", v, variables, n, manufactured)
	}
}

// another starts a server of an image and a flavor, without a network, and returns its definition in libvirt.
func (f firmware) another(t *testing.T, image, flavor string) (g Guest, definition string) {
	t.Helper()
	ctx := context.Background()
	s, err := servers.Create(ctx, f.ServiceClient, servers.CreateOpts{
		Name: "another", FlavorRef: flavor, ImageRef: image, Networks: "none",
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitForServer(ctx, s.ID); err != nil {
		t.Fatalf("%v\n%s", err, f.Logs(t, "nova-compute"))
	}
	g.Server = *s
	return g, f.run(t, g, Virsh+"dumpxml "+s.ID)
}

// secureBoot checks that an image that requires it gets the firmware that enforces it, with the keys enrolled.
func (f firmware) secureBoot(t *testing.T) {
	ctx := context.Background()
	i := harness.Created(t, func() (*images.Image, error) {
		return images.Create(ctx, f.Glance.ServiceClient, images.CreateOpts{
			Name: "secure", ContainerFormat: "bare", DiskFormat: "raw",
			Properties: map[string]string{"hw_firmware_type": "uefi", "os_secure_boot": "required"},
		}).Extract()
	})
	f.Glance.Upload(t, i.ID, strings.NewReader(strings.Repeat("\x00", glance.MiB)), "")
	g, xml := f.another(t, i.ID, f.Flavor)
	for _, lines := range []string{"secure='yes'", "OVMF_CODE_4M.ms.fd", "<smm state='on'"} {
		if !strings.Contains(xml, lines) {
			t.Errorf("libvirt has no %q:\n%s", lines, xml)
		}
	}
	if err := f.DeleteServer(ctx, g.Server.ID); err != nil {
		t.Error(err)
	}
}

// secretSecurity checks that a flavor can leave the passphrase to Nova, so that the server can be live-migrated; the
// node's disk never has one.
func (f firmware) secretSecurity(t *testing.T) {
	ctx := context.Background()
	flavor := func(security string) string {
		created := harness.Created(t, func() (*flavors.Flavor, error) {
			return flavors.Create(ctx, f.ServiceClient, flavors.CreateOpts{Name: security, RAM: 64, VCPUs: 1, Disk: new(0)}).Extract()
		})
		specs := flavors.ExtraSpecsOpts{"hw:tpm_secret_security": security}
		if err := flavors.CreateExtraSpecs(ctx, f.ServiceClient, created.ID, specs).Err; err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	before := f.passphrases(t)
	g, xml := f.another(t, f.Image, flavor("deployment"))
	if !strings.Contains(xml, "<encryption secret=") {
		t.Errorf("the state of its TPM is not encrypted:\n%s", xml)
	}
	if after := f.passphrases(t); len(after) != len(before) {
		t.Errorf("the passphrase is the user's: %v", after)
	}
	if err := f.DeleteServer(ctx, g.Server.ID); err != nil {
		t.Error(err)
	}
	s, err := servers.Create(ctx, f.ServiceClient, servers.CreateOpts{
		Name: "host", FlavorRef: flavor("host"), ImageRef: f.Image, Networks: "none",
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitForServer(ctx, s.ID); err == nil || !strings.Contains(err.Error(), "No valid host") {
		t.Errorf("a server whose passphrase would be on the node's disk: %v", err)
	}
	if err := f.DeleteServer(ctx, s.ID); err != nil {
		t.Error(err)
	}
}

// migrates checks that the state of the TPM is moved with the server to another node, which manufactures no other one.
func (f firmware) migrates(t *testing.T, g Guest) {
	from, to := f.Place(t, g).Host, f.OtherNode(t, g)
	f.act(t, g, map[string]any{"migrate": nil})
	f.becomes(t, g, "VERIFY_RESIZE")
	if p := f.Place(t, g); p.Host != to {
		t.Fatalf("it is %+v, want it on %s", p, to)
	}
	f.act(t, g, map[string]any{"confirmResize": nil})
	f.becomes(t, g, "ACTIVE")
	f.Until(t, "the server's answer on another node", g.Server.ID, func() error { _, err := g.Get("seconds"); return err })
	if _, n := f.state(t, g); n != "0" {
		t.Errorf("%s TPMs were made on %s", n, to)
	}
	f.cleaned(t, g, from, false)
	p := f.On(t, from, "libvirt")
	out, err := f.Cloud.Cluster.Exec(context.Background(), p.Namespace, p.Name, "ls", "/var/lib/libvirt/swtpm")
	if err != nil || strings.Contains(out, g.Server.ID) {
		t.Errorf("%s has the state still: %v: %s", from, err, out)
	}
}

// deletes checks that a server's firmware, its TPM and its passphrase are deleted.
func (f firmware) deletes(t *testing.T, g Guest) {
	p := f.On(t, f.Place(t, g).Host, "libvirt")
	if err := f.DeleteServer(context.Background(), g.Server.ID); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/var/lib/libvirt/swtpm", "/var/lib/libvirt/qemu/nvram"} {
		if out, err := f.Cloud.Cluster.Exec(context.Background(), p.Namespace, p.Name, "ls", dir); err != nil || strings.TrimSpace(out) != "" {
			t.Errorf("%s has %q, %v", dir, out, err)
		}
	}
	if got := f.passphrases(t); len(got) > 0 {
		t.Errorf("Barbican has %v", got)
	}
}
