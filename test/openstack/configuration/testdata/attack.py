"""Use the caches of configurations with the released libraries, and attack them as another client of memcached.

Standard input is a JSON object with clients by name. A client has a configuration file of oslo.config or of Django, the address of
memcached, a file that a loaded pickle creates, and environment variables. Standard output is a JSON object with the output and the exit
code of each client. Each client is a child of this process, which has loaded the libraries once: they take longer than the attacks.
"""

import json
import logging
import os
import pickle
import socket
import sys
import traceback

from django.conf import settings as configured
from keystonemiddleware import auth_token
from oslo_cache import core
from oslo_config import cfg

FILE, SERVER, MARKER = "", "", ""


class Payload:
    """An object whose pickle runs code when it is loaded."""

    def __reduce__(self):
        return open, (MARKER, "w")


def command(text, data=None):
    host, port = SERVER.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as s:
        s.sendall(text.encode() + b"\r\n" + (b"" if data is None else data + b"\r\n"))
        return s.makefile("rb").readline().decode().strip()


def keys():
    return command("keys").split()


def write(key, data, flags):
    assert command(f"set {key} {flags} 0 {len(data)}", data) == "STORED"


def attack(kind, put, get, forged):
    """Replace the entries of two names in the cache, and check that the program reads none of them."""

    def store():
        command("flush_all")
        put("mine", "a")
        put("other", "b")
        written = keys()
        assert get("mine") == "a" and get("other") == "b" and len(written) == 2, f"{kind}: the cache has {written}"
        return written

    def read(what):
        try:
            got = get("mine"), get("other")
        except Exception as e:
            got = e
        if os.path.exists(MARKER):
            sys.exit(f"{kind}: {what} ran code")
        assert got == (None, None), f"{kind}: {what} is accepted: {got}"

    for what, data, flags in (
        ("a pickle", pickle.dumps(Payload()), 1),
        ("a forged entry", forged, 0),
        ("a forged pickle", pickle.dumps(forged), 1),
        ("a compressed entry", b"no compressed data", 8),
        ("a number", b"none", 2),
    ):
        for key in store():
            assert "mine" not in key, f"{kind}: memcached shows the name of an entry: {key}"
            write(key, data, flags)
        read(what)
    command("swap " + " ".join(store()))
    read("an entry under another name")
    store()
    print(kind)


def oslo():
    conf = cfg.ConfigOpts()
    core.configure(conf)
    conf(["--config-file", FILE])
    if conf.cache.enabled:
        region = core.create_region()
        core.configure_cache_region(conf, region)
        missing = core.NO_VALUE
        attack(
            "data", region.set, lambda key: None if region.get(key) is missing else region.get(key), pickle.dumps(region._value("forged")),
        )
    if "OS_KEYSTONE_AUTHTOKEN__MEMCACHE_SECRET_KEY" in os.environ:
        cache = auth_token.AuthProtocol(lambda *_: None, {"oslo_config_config": conf})._token_cache
        cache.initialize({})
        forged = json.dumps({"token": {"roles": [{"name": "admin"}]}}).encode()
        attack("tokens", cache.set, cache.get, forged)


def django():
    settings = {}
    exec(open(FILE).read(), settings)
    configured.configure(CACHES=settings["CACHES"])
    from django.core.cache import caches

    cache = caches[settings["SESSION_CACHE_ALIAS"]]
    attack("sessions", cache.set, cache.get, b"forged")


def run(client):
    """Attack the caches of a client, as a program that starts with its variables."""
    global FILE, SERVER, MARKER
    FILE, SERVER, MARKER = client["file"], client["server"], client["marker"]
    os.environ.clear()
    os.environ.update(client["env"])
    sys.path[1:1] = [p for p in client["env"].get("PYTHONPATH", "").split(":") if p]
    if FILE.endswith(".py"):
        django()
    else:
        oslo()


def fork(client):
    """Return the output and the exit code of a client in a child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.close(reader)
        code = 1
        try:
            run(client)
            code = 0
        except SystemExit as e:
            print(e)
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(code)
    os.close(writer)
    with open(reader) as out:
        text = out.read()
    return {"output": text, "code": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}


logging.disable()
# The modules of a client must not be loaded before its variables are set.
loaded = {"memcache", "pymemcache", "sealedcache"} & set(sys.modules)
assert not loaded, f"loaded too early: {loaded}"
json.dump({name: fork(client) for name, client in json.load(sys.stdin).items()}, sys.stdout)
