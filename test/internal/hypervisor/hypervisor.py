"""nova-compute with virtual machines that are not there, whose screens are all at $SCREEN, and their serial ports at $SERIAL,
if it is set (host:port).

The consoles of the fake driver itself are at an address that the proxies cannot reach, and its hypervisors are others after each start.
"""
import os
import sys
import uuid

from nova.cmd import compute  # the first: it replaces what the others import
from nova.conf import CONF
from nova.console import type as console
from nova.virt import fake, node


def at(kind, variable, **more):
    host, port = os.environ[variable].split(":")
    return lambda self, context, instance: kind(host=host, port=int(port), **more)


fake.FakeDriver.get_vnc_console = at(console.ConsoleVNC, "SCREEN")
fake.FakeDriver.get_spice_console = at(console.ConsoleSpice, "SCREEN", tlsPort=None)
if "SERIAL" in os.environ:
    fake.FakeDriver.get_serial_console = at(console.ConsoleSerial, "SERIAL")
fake.FakeDriver.get_nodenames_by_uuid = lambda self, refresh=False: {
    str(uuid.uuid5(uuid.NAMESPACE_DNS, name)): name for name in self.get_available_nodes()
}
# A host keeps this in a file, without which nova-compute starts there but once.
node.read_local_node_uuid = lambda: str(uuid.uuid5(uuid.NAMESPACE_DNS, CONF.host))
sys.argv[0] = "nova-compute"
sys.exit(compute.main())
