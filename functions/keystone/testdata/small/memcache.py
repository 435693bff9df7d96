"""python-memcached with sealed entries, in place of the released module.

oslo.cache and keystonemiddleware import this module, because its folder is in PYTHONPATH. The released one loads every entry that is
marked as a pickle, before keystonemiddleware verifies its signature.
"""

import importlib.machinery
import importlib.util
import os
import sys

import sealedcache


def _find_released():
    own = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.machinery.PathFinder.find_spec(__name__, [p for p in sys.path if os.path.abspath(p) != own])
    if spec is None:
        raise ImportError("python-memcached is not installed")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_released = _find_released()


def __getattr__(name):
    return getattr(_released, name)


class Client(_released.Client):
    """A client whose keys are hashes, and whose values are encrypted."""

    # This fails if another version has no such method, so that the client never loads pickles by another one.
    _receive = _released.Client._recv_value

    def _recv_value(self, server, flags, rlen):
        # Flags mark pickles and compressed values. Sealed entries have none.
        return self._receive(server, 0, rlen)

    def get(self, key, default=None):
        name = sealedcache.name(key)
        value = sealedcache.unseal(name, super().get(name))
        return default if value is None else value

    def get_multi(self, keys, key_prefix=""):
        keys = {sealedcache.name(key, key_prefix): key for key in keys}
        values = {keys[name]: sealedcache.unseal(name, content) for name, content in super().get_multi(list(keys)).items()}
        return {key: value for key, value in values.items() if value is not None}

    def set(self, key, val, time=0, min_compress_len=0, noreply=False):
        name = sealedcache.name(key)
        return super().set(name, sealedcache.seal(name, val, time), time, 0, noreply)

    def set_multi(self, mapping, time=0, key_prefix="", min_compress_len=0, noreply=False):
        keys = {sealedcache.name(key, key_prefix): key for key in mapping}
        sealed = {name: sealedcache.seal(name, mapping[key], time) for name, key in keys.items()}
        return [keys[name] for name in super().set_multi(sealed, time, "", 0, noreply)]

    def delete(self, key, noreply=False):
        return super().delete(sealedcache.name(key), noreply)

    def delete_multi(self, keys, time=None, key_prefix="", noreply=False):
        return super().delete_multi([sealedcache.name(key, key_prefix) for key in keys], noreply=noreply)
