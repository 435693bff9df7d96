"""Stores something in the Vault of Barbican's configuration, reads it back, and becomes the command that it is given.

castellan takes an answer for a success that says there is no such mount: Barbican would tell users that their secrets are stored, and they
would be nowhere.
"""

import os
import sys

from castellan.common.objects import opaque_data

from barbican.plugin import vault_secret_store

# One entry, whoever starts: an engine keeps what is known of each that ever was.
ENTRY, CONTENT = "barbican-start", b"Barbican reads this back when it starts."

vault = vault_secret_store.VaultSecretStore().key_manager
try:
    vault._store_key_value(ENTRY, opaque_data.OpaqueData(CONTENT))
    found = vault.get(None, ENTRY).get_encoded()
except Exception as e:  # Whatever it is, secrets would be lost.
    sys.exit(f"The Vault does not give back what it is given: {e!r}. Look at its address, whether a KV engine of version 2 is mounted where "
             "the claim says, and at the policy of the AppRole.")
if found != CONTENT:
    sys.exit("The Vault gives back something else than it was given.")
os.execvp(sys.argv[1], sys.argv[1:])
