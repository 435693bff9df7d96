"""
Reads chunks of a request's body as uWSGI does, without giving a client up who sent the begin of a TLS record and not yet its end.

uWSGI reads once more after it has waited for data, and fails if that was no whole record (uwsgi_chunked_input_recv of its core/chunked.c).
Nothing that has come is lost then, so that asking again goes on where it was.
"""
import os
import select
import socket
import time

import uwsgi

# PAUSE is how long a client may take for a chunk of which uWSGI has read a part: what it may pause at most.
PAUSE = 60.0

_read = uwsgi.chunked_read


def _more(seconds):
    """Waits for more of the request, and tells whether there is any: no client that has gone sends it."""
    time.sleep(0.01)  # A chunk that is none fails at once, as often as it is asked for.
    poll = select.poll()
    poll.register(uwsgi.connection_fd(), select.POLLIN)
    if not poll.poll(seconds * 1000):
        return False
    with socket.socket(fileno=os.dup(uwsgi.connection_fd())) as client:
        return bool(client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))


def chunked_read(*timeout):
    end = time.monotonic() + PAUSE
    while True:
        try:
            return _read(*timeout)
        except OSError:
            left = end - time.monotonic()
            if left <= 0 or not _more(left):
                raise


uwsgi.chunked_read = chunked_read
