"""Publishes to a quorum queue and to a stream, and waits until a majority of members has written each message: streams.py HOST USER PASSWORD AUTHORITY"""
import sys

import amqp

host, user, password, authority = sys.argv[1:]
connection = amqp.Connection(f"{host}:5671", user, password, ssl={"ca_certs": authority, "server_hostname": host}, confirm_publish=True)
connection.connect()
channel = connection.channel()
for kind in ("quorum", "stream"):
    channel.queue_declare(kind, durable=True, auto_delete=False, arguments={"x-queue-type": kind})
    for _ in range(20):
        channel.basic_publish_confirm(amqp.Message("x" * 1000), routing_key=kind, timeout=120)
    print(kind, "confirmed")
