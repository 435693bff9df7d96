"""Receives calls over RabbitMQ as nova-compute does, until its input ends: receiver.py CONFIGURATION NODE

After a line of input it stays connected, and does not receive calls any more.
"""
import sys

import oslo_messaging
from nova import baserpc, rpc
from oslo_config import cfg
from oslo_messaging.rpc import dispatcher

config, node = sys.argv[1:]
oslo_messaging.set_transport_defaults("nova")
cfg.CONF(["--config-file", config], project="nova")
server = oslo_messaging.get_rpc_server(
    oslo_messaging.get_rpc_transport(cfg.CONF), oslo_messaging.Target(topic="compute", server=node),
    [baserpc.BaseRPCAPI("compute", None)], executor="threading", serializer=rpc.RequestContextSerializer(None),
    access_policy=dispatcher.DefaultRPCAccessPolicy)
server.start()
print("started", flush=True)
stopped = False
for _ in sys.stdin:
    server.stop()
    stopped = True
    print("stopped", flush=True)
if not stopped:
    server.stop()
server.wait()
