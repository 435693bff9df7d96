#!/usr/bin/env python3
"""Writes internal/openstack/extraspec/data/RELEASE.json.gz: the extra specs of flavors that Nova knows, and their values.

PREFIX/bin/python extraspecs.py RELEASE, where PREFIX is a virtual environment with all services of the release, as test/openstack makes. Nova's
own validators are imported and read. See README.md, "Extra specs of flavors".
"""

import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "internal" / "openstack" / "extraspec" / "data"
TYPES = {int: "integer", str: "string", bool: "boolean"}


def main(release):
    rows = tomllib.loads((HERE / "services.toml").read_text())
    from nova.api.validation.extra_specs import validators

    validators.load_validators()
    version = importlib.metadata.version("nova")
    if version != rows["nova"]["versions"][release]:
        sys.exit(f"the virtual environment has Nova {version}, and services.toml {rows['nova']['versions'][release]}")
    specs = []
    for name, v in sorted(validators.VALIDATORS.items()):
        spec = {"name": name, "type": TYPES[v.value["type"]]}
        if v.parameters:
            spec["names"] = v.name_regex
        spec |= {k: v.value[k] for k in ("enum", "min", "max", "pattern") if k in v.value}
        for expression in (v.name_regex, spec.get("pattern", "")):
            re.compile(expression)
        specs.append(spec)
    out = {"release": release, "version": version, "specs": specs, "namespaces": sorted(validators.NAMESPACES)}
    text = json.dumps(out, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    DATA.mkdir(parents=True, exist_ok=True)
    file = DATA / f"{release}.json.gz"
    file.write_bytes(subprocess.run(["gzip", "-9n"], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout)
    print(f"{file.name}: {len(specs)} extra specs, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
