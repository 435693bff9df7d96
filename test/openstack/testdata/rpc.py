"""Calls a server of its own by RabbitMQ, as OpenStack's services call each other: rpc.py HOST VHOST USER PASSWORD AUTHORITY"""
import sys
import threading
import urllib.parse

import amqp
import oslo_messaging
from oslo_config import cfg

host, vhost, user, password, authority = sys.argv[1:]
connection = amqp.Connection(f"{host}:5671", user, password, virtual_host=vhost, ssl={"ca_certs": authority, "server_hostname": host})
connection.connect()
connection.channel().queue_declare("plain", durable=True, auto_delete=False)

conf = cfg.ConfigOpts()
conf([], project="rpc")
oslo_messaging.set_transport_defaults("rpc")
login = urllib.parse.quote(user) + ":" + urllib.parse.quote(password, safe="")
transport = oslo_messaging.get_rpc_transport(conf, url=f"rabbit://{login}@{host}:5671/{vhost}")
for option, value in {
    "ssl": True, "ssl_ca_file": authority, "rabbit_quorum_queue": True, "rabbit_transient_quorum_queue": True, "amqp_durable_queues": True,
}.items():
    conf.set_override(option, value, "oslo_messaging_rabbit")


class Endpoint:
    def double(self, context, number):
        return 2 * number


target = oslo_messaging.Target(topic="numbers", server="one")
server = oslo_messaging.get_rpc_server(transport, target, [Endpoint()], executor="threading")
threading.Thread(target=server.start).start()
client = oslo_messaging.get_rpc_client(transport, oslo_messaging.Target(topic="numbers"), timeout=60)
print(client.call({}, "double", number=21))
server.stop()
server.wait()
