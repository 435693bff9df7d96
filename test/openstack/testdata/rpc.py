"""Calls a server of its own by RabbitMQ, as OpenStack's services call each other: rpc.py TRANSPORT_URL AUTHORITY"""
import sys
import threading

import oslo_messaging
from oslo_config import cfg

conf = cfg.ConfigOpts()
conf([], project="rpc")
oslo_messaging.set_transport_defaults("rpc")
transport = oslo_messaging.get_rpc_transport(conf, url=sys.argv[1])
for option, value in {
    "ssl": True, "ssl_ca_file": sys.argv[2], "rabbit_quorum_queue": True, "rabbit_transient_quorum_queue": True,
    "amqp_durable_queues": True, "heartbeat_in_pthread": False,
}.items():
    conf.set_override(option, value, "oslo_messaging_rabbit")


class Endpoint:
    def double(self, context, number):
        return 2 * number


target = oslo_messaging.Target(topic="numbers", server="one")
server = oslo_messaging.get_rpc_server(transport, target, [Endpoint()], executor="threading")
threading.Thread(target=server.start).start()
client = oslo_messaging.get_rpc_client(transport, oslo_messaging.Target(topic="numbers"), timeout=30)
print(client.call({}, "double", number=21))
server.stop()
server.wait()
