#!/usr/bin/env python3
"""Prints the revisions of one service's database schema as its release's own migrations have them, as JSON: the oldest first, the head last.

schema.py CONFIG BRANCH   with the Python of a virtual environment that has the service.

CONFIG is module:function, which gives the service's Alembic configuration: what is in the package and is not found by that (Keystone 28.1.0
has such a script) is never applied. BRANCH is the label of the branch that the service's tool tells the revision of.
"""

import importlib
import json
import logging
import sys

from alembic.script import ScriptDirectory
from oslo_config import cfg
from oslo_db import options


def main(config, branch):
    logging.disable()
    options.set_defaults(cfg.CONF, connection="sqlite://")  # The configuration names a database, which is not opened.
    module, _, function = config.partition(":")
    script = ScriptDirectory.from_config(getattr(importlib.import_module(module), function)())
    heads = [h for h in script.get_heads() if branch in script.get_revision(h).branch_labels]
    if len(heads) != 1:
        sys.exit(f"{config} has {len(heads)} heads of branch {branch}: {heads}")
    print(json.dumps([r.revision for r in script.walk_revisions("base", heads[0])][::-1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
