"""Prints the options of one service of one release, their types and its policy rules as compact JSON.

extract.py SERVICE RELEASE ROW   with the Python of a virtual environment that has the service. ROW is the row of services.toml, as JSON.

The option lists are those of oslo-config-generator, but its output says of a type only what it is called. So this reads the
option objects: item types, patterns and lengths survive. Four things are in no list:
  - what modules register when they are imported, found in cfg.CONF after importing all of them;
  - the options of keystoneauth's plugins, which a service registers when it sees auth_type;
  - auth_type itself, in some groups that load a plugin;
  - the classes that some options name.
"""

import contextlib
import importlib
import json
import logging
import os
import pkgutil
import re
import socket
import sys
import warnings

# Plugins that a service may authenticate with; the others (OAuth 2, Kerberos, SAML) are for people.
AUTH_TYPES = ("password", "v3password", "v3applicationcredential", "v3token", "http_basic", "none")
# Packages below a service that are not the service: importing them runs or needs something else.
SKIPPED = ("tests", "migrations", "alembic", "versions", "wsgi", "cmd", "hacking", "locale", "__main__")
# A default is for the reader: past this many characters it is no longer read.
LONGEST_DEFAULT = 100
# The name of this machine during the extraction: a valid name that is not a default.
HOST = "host.invalid"


def plain(value):
    """The value in JSON's types, without what is of this machine."""
    if isinstance(value, (list, tuple, set)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value).replace(sys.prefix, "<prefix>").replace(HOST, "<host>")


def describe(kind):
    """The type of a value."""
    from oslo_config import types

    if isinstance(kind, type):  # keystoneauth takes Python's own.
        return {"type": {bool: "boolean", int: "integer", float: "float"}.get(kind, "string")}
    # The most special first: each is found by its base classes too.
    known = {types.Port: "port", types.Integer: "integer", types.Float: "float", types.Boolean: "boolean",
             types.List: "list", types.Dict: "dict", types.Range: "range", types.IPAddress: "ip",
             types.HostDomain: "domain", types.HostAddress: "host", types.Hostname: "hostname", types.URI: "uri",
             types.String: "string"}
    name = next((n for t, n in known.items() if isinstance(kind, t)), None)
    if name is None:
        print(f"{kind!r} is taken as a string", file=sys.stderr)
        return {"type": "string"}
    out = {"type": name}
    for attribute, key in (("min", "min"), ("max", "max"), ("bounds", "bounded"), ("schemes", "schemes"),
                           ("ignore_case", "ignoreCase"), ("max_length", "maxLength")):
        value = getattr(kind, attribute, None)
        if value is not None and value is not False and (value != 0 or attribute in ("min", "max")):
            out[key] = plain(value)
    if getattr(kind, "choices", None):
        out["choices"] = [str(c) for c in kind.choices if c is not None]
    if getattr(kind, "regex", None):
        out["pattern"] = kind.regex.pattern
        if kind.regex.flags & re.IGNORECASE:
            out["ignoreCase"] = True
    if name in ("ip", "host", "domain"):
        check = (kind if name == "ip" else kind.ip_address).version_checker.__name__
        out.update({"_check_ipv4": {"ipVersion": 4}, "_check_ipv6": {"ipVersion": 6}}.get(check, {}))
    if name in ("list", "dict"):
        item = describe(kind.item_type if name == "list" else kind.value_type)
        if item != {"type": "string"}:
            out["item"] = item
    if name == "dict" and kind.key_value_separator != ":":
        out["separator"] = kind.key_value_separator
    return out


def normal(group):
    """The name under which oslo.config looks for a group, given as a name or an OptGroup: in lower case, except for DEFAULT."""
    group = getattr(group, "name", group)
    return group if group == "DEFAULT" else group.lower()


def settable(opt):
    """Whether anything is made of a value: Nova has options for the sake of a library alone, whose type throws away what is set."""
    return getattr(opt.type, "__name__", "") != "<lambda>"


def listed(lists):
    """The options of lists, each named as module:list."""
    for module, _, name in (entry.partition(":") for entry in lists):
        yield from getattr(importlib.import_module(module), name)


class Options:
    """Groups of options, as they are collected: the first to name an option says what it is."""

    def __init__(self):
        self.groups = {}

    def add(self, group, opts):
        group = normal(group)
        options = self.groups.setdefault(group, {})
        for opt in filter(settable, opts):
            # A file is searched for dest, where the hyphens of the name are underscores.
            options.setdefault(opt.dest, self.entry(group, opt))

    def entry(self, group, opt):
        out = describe(opt.type)
        default = plain(opt.default if opt.sample_default is None else opt.sample_default)
        if default is not None and len(json.dumps(default)) <= LONGEST_DEFAULT:
            out["default"] = default
        for attribute in ("multi", "mutable", "required"):
            if getattr(opt, attribute):
                out[attribute] = True
        if opt.secret is True:
            out["secret"] = True
        if opt.deprecated_for_removal:
            out["removal"] = {"since": str(opt.deprecated_since or ""), "reason": " ".join((opt.deprecated_reason or "").split())}
        old = {(normal(d.group or group), d.name or opt.dest) for d in opt.deprecated_opts} - {(group, opt.dest)}
        if old:
            out["deprecated"] = [{"group": g, "name": n} for g, n in sorted(old)]
        return out

    def add_listed(self, names):
        from importlib.metadata import entry_points

        lists = {e.name: e for e in entry_points(group="oslo.config.opts")}
        for name in names:
            if name not in lists:
                sys.exit(f"no entry point {name} in oslo.config.opts: see services.toml")
            for group, opts in lists[name].load()():
                self.add(group or "DEFAULT", opts)

    def add_registered(self, package):
        from oslo_config import cfg

        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + ".", onerror=lambda _: None):
            if not set(module.name.split(".")) & set(SKIPPED):
                # A driver whose library is not installed does not import, and is not there in the image either.
                with contextlib.suppress(Exception, SystemExit):
                    importlib.import_module(module.name)
        self.add("DEFAULT", [o["opt"] for o in cfg.CONF._opts.values()])
        for name, group in cfg.CONF._groups.items():
            self.add(name, [o["opt"] for o in group._opts.values()])

    def take_templates(self, templates, more, groups):
        """Takes out the groups that stand for those whose names an administrator chooses, and fills in those with a name of their own.

        What says of a template which options it has is such a group, or lists, each as module:list. More are lists of the options that each
        of them has besides.
        """
        out = {}
        for template, source in templates.items():
            if isinstance(source, list):
                options, group = {}, ""
                for opt in listed(source):
                    options[opt.dest] = self.entry(template, opt)
            elif (options := self.groups.pop(normal(source), None)) is None:
                sys.exit(f"no option list has the group {source}: see services.toml")
            else:
                group = normal(source)
            for opt in listed(more):
                options[opt.dest] = self.entry(group, opt)
            for option in options.values():  # A former name in the same group is one in whichever group it is.
                for old in option.get("deprecated", ()):
                    if old["group"] == group:
                        old["group"] = template
            out[template] = options
        for group, template in groups.items():
            self.groups.setdefault(group, {}).update(out[template])
        return out

    def add_classes(self, classes):
        """Notes which classes an option may name: those that a function of the service finds in its own package.

        Each row is the option, module:function, and what the option calls a class: by its name, or by its path, as it does the function. In the
        place of the function a row may have a namespace of entry points.
        """
        from importlib.metadata import entry_points

        for option, (function, calls) in classes.items():
            group, _, name = option.rpartition(".")
            if ":" not in function:
                self.groups[group][name]["classes"] = sorted({e.load().__name__ for e in entry_points(group=function)})
                continue
            module, _, attribute = function.partition(":")
            found = getattr(importlib.import_module(module), attribute)()
            if calls == "name":
                names = {c.__name__ for c in found}
            else:
                names = {f"{c.__module__}.{c.__name__}" for c in found} | {f"{module}.{attribute}"}
            self.groups[group][name]["classes"] = sorted(names)

    def add_auth(self):
        from keystoneauth1 import loading

        for group, options in self.groups.items():
            # castellan has an auth_type of its own.
            if group == "key_manager" or not ("auth_type" in options or {"auth_url", "username"} <= set(options)):
                continue
            self.add(group, loading.get_auth_common_conf_options() + loading.get_session_conf_options())
            for auth_type in AUTH_TYPES:
                self.add(group, loading.get_auth_plugin_conf_options(auth_type))


def policies(service):
    from oslo_policy import generator

    out = {}
    for rules in generator.get_policies_dict([service]).values():
        for rule in rules:
            out[rule.name] = entry = {"check": rule.check_str}
            if rule.deprecated_rule and rule.deprecated_rule.name != rule.name:
                entry["deprecated"] = rule.deprecated_rule.name
    return out


def main(service, release, row):
    from importlib.metadata import version

    row = json.loads(row)
    options = Options()
    options.add_listed(row["options"])
    options.add_registered(service)
    out = {"service": service, "release": release, "version": version(row["requires"][0].split("[")[0])}
    if "templates" in row:
        out["templates"] = options.take_templates(row["templates"], row["instance"], row.get("groups", {}))
    options.add_auth()
    options.add_classes(row.get("classes", {}))
    return {**out, "groups": options.groups, "policies": policies(service)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable()
    socket.gethostname = socket.getfqdn = lambda *_: HOST  # A default here and there, which has to be valid.
    with contextlib.redirect_stdout(sys.stderr):  # Some modules print when they are imported.
        registry = main(*sys.argv[1:])
    json.dump(registry, sys.stdout, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    sys.stdout.flush()
    os._exit(0)  # Imports may have started threads.
