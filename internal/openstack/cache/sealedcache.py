"""Entries of memcached that only programs with CACHE_PASSWORD can write and read.

memcached authenticates no client. Its entries contain tokens and sessions, and the Python clients store objects as pickles, which
run code when they are loaded. Each entry is therefore encrypted and authenticated, with a key that is derived from the password and
from the name of the entry. Without the password, a writer can remove entries, or restore an earlier value until it expires.
"""

import hmac
import os
import pickle
import struct
import time

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_input_key = os.environ["CACHE_PASSWORD"].encode()
_expiry = struct.Struct(">d")
_nonce_bytes = 12

# memcached reads longer lifetimes as points in time: https://docs.memcached.org/protocols/basic/#data-expiry
_longest_lifetime = 60 * 60 * 24 * 30


def _derive(purpose, text):
    text = text if isinstance(text, bytes) else text.encode()
    return hmac.digest(_input_key, purpose + b"\0" + text, "sha256")


def name(key, prefix=""):
    """Return the name of the entry of a key. It is a hash, because keys can be secrets, such as the IDs of sessions."""
    key = key.decode() if isinstance(key, bytes) else str(key)
    return _derive(b"name", prefix + key).hex()


def seal(name, value, seconds=0):
    """Return the content of an entry, which expires after some seconds, or never."""
    expiry = time.time() + seconds if 0 < seconds <= _longest_lifetime else seconds
    nonce = os.urandom(_nonce_bytes)
    text = _expiry.pack(expiry) + pickle.dumps(value)
    return nonce + AESGCM(_derive(b"entry", name)).encrypt(nonce, text, None)


def unseal(name, content):
    """Return the value of an entry, or None if it expired or was not sealed under this name with the password."""
    try:
        text = AESGCM(_derive(b"entry", name)).decrypt(content[:_nonce_bytes], content[_nonce_bytes:], None)
        (expiry,) = _expiry.unpack_from(text)
        if expiry == 0 or time.time() < expiry:
            return pickle.loads(text[_expiry.size:])
    except Exception:  # Another program's entry, or an object of another release: the value is computed again.
        pass
    return None
