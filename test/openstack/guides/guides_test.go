//go:build openstack && linux

package guides

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/guide"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
)

// commandTimeout is the limit of one command, such as the creation of a server without KVM.
const commandTimeout = 5 * time.Minute

// reader follows pages of the documentation in one shell, as an administrator of the cloud.
type reader struct {
	*guide.Session

	machines *hypervisors.Machines
}

// TestGuidesRunAsWritten runs the commands of the OpenStack client on tutorials and how-to guides as the pages show them, and compares
// their output. The table of package guide lists the commands of other suites.
func TestGuidesRunAsWritten(t *testing.T) {
	const r = hypervisors.RestartRelease
	m := hypervisors.Start(
		t, harness.Claim(t, "compute.yaml", r, harness.Suffix(r)), harness.Claim(t, "hypervisors.yaml", r, harness.Suffix(r)), 0,
		func(o *clouds.Options) { o.Nodes = 2 },
	)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := guide.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	table, err := guide.ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	s := newReader(t, m)
	toured := map[string]bool{}
	for _, tour := range s.tours(t) {
		page, err := guide.Find(pages, tour.Page)
		if err != nil {
			t.Fatal(err)
		}
		toured[tour.Page] = true
		t.Run(strings.ReplaceAll(tour.Page, "/", " "), func(t *testing.T) {
			if err := s.Take(t.Context(), page, table, guide.OpenStack, tour, func(c guide.Command, output string, err error) {
				t.Logf("$ %s\n%s", c.Text, output)
				if err != nil {
					t.Errorf("docs/%s.md:%d: %v\n$ %s\n%s", c.Page, c.Line, err, c.Text, output)
				}
			}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, c := range table.Of(pages, guide.OpenStack) {
		if !toured[c.Page] {
			t.Errorf("docs/%s.md:%d: no tour runs %q", c.Page, c.Line, c.Text)
		}
	}
}

// newReader starts the shell of a reader who is logged in as the administrator.
func newReader(t *testing.T, m *hypervisors.Machines) *reader {
	t.Helper()
	dir := t.TempDir()
	data, err := m.Cloud.Operators.Secret(t.Context(), m.Cloud.Namespace, "keystone-clouds")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, "ca.crt")
	clouds := strings.Replace(string(data["clouds.yaml"]), "    auth_type:", "    cacert: "+ca+"\n    auth_type:", 1)
	for name, content := range map[string][]byte{ca: data["cacert"], filepath.Join(dir, "clouds.yaml"): []byte(clouds), filepath.Join(dir, "image.qcow2"): emptyDisk()} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	venv, err := m.Cloud.Venv()
	if err != nil {
		t.Fatal(err)
	}
	s, err := guide.Start(dir, "OS_CLIENT_CONFIG_FILE="+filepath.Join(dir, "clouds.yaml"), "OS_CLOUD=admin",
		"PATH="+filepath.Join(venv, "bin")+":"+os.Getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return &reader{Session: s, machines: m}
}

// emptyDisk returns a qcow2 image with an empty disk of one MiB: https://www.qemu.org/docs/master/interop/qcow2.html. A server without an
// operating system runs as well.
func emptyDisk() []byte {
	const (
		cluster = 1 << 16
		header  = 104
		size    = 1 << 20
	)
	out := make([]byte, 4*cluster) // The header, the table of reference counts, their block, and the table of the disk.
	var b bytes.Buffer
	for _, field := range []any{
		uint32(0x514649fb), uint32(3), uint64(0), uint32(0), uint32(16), uint64(size), uint32(0), // no backing file, no encryption
		uint32(1), uint64(3 * cluster), uint64(cluster), uint32(1), uint32(0), uint64(0), // no snapshots
		uint64(0), uint64(0), uint64(0), uint32(4), uint32(header), // no features, counts of 16 bits
	} {
		_ = binary.Write(&b, binary.BigEndian, field) // A buffer has no errors.
	}
	copy(out, b.Bytes())
	binary.BigEndian.PutUint64(out[cluster:], 2*cluster)
	for i := range 4 {
		binary.BigEndian.PutUint16(out[2*cluster+2*i:], 1)
	}
	return out
}

// do returns a step that runs commands which a page describes in words.
func (s *reader) do(t *testing.T, commands ...string) func() error {
	t.Helper()
	return func() error {
		for _, command := range commands {
			if err := s.succeed(t.Context(), command); err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *reader) succeed(ctx context.Context, command string) error {
	ctx, cancel := stopwatch.WithTimeout(ctx, commandTimeout)
	defer cancel()
	out, code, err := s.Run(ctx, command)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

// until returns a step that waits until a command succeeds.
func (s *reader) until(t *testing.T, command string) func() error {
	t.Helper()
	return func() error {
		var err error
		for began := time.Now(); stopwatch.Since(began) < commandTimeout; time.Sleep(2 * time.Second) {
			if err = s.succeed(t.Context(), command); err == nil {
				return nil
			}
		}
		return err
	}
}

// steps returns a step of several.
func steps(all ...func() error) func() error {
	return func() error {
		for _, step := range all {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

// node returns a step that changes the power of the node with the server, or removes it.
func (s *reader) node(t *testing.T, change func(node string) error) func() error {
	t.Helper()
	return func() error {
		out, _, err := s.Run(t.Context(), "echo $NODE")
		if err != nil {
			return err
		}
		return change(strings.TrimSpace(out))
	}
}

// tours returns the pages in order: those about accounts, about networks, and about servers.
func (s *reader) tours(t *testing.T) []guide.Tour {
	t.Helper()
	// The network of the claim in test/openstack/testdata, and the address of the nodes' uplink.
	network := []string{"--provider-physical-network external", "--provider-physical-network physnet1"}
	return []guide.Tour{
		{Page: "tutorials/first-cloud", Replace: []string{"out/openstack/enter ", ""}},
		{Page: "tutorials/install-platform"},
		{Page: "tutorials/recover-a-database"},
		{
			Page: "how-to/administrator-account", Replace: []string{"USER-ID", "$USER_ID"},
			Before: map[string]func() error{"": s.do(t, "USER_ID=$(openstack user create guest -f value -c id)")},
		},
		{Page: "how-to/hypervisors-agents", Replace: []string{"--password-prompt", "--password a-password"}}, // There is no terminal.
		{Page: "identity-as-code"},
		{Page: "networks-as-code"},
		{
			Page:   "firmware",
			Before: map[string]func() error{"": s.do(t, "openstack image create --disk-format qcow2 --container-format bare --file image.qcow2 windows-11")},
		},
		{
			Page: "neutron", Replace: []string{"--port PORT", "--port first"},
			Before: map[string]func() error{"openstack floating ip create": s.do(t, "openstack port create --network own first")},
			After: s.do(t,
				"openstack floating ip delete $(openstack floating ip list -f value -c ID)", "openstack port delete first",
				"openstack router remove subnet router own", "openstack router delete router", "openstack network delete own outside",
			),
		},
		{
			Page: "tutorials/add-hypervisors", Replace: network,
			Before: map[string]func() error{"openstack server create": s.do(t, "openstack flavor create --ram 128 --vcpus 1 --disk 1 small")},
		},
		{Page: "tutorials/upgrade-a-cloud", After: s.do(t, "openstack server delete --wait after-upgrade")},
		{
			Page: "how-to/node-maintenance", Replace: []string{"NODE", "node-0", "CONSUMER", "first"},
		},
		{Page: "how-to/order-node-maintenance", Replace: []string{"SERVER", "first"}},
		{Page: "how-to/recover-failed-nodes", Replace: []string{"SERVER", "first"}},
		{
			Page: "tutorials/recover-a-hypervisor", RetryTimeout: commandTimeout,
			Replace: []string{"SERVER_ID=...", "SERVER_ID=$(openstack server show first -f value -c id)"},
			Before: map[string]func() error{
				// The pods of the control plane run on node-0, so another node fails.
				"": steps(
					s.do(t, "openstack server show first -f value -c OS-EXT-SRV-ATTR:host | grep -v node-0 || "+
						"openstack server migrate --live-migration --wait first"),
					s.until(t, "openstack server show first -f value -c OS-EXT-SRV-ATTR:host | grep -v node-0"),
					s.do(t, "NODE=$(openstack server show first -f value -c OS-EXT-SRV-ATTR:host)"),
				),
				"xargs": steps(
					s.do(t, "openstack server stop first"), s.until(t, "openstack server show first -f value -c status | grep SHUTOFF"),
				),
				"openstack server evacuate": steps(
					s.node(t, func(node string) error { return s.machines.Cloud.Cluster.PowerOff(node) }),
					s.until(t, "openstack compute service list --service nova-compute --host $NODE -f value -c State | grep down"),
				),
				"openstack server show first -c status -c OS": steps(
					s.until(t, "openstack server show first -f value -c OS-EXT-SRV-ATTR:host | grep -v $NODE"),
					s.until(t, "openstack server show first -f value -c status | grep SHUTOFF"),
				),
				"openstack hypervisor list": s.until(t, "openstack server show first -f value -c status | grep ACTIVE"),
			},
		},
	}
}
