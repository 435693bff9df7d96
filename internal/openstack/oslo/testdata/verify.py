"""Lets the real oslo.config read the golden files, and compares with what the services must see.

    python3 -m venv /tmp/oslo && /tmp/oslo/bin/pip install oslo.config==10.0.0
    /tmp/oslo/bin/python verify.py

Run it whenever a golden file has changed. It ends with 1 on a difference.
"""
import json
import os
import pathlib
import sys

from oslo_config import cfg

HERE = pathlib.Path(__file__).parent


def option(name, want):
    """The option that such a value is for, and the value that it must have."""
    match want:
        case {"multi": values}:
            return cfg.MultiStrOpt(name), values
        case {"template": _, "value": value}:
            return cfg.StrOpt(name), value
        case bool():
            return cfg.BoolOpt(name), want
        case int():
            return cfg.IntOpt(name), want
        case float():
            return cfg.FloatOpt(name), want
        case list():
            return cfg.ListOpt(name), want
    return cfg.StrOpt(name), want


def compare(source, wanted, args, settable):
    """Reads everything, counts what is seen and prints what is not."""
    conf = cfg.ConfigOpts()
    conf(args, project="none", default_config_files=[], default_config_dirs=[])
    bad = count = 0
    for group, options in wanted.items():
        section = None if group == "DEFAULT" else group
        opts = {name: option(name, want) for name, want in options.items() if settable(want)}
        conf.register_opts([opt for opt, _ in opts.values()], group=section)
        for name, (_, want) in opts.items():
            got = conf[name] if section is None else conf[section][name]
            count += 1
            if got != want or type(got) is not type(want):
                bad += 1
                print(f"{source}: [{group}] {name}: the service sees {got!r}, wanted is {want!r}")
    print(f"{source}: {count} options, {bad} differ")
    return bad


def main():
    bad = 0
    for file in sorted(HERE.glob("*.json")):
        wanted = json.loads(file.read_text(encoding="utf-8"))
        conf = file.with_suffix(".conf")
        bad += compare(conf.name, wanted, ["--config-file", str(conf)], lambda want: True)
        groups = {}
        parser = cfg.ConfigParser(str(conf), groups)
        parser.parse()
        names = {g: sorted(o) for g, o in groups.items()}
        if names != {g: sorted(o) for g, o in wanted.items()}:
            bad += 1
            print(f"{conf.name}: there are other groups or options than wanted")
        env = file.with_suffix(".env")
        # Only line feeds end a variable.
        lines = [line for line in env.read_text(encoding="utf-8").split("\n") if line]
        variables = dict(line.split("=", 1) for line in lines)
        os.environ.update(variables)
        bad += compare(env.name, wanted, [], lambda want: not isinstance(want, dict))
        for name in variables:
            del os.environ[name]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
