#!/usr/bin/env python3
"""Puts the examples of internal/openstack/registry/testdata/oslo.json to the real oslo.config and oslo.policy of every release.

verify.py: for all releases of keystone, in the virtual environments of generate.py. Run it by hand after a change of the
examples or for a new release; it exits with 1 if a library says otherwise. An example marked stricter is one that we refuse
and the library accepts.
"""

import collections
import contextlib
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "internal" / "openstack" / "registry" / "testdata" / "oslo.json"


def lines(option, value):
    """The value as internal/openstack/oslo writes it: a string means itself."""
    def text(v):
        if isinstance(v, bool):
            return str(v).lower()
        if isinstance(v, float) and v.is_integer():
            v = int(v)
        return str(v).replace("$", "$$")

    repeated = any(opt.multi and opt.dest == option for _, opts in listed() for opt in opts)
    values = value if isinstance(value, list) and repeated else [value]
    for v in values:
        v = ",".join(map(text, v)) if isinstance(v, list) else text(v)
        # Quotes keep outer spaces. The continuation line of a value with a line break is indented.
        yield f'{option} = "{v}"'.replace("\n", "\n  ")


def takes(example):
    """Whether some option gets the value, and can read it."""
    from oslo_config import cfg

    conf = cfg.ConfigOpts()
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(f"[{example['group']}]\n" + "\n".join(lines(example["option"], example["value"])) + "\n")
        file.flush()
        conf(["--config-file", file.name], default_config_files=[], default_config_dirs=[])
    # Registered late, as services do it: an option that is required for a part that is off is none of this.
    for group, opts in listed():
        for opt in opts:
            with contextlib.suppress(cfg.DuplicateOptError):
                conf.register_opt(opt, group=None if group == "DEFAULT" else group)
            try:
                location = conf.get_location(opt.dest, None if group == "DEFAULT" else group)
            except (ValueError, cfg.ConfigFileValueError, cfg.TemplateSubstitutionError):
                return False
            if location and location.location is cfg.Locations.user:
                return True
    return False


LISTED = []


def listed():
    """The options of the service: group, options."""
    if not LISTED:
        import tomllib
        from importlib.metadata import entry_points

        from oslo_concurrency import lockutils

        row = tomllib.loads((pathlib.Path(__file__).parent / "services.toml").read_text())["keystone"]
        for entry in entry_points(group="oslo.config.opts"):
            if entry.name in row["options"]:
                LISTED.extend((getattr(g, "name", g) or "DEFAULT", opts) for g, opts in entry.load()())
        LISTED.append(("oslo_concurrency", lockutils._opts))
    return LISTED


def build(description):
    """The oslo.config type of a description in the registry."""
    from oslo_config import types

    d = dict(description)
    made = {"port": types.Port, "integer": types.Integer, "float": types.Float, "boolean": types.Boolean, "list": types.List,
            "dict": types.Dict, "range": types.Range, "ip": types.IPAddress, "domain": types.HostDomain, "host": types.HostAddress,
            "hostname": types.Hostname, "uri": types.URI, "string": types.String}[d.pop("type")]
    names = {"min": "min", "max": "max", "pattern": "regex", "ignoreCase": "ignore_case", "maxLength": "max_length",
             "ipVersion": "version", "schemes": "schemes", "bounded": "bounds", "separator": "key_value_separator",
             "item": "value_type" if made is types.Dict else "item_type", "choices": "choices"}
    number = {"min", "max"} | ({"choices"} if made is types.Integer else set())
    convert = lambda k, v: build(v) if k == "item" else v if k not in number else [int(x) for x in v] if k == "choices" else int(v)
    return made(**{names[k]: convert(k, v) for k, v in d.items()})


def fits(example):
    try:
        build(example["type"])(example["value"])
    except ValueError:
        return False
    return True


def parses(example):
    """Whether oslo.policy understands a check, and can evaluate it: it reports what it does not understand to a log only."""
    from oslo_policy import _checks, _parser

    class Target(dict):
        def __missing__(self, _):
            return "text"

    class Enforcer:
        rules = collections.defaultdict(_checks.TrueCheck)

    failed = []
    _parser.LOG.exception = _parser.LOG.error = lambda *args: failed.append(args)
    rule = _parser.parse_rule(example["check"])

    def evaluate(check):
        # A check that sends a request to a server is accepted: it must not be called.
        if isinstance(check, (_checks.AndCheck, _checks.OrCheck)):
            return [evaluate(c) for c in check.rules]
        if isinstance(check, _checks.NotCheck):
            return evaluate(check.rule)
        if getattr(check, "kind", "") not in ("http", "https"):
            check(Target(), {"roles": []}, Enforcer())

    try:
        evaluate(rule)
    except Exception:
        return False
    return not failed


def verify(release):
    logging.disable()
    warnings.simplefilter("ignore")
    examples = json.loads(EXAMPLES.read_text())
    count, wrong = 0, 0
    for part, ask in (("options", takes), ("types", fits), ("policies", parses)):
        for example in examples[part]:
            if release not in example.get("releases", [release]):
                continue
            count += 1
            want = example["accept"] or example.get("stricter", False)
            if (got := ask(example)) != want:
                wrong += 1
                print(f"{release}: {example}: the library {'accepts' if got else 'refuses'} it")
    print(f"{release}: {count} examples, {wrong} wrong")
    return wrong


def main():
    sys.dont_write_bytecode = True  # This folder is in the tree.
    import generate

    rows, failed = generate.services(), False
    for release in sorted(rows["keystone"]["versions"]):
        python = generate.install("keystone", release, rows["keystone"])
        if subprocess.run([python, __file__, release]).returncode:
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        sys.exit(verify(sys.argv[1]) > 0)
