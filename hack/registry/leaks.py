#!/usr/bin/env python3
"""Writes internal/openstack/override/testdata/leaks/RELEASE.txt: options that may reveal secrets or disable a protection.

leaks.py RELEASE    with the Python of a virtual environment with all services of the release, as test/openstack creates. An option is listed if its
name or its help text matches one of the patterns below, and it is not a secret itself. The list only selects options for a review: a Go test
requires a decision for each of them. The data of the registry has no help texts, so this list is a file of its own.
"""

import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tomllib
import unittest.mock
import warnings

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "internal" / "openstack" / "override" / "testdata" / "leaks"

NAMES = re.compile(r"debug|trace|insecure|unsafe|verify|inject_password|log_levels|split.loggers|invalid_password_hash$")
HELPS = re.compile(
    r"sensitive (info|data|detail)|insecure|unsafe|security (note|risk|impl)|(plain|clear) ?text|traceback|debugging (info|level|log)"
    r"|debug (level|middleware|server)|pydev|(print|log|dump)\w* .{0,40}(request|response|header|body|password|token)"
    r"|certificate (will|is) not|not be (validated|verified)|leak|information than normal",
    re.IGNORECASE,
)


def load(entry):
    """The function of an entry point. Libraries of drivers that are not installed are replaced: the lists of options do not use them."""
    while True:
        try:
            return entry.load()
        except ModuleNotFoundError as e:
            sys.modules[e.name] = unittest.mock.MagicMock()


def options(row):
    """All options of the lists of a service, as (group, option)."""
    lists = {e.name: e for e in importlib.metadata.entry_points(group="oslo.config.opts")}
    for name in row["options"]:
        if name in lists:
            for group, found in load(lists[name])():
                for option in found:
                    yield str(getattr(group, "name", group) or "DEFAULT"), option


def listed(service):
    """The lines of a service."""
    row = tomllib.loads((HERE / "services.toml").read_text())[service]
    for group, option in options(row):
        help_text = " ".join((option.help or "").split())
        if not option.secret and (NAMES.search(option.name) or HELPS.search(help_text)):
            yield f"{service} [{group}] {option.name.replace('-', '_')}\n"


def main(release):
    lines = set()
    for service in tomllib.loads((HERE / "services.toml").read_text()):
        # The services register options with the same names: each has a process of its own.
        run = subprocess.run([sys.executable, __file__, release, service], check=True, capture_output=True, text=True)
        lines.update(run.stdout.splitlines(keepends=True))
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{release}.txt").write_text("".join(sorted(lines)))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        warnings.simplefilter("ignore")
        sys.stdout.writelines(listed(sys.argv[2]))
    else:
        main(sys.argv[1])
