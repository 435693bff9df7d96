package ovnsync

import (
	gocmp "cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Two modules that resemble Neutron's, with only the parts that the program uses.
const (
	synchronizers = `import logging, os
LOG = logging.getLogger(__name__)
class Plugin:
    def get_security_groups(self, context, fields=None):
        return [{name: "" for name in fields} for _ in range(int(os.environ["GROUPS"]))]
class OvnNbSynchronizer:
    looks = 0
    def __init__(self, mode):
        self.mode, self.core_plugin = mode, Plugin()
        self.lost = ["p1", "p2"]
    def sync_acls(self, ctx):
        if OvnNbSynchronizer.looks == 1:
            LOG.warning("ACLs to be added: %(add)d ACLs to be removed: %(remove)d", {"add": 3, "remove": 1})
        else:
            LOG.warning("ACLs to be added: %(add)d ACLs to be removed: %(remove)d", {"add": 2, "remove": 0})
    def do_sync(self):
        OvnNbSynchronizer.looks += 1
        if OvnNbSynchronizer.looks == 1:
            LOG.warning("Port found in OVN NB DB but not in Neutron, port_id=%s", "made at that moment")
        self.sync_acls(None)
        LOG.info("Nothing to count")
        LOG.warning("Provider network port found in OVN NB DB, but not in Neutron port_name=%(lport)s", {"net": 1, "seg": 2})
        for p in list(self.lost):
            LOG.warning("Port found in Neutron but not in OVN NB DB, port_id=%s", p)
            if self.mode == "repair":
                LOG.warning("Creating the port %s in OVN NB DB", p)
                self.lost.remove(p)
class OvnSbSynchronizer:
    def do_sync(self):
        raise Exception("it writes in all modes")
`
	tool = `import logging, sys
from neutron.plugins.ml2.drivers.ovn.mech_driver.ovsdb import ovn_db_sync
def main():
    logging.getLogger().setLevel(logging.ERROR)
    at = sys.argv.index("--ovn-neutron_sync_mode")
    ovn_db_sync.OvnNbSynchronizer(sys.argv[at + 1]).do_sync()
    ovn_db_sync.OvnSbSynchronizer().do_sync()
`
	// later is the part of releases since 2026.1.
	later = tool + `
def load_synchronize_drivers(name):
    pass
`
)

// TestProgram: the program intercepts the tool of each release, compares twice, and does not access the southbound database.
func TestProgram(t *testing.T) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python here")
	}
	acls := common.OVNDifference{Kind: "SecurityGroupRule", Missing: 2}
	provider := common.OVNDifference{Kind: "ProviderNetworkPort", Extra: 1, Examples: []string{
		"Provider network port found in OVN NB DB, but not in Neutron port_name=%(lport)s {'net': 1, 'seg': 2}",
	}}
	missingPorts := common.OVNDifference{Kind: "Port", Missing: 2, Examples: []string{
		"Port found in Neutron but not in OVN NB DB, port_id=p1", "Port found in Neutron but not in OVN NB DB, port_id=p2",
	}}
	for name, tc := range map[string]struct {
		reason, tool, mode string
		groups             string
		found, repaired    []common.OVNDifference
	}{
		"Empty": {
			reason: "No rules are compared without security groups.", tool: tool, mode: "log", groups: "0",
			found: []common.OVNDifference{missingPorts, provider},
		},
		"Log": {reason: "A difference that is found once does not count.", tool: tool, mode: "log", found: []common.OVNDifference{missingPorts,
			provider, acls}},
		"Later": {reason: "The same in later releases.", tool: later, mode: "log", found: []common.OVNDifference{missingPorts, provider, acls}},
		"Repair": {
			reason: "It compares again after a repair.", tool: tool, mode: "repair", found: []common.OVNDifference{provider, acls},
			repaired: []common.OVNDifference{
				{Kind: "Port", Missing: 2, Extra: 1, Examples: append(
					append([]string{}, missingPorts.Examples...), "Port found in OVN NB DB but not in Neutron, port_id=made at that moment",
				)},
				provider, {Kind: "SecurityGroupRule", Missing: 3, Extra: 1},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for file, text := range map[string]string{
				"neutron/cmd/ovn/neutron_ovn_db_sync_util.py":                      tc.tool,
				"neutron/plugins/ml2/drivers/ovn/mech_driver/ovsdb/ovn_db_sync.py": synchronizers,
			} {
				path := filepath.Join(home, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			quick := strings.Replace(program, "PAUSE, EXAMPLES, LENGTH = 10,", "PAUSE, EXAMPLES, LENGTH = 0,", 1)
			command := exec.CommandContext(t.Context(), interpreter, "-c", quick, tc.mode)
			command.Env = append(os.Environ(), "PYTHONPATH="+home, "GROUPS="+gocmp.Or(tc.groups, "2"))
			output, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			requested, err := parseReport(string(output))
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			found, _ := differences(requested.Found)
			repaired, _ := differences(requested.Repaired)
			if diff := cmp.Diff([][]common.OVNDifference{tc.found, tc.repaired}, [][]common.OVNDifference{found, repaired}); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
