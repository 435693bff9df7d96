"""Calls nova-compute of this node over the message queue, as Nova's other services do.

Exits with 1 if the call was sent and not answered. Exits with 2 if it cannot be sent, for example because the queue does not respond: then
it is unknown whether nova-compute receives calls.

Arguments: the configuration file. Variables: NODE_NAME, TIMEOUT (seconds), and Nova's options. The queue of replies is named after the
option processname, so that it is the same for each call.
"""
import os
import sys


def ping(transport):
    """Returns 0 if nova-compute answers, otherwise 1. Each service of Nova has this method (nova/baserpc.py)."""
    import oslo_messaging

    target = oslo_messaging.Target(topic="compute", server=os.environ["NODE_NAME"], namespace="baseapi", version="1.0")
    client = oslo_messaging.get_rpc_client(transport, target, timeout=int(os.environ["TIMEOUT"]))
    try:
        client.call({}, "ping", arg="")
    except oslo_messaging.MessagingTimeout:
        print("nova-compute does not answer calls", file=sys.stderr)
        return 1
    return 0


def main(config):
    import oslo_messaging
    from oslo_config import cfg

    oslo_messaging.set_transport_defaults("nova")
    cfg.CONF(["--config-file", config], project="nova")
    return ping(oslo_messaging.get_rpc_transport(cfg.CONF))


if __name__ == "__main__":
    try:
        status = main(sys.argv[1])
    except Exception as error:
        print(f"nova-compute cannot be called: {error}", file=sys.stderr)
        status = 2
    sys.stderr.flush()
    os._exit(status)  # Threads of connections end with the process.
