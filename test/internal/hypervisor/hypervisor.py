"""nova-compute with virtual machines that are not there, whose screens are all at $SCREEN, and their serial ports at $SERIAL,
if it is set (host:port). Their definitions are in the folder $DOMAINS, if it is set, and outlive nova-compute.

The consoles of the fake driver itself are at an address that the proxies cannot reach, and its hypervisors are others after each start.
"""
import json
import os
import sys
import uuid

from nova.cmd import compute  # the first: it replaces what the others import
from nova.compute import power_state
from nova.conf import CONF
from nova.console import type as console
from nova.virt import fake, node


def at(kind, variable, **more):
    host, port = os.environ[variable].split(":")
    return lambda self, context, instance: kind(host=host, port=int(port), **more)


class Domains(dict):
    """Guests by UUID, in a file. As with libvirt, a guest is defined on its host after a restart of the host, and does not run."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        if os.path.exists(path):
            with open(path) as file:
                self.update({key: fake.FakeInstance(name, power_state.SHUTDOWN, key) for key, name in json.load(file).items()})

    def __setitem__(self, key, guest):
        super().__setitem__(key, guest)
        self.write()

    def __delitem__(self, key):
        super().__delitem__(key)
        self.write()

    def write(self):
        with open(self.path + ".new", "w") as file:
            json.dump({key: guest.name for key, guest in self.items()}, file)
        os.replace(self.path + ".new", self.path)


def define(start):
    def init_host(self, host):
        start(self, host)
        self.instances = Domains(os.path.join(os.environ["DOMAINS"], host + ".json"))
    return init_host


if "DOMAINS" in os.environ:
    fake.FakeDriver.init_host = define(fake.FakeDriver.init_host)
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
