#!/usr/bin/env python3
"""Writes internal/openstack/registry/data/SERVICE-RELEASE.json.gz for every service of services.toml and each of its releases, and
internal/openstack/revision/data/SCHEMA.json, which are of all releases.

generate.py [RELEASE...] [SERVICE...]: only these releases and services. See README.md. Needs Python 3.11; the folder of the cache is taken
from COBALTCORE_CACHE.
"""

import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "internal" / "openstack" / "registry" / "data"
SCHEMAS = HERE.parent.parent / "internal" / "openstack" / "revision" / "data"
CACHE = pathlib.Path(os.environ.get("COBALTCORE_CACHE") or pathlib.Path.home() / ".cache" / "cobaltcore") / "registry"
UV = "uv==0.13.8"


def run(*command, **options):
    return subprocess.run([str(c) for c in command], check=True, **options)


def venv(home, tool):
    """Makes a virtual environment at home with pip, and gives the path of a tool in it."""
    command = (sys.executable, "-m", "venv", "--clear", home)
    try:
        run(*command, stdout=subprocess.DEVNULL)
    except subprocess.CalledProcessError:  # Debian ships ensurepip apart.
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            sys.exit("cannot make a virtual environment: install the package python3-venv")
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-yqq", "--no-install-recommends", "python3-venv", stdout=subprocess.DEVNULL)
        run(*command)
    return home / "bin" / tool


def install(service, release, row):
    """Gives the Python of a virtual environment that has one service of one release. It is made once.

    No two services share one: what is installed decides what is found, and a new row must not change another's file.
    """
    package, *more = row["requires"]
    requirements = [f"{package}=={row['versions'][release]}", *more]
    constraints = HERE / "constraints" / f"{release}.txt"
    key = hashlib.sha256("\n".join([UV, platform.python_version(), *requirements]).encode() + constraints.read_bytes())
    home = CACHE / f"{service}-{release}-{key.hexdigest()[:12]}"
    python = home / "bin" / "python"
    if (home / "complete").exists():
        return python
    uv = CACHE / "uv" / "bin" / "uv"
    if not uv.exists():
        pip = venv(CACHE / "uv", "pip")
        run(pip, "install", "-q", "--disable-pip-version-check", UV)
    env = {**os.environ, "UV_CACHE_DIR": str(CACHE / "uv-cache"), "UV_PYTHON_DOWNLOADS": "never"}
    run(uv, "venv", "-q", "--clear", "-p", sys.executable, home, env=env)
    # Services of 2025 still import pkg_resources here and there, which setuptools 81 warns of and 82 no longer has.
    run(uv, "pip", "install", "-q", "-p", python, "-c", constraints, "setuptools<81", *requirements, env=env)
    (home / "complete").touch()
    return python


def extract(python, service, release, row):
    """Writes one data file. gzip without name and time: the same text gives the same bytes."""
    env = {**os.environ, "PYTHONHASHSEED": "0"}  # Some choices are sets.
    # In a separate folder: an import may write a log.
    scratch = CACHE / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    text = run(python, HERE / "extract.py", service, release, json.dumps(row),
               env=env, cwd=scratch, stdout=subprocess.PIPE).stdout
    file = DATA / f"{service}-{release}.json.gz"
    file.write_bytes(run("gzip", "-9n", input=text, stdout=subprocess.PIPE).stdout)
    print(f"{file.name}: {len(text)} bytes, {file.stat().st_size} compressed")


def schema(service, row, name):
    """Writes which releases each revision of a schema of a service serves.

    A revision that is no release's head is of the release that brings it. Those below the first release's head are left out: what an
    upgrade from there has to do is not known here.
    """
    known, seen = {}, set()
    for release in sorted(row["versions"]):
        python = install(service, release, row)
        # In a separate folder: an import may write a log.
        found = json.loads(run(python, HERE / "schema.py", *row["schemas"][name], cwd=CACHE, stdout=subprocess.PIPE).stdout)
        for revision in found["revisions"]:
            if revision in found["heads"]:
                known.setdefault(revision, []).append(release)
            elif seen and revision not in seen:
                known[revision] = [release]
        seen.update(found["revisions"])
    file = SCHEMAS / f"{name}.json"
    rows = [{"revision": revision, "releases": releases} for revision, releases in known.items()]
    file.write_text(json.dumps(sorted(rows, key=lambda r: (r["releases"], r["revision"])), indent=2) + "\n")
    print(f"{file.name}: {len(rows)} revisions")


def services():
    """The rows of services.toml with options: service → row."""
    rows = tomllib.loads((HERE / "services.toml").read_text())
    return {service: row for service, row in rows.items() if "options" in row}


def main(wanted):
    rows = services()
    releases = sorted({release for row in rows.values() for release in row["versions"]})
    if unknown := set(wanted) - set(releases) - set(rows):
        sys.exit(f"services.toml has no release or service {', '.join(sorted(unknown))}")
    rows = {service: row for service, row in rows.items() if service in wanted} or rows
    DATA.mkdir(parents=True, exist_ok=True)
    for release in [r for r in releases if r in wanted] or releases:
        for service, row in sorted(rows.items()):
            if release in row["versions"]:
                extract(install(service, release, row), service, release, row)
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    for service, row in sorted(rows.items()):
        for name in sorted(row["schemas"]):
            schema(service, row, name)


if __name__ == "__main__":
    main(sys.argv[1:])
