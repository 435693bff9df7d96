package ovnsync

// python is the interpreter of the image's virtual environment (images/Containerfile): the other interpreter of the image has
// no Neutron.
const python = "/opt/openstack/bin/python"

// mark is the prefix of the line with the report of the program.
const mark = "ovn-sync-heard:"

// program runs Neutron's tool and intercepts its warnings. Its argument is the mode. Its last line contains the number of
// warnings by format string, with some formatted examples; a warning that contains counts is reported with its numbers.
//
// Only the northbound database is compared. Neutron reads the relevant part of the southbound database again whenever a
// maintenance worker starts; the tool would do so in every mode, and move routers to other gateways
// (https://opendev.org/openstack/neutron/src/branch/stable/2025.2/neutron/plugins/ml2/drivers/ovn/mech_driver/ovsdb/ovn_db_sync.py).
// Later releases have an option for this, which also excludes objects of other services in OVN.
const program = `import json
import logging
import sys
import time
from neutron.cmd.ovn import neutron_ovn_db_sync_util as tool
from neutron.plugins.ml2.drivers.ovn.mech_driver.ovsdb import ovn_db_sync

COUNTS = ("Number of Port Groups to add", "ACLs to be added")
PAUSE, EXAMPLES, LENGTH = 10, 3, 250

mode = sys.argv[1]
speaker = logging.getLogger(ovn_db_sync.__name__)
compare = ovn_db_sync.OvnNbSynchronizer.do_sync
compare_rules = ovn_db_sync.OvnNbSynchronizer.sync_acls
heard = {}


class Listener(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = {}

    def emit(self, record):
        form, args = str(record.msg), record.args or ()
        try:
            text = record.getMessage()
        except Exception:  # Some lines name a value that they are not given.
            text = form + " " + repr(args)
        if form.startswith(COUNTS):
            values = args.values() if isinstance(args, dict) else args
            self.lines[form, ""] = [int(v) for v in values]
        else:
            self.lines[form, text] = [1]


def listen(sync):
    listener = Listener()
    speaker.setLevel(logging.INFO)
    speaker.addHandler(listener)
    try:
        compare(sync)
    finally:
        speaker.removeHandler(listener)
    return listener.lines


def look(sync):
    sync.mode = "log"
    first = listen(sync)
    if not first:
        return first
    time.sleep(PAUSE)
    second = listen(sync)
    return {line: [min(pair) for pair in zip(count, second[line])]
            for line, count in first.items() if line in second}


def summary(lines):
    out = {}
    for (form, text), count in lines.items():
        entry = out.setdefault(form, {"count": [0] * len(count), "examples": []})
        entry["count"] = [sum(pair) for pair in zip(entry["count"], count)]
        if text and len(entry["examples"]) < EXAMPLES:
            entry["examples"].append(text[:LENGTH])
    return out


def do_sync(sync):
    if mode == "repair":
        heard["repaired"] = summary(listen(sync))
    heard["found"] = summary(look(sync))


def sync_acls(sync, context):
    # Without a single security group, it takes OVN's rules that drop all other traffic for unknown, and for missing.
    if sync.core_plugin.get_security_groups(context, fields=["id"]):
        compare_rules(sync, context)


ovn_db_sync.OvnNbSynchronizer.do_sync = do_sync
ovn_db_sync.OvnNbSynchronizer.sync_acls = sync_acls
ovn_db_sync.OvnSbSynchronizer.do_sync = lambda sync: None
sys.argv = ["neutron-ovn-db-sync-util", "--ovn-neutron_sync_mode", mode]
if hasattr(tool, "load_synchronize_drivers"):
    sys.argv += ["--sync_plugin", "neutron_nb_sync"]
code = tool.main()
print("` + mark + `", json.dumps(heard, sort_keys=True), flush=True)
sys.exit(code)
`
