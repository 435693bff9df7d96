#!/usr/bin/env python3
"""Prints the revisions of a service's database schema as its release's own migrations have them, as JSON: all of them, the oldest first,
and the heads.

schema.py CONFIG [BRANCH...]   with the Python of a virtual environment that has the service.

CONFIG is module:function, module:Class.method or module:function:argument, which gives the Alembic configuration of the schema: what is in the package and is
not found by that (Keystone 28.1.0 has such a script) is never applied. Each BRANCH is the label of a branch that the service's tool may tell
the revision of: a database is at the head of one of them. Without a branch there is one head.
"""

import importlib
import json
import logging
import sys

from alembic.script import ScriptDirectory
from oslo_config import cfg
from oslo_db import options


def main(config, *branches):
    logging.disable()
    options.set_defaults(cfg.CONF, connection="sqlite://")  # The configuration names a database, which is not opened.
    module, function, *arguments = config.split(":", 2)
    config_of = importlib.import_module(module)
    for name in function.split("."):
        config_of = getattr(config_of() if isinstance(config_of, type) else config_of, name)
    try:
        configuration = config_of(*arguments)
    except Exception as e:
        remedy = "correct schemas in services.toml, with an argument such as :sqlite:// for a URL"
        sys.exit(f"{config} returns no Alembic configuration: {e}; {remedy}")
    script = ScriptDirectory.from_config(configuration)
    heads = [h for h in script.get_heads() if not branches or script.get_revision(h).branch_labels & set(branches)]
    if len(heads) != max(len(branches), 1):
        sys.exit(f"{config} has {len(heads)} heads of branches {branches}: {heads}")
    revisions = [r.revision for h in heads for r in script.walk_revisions("base", h)][::-1]
    print(json.dumps({"heads": heads, "revisions": list(dict.fromkeys(revisions))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
