#!/usr/bin/env python3
"""Writes internal/openstack/registry/readers/RELEASE.json.gz: which program of a service reads which of its options.

readers.py RELEASE PREFIX   where PREFIX is a virtual environment with all services of the release, as test/openstack makes. Nothing of it is
imported: its modules are parsed. See README.md, "Which program reads an option", for the method and its limits.
"""

import ast
import collections
import configparser
import functools
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "internal" / "openstack" / "registry"

# READS: a function that the program reaches reads the option. IGNORES: no module that the program may import mentions it. UNKNOWN: neither is
# certain.
READS, IGNORES, UNKNOWN = "r", "-", "?"

# Names of the object that has all options.
CONF = {"CONF", "conf", "_conf", "cfg_CONF"}
# Namespaces of entry points that programs do not load: lists of options and rules, and commands.
NEVER = ("oslo.config.opts", "oslo.policy", "console_scripts", "gui_scripts", "pbr.", "distutils.", "setuptools.", "babel.", "pytest")
# Parts of a module's name that no program imports.
SKIPPED = {"tests", "test", "testing", "functional", "fixture", "fixtures", "alembic_migrations", "versions", "sphinxext", "opts", "_opts"}
DOTTED = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_]\w*)+(:[A-Za-z_][\w.]*)?$")
IDENTIFIER = re.compile(r"[A-Za-z_][\w-]*$")
REFERENCE = re.compile(r"\$\{?(?:(\w+)\.)?(\w+)\}?")
PLACE = re.compile(r"%s|%\(\w+\)s|\{\w*\}")
OPTION = re.compile(r"(Opt|Opts)$")


class Function:
    """What the code of a function mentions, nested functions included; or that of a module outside of its functions."""

    def __init__(self):
        self.names = set()  # identifiers, attributes and texts
        self.reads = set()  # (group, option) of CONF; group None: the option or the group of that name
        self.modules = set()  # imported
        self.namespaces = set()  # texts that may be namespaces of entry points


class Module:
    def __init__(self, name):
        self.name = name
        self.body = Function()
        self.functions = collections.defaultdict(list)  # name → functions
        self.methods = collections.defaultdict(lambda: collections.defaultdict(list))  # class → name → functions
        self.bases = {}  # class → names of its bases
        self.mentions = set()  # names that may be options of any group
        self.reads = set()  # of all functions
        self.modules = set()
        self.strings = set()
        self.patterns = set()  # expressions for names that are put together
        self.dynamic = set()  # groups of which an option is read whose name is not known
        self.defaults = collections.defaultdict(set)  # option → modules that its default names


class Environment:
    """The modules of a virtual environment. Each is parsed once, when a program reaches it."""

    def __init__(self, prefix):
        self.prefix = pathlib.Path(prefix)
        self.root = next(self.prefix.glob("lib/python3*/site-packages"))
        self.files, self.parsed = {}, {}
        for package in sorted(self.root.iterdir()):
            if package.suffix == ".py":
                self.files[package.stem] = package
            elif (package / "__init__.py").exists() and self.configured(package):
                for file in package.rglob("*.py"):
                    parts = list(file.relative_to(self.root).with_suffix("").parts)
                    if parts[-1] == "__init__":
                        parts.pop()
                    if not set(parts) & SKIPPED:
                        self.files[".".join(parts)] = file
        self.entries = collections.defaultdict(dict)
        for file in self.root.glob("*.dist-info/entry_points.txt"):
            parser = configparser.ConfigParser(delimiters="=", strict=False, interpolation=None, allow_no_value=True)
            parser.optionxform = str
            parser.read_string(file.read_text())
            for namespace in parser.sections():
                self.entries[namespace].update(parser[namespace])

    @staticmethod
    def configured(package):
        """Whether a package has anything to do with oslo.config."""
        return package.name in ("keystoneauth1", "stevedore") or subprocess.run(
            ["grep", "-rqE", "--include=*.py", "oslo_config|oslo_service|oslo_messaging", package], check=False).returncode == 0

    def version(self, distribution):
        name = re.sub(r"[-_.]+", "_", distribution).lower()
        for info in self.root.glob("*.dist-info"):
            package, _, version = info.stem.rpartition("-")
            if package.lower() == name:
                return version
        sys.exit(f"{self.prefix} has no {distribution}")

    def module(self, name):
        if name not in self.parsed:
            self.parsed[name] = Parser(self, name).parse() if name in self.files else None
        return self.parsed[name]

    def longest(self, dotted):
        """The module that a dotted name is, or is in."""
        dotted = dotted.replace(":", ".")
        while dotted and dotted not in self.files:
            dotted = dotted.rpartition(".")[0]
        return dotted if "." in dotted else ""

    @functools.cached_property
    def namespaces(self):
        """Namespace of entry points → their modules."""
        out = {}
        for namespace, entries in self.entries.items():
            if not namespace.startswith(NEVER):
                found = {m for m in (self.longest(e.split("[")[0].strip()) or e.split(":")[0].strip() for e in entries.values()) if m in self.files}
                if found:
                    out[namespace] = found
        return out

    def script(self, program):
        """module and function of a console script."""
        module, _, function = self.entries["console_scripts"][program].split("[")[0].strip().partition(":")
        return module, function

    def pipelines(self, file):
        """The factories in a file of Paste: module → names."""
        parser = configparser.ConfigParser(delimiters="=", strict=False, interpolation=None, allow_no_value=True)
        parser.read(self.prefix / "etc" / file)
        out = collections.defaultdict(set)
        for section in parser.sections():
            for key, value in parser[section].items():
                value = value or ""
                if key == "use" and value.startswith("egg:"):
                    package, _, name = value[4:].partition("#")
                    for namespace in ("paste.filter_factory", "paste.app_factory"):
                        value = self.entries[namespace].get(name, value)
                elif not key.startswith("paste.") and key != "use":
                    continue
                module, _, name = value.removeprefix("call:").partition(":")
                if module in self.files:
                    out[module].update(name.split("."))
        return out


class Parser(ast.NodeVisitor):
    def __init__(self, env, name):
        self.env, self.m = env, Module(name)
        self.function, self.cls, self.aliases = self.m.body, None, {}
        self.package = name if env.files[name].name == "__init__.py" else name.rpartition(".")[0]

    def parse(self):
        try:
            tree = ast.parse(self.env.files[self.m.name].read_text(errors="replace"))
        except SyntaxError:
            return None
        docstrings(tree)
        for node in ast.walk(tree):  # x = CONF.group, at any position, applies to the complete module.
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                chain = self.chain(node.value)
                if chain and len(chain) == 1:
                    target = node.targets[0]
                    key = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else None
                    if key:
                        self.aliases[key] = chain[0]
        self.visit(tree)
        everything = [self.m.body, *(f for fs in self.m.functions.values() for f in fs),
                      *(f for c in self.m.methods.values() for fs in c.values() for f in fs)]
        for f in everything:
            self.m.reads |= f.reads
            self.m.modules |= f.modules
            self.m.strings |= f.namespaces
        return self.m

    def chain(self, node):
        """The attributes behind CONF: ["group", "option"] of CONF.group.option; None for anything else."""
        if isinstance(node, ast.Name):
            return [] if node.id in CONF else None
        if isinstance(node, ast.Attribute):
            if node.attr in CONF:
                return []
            before = self.chain(node.value)
            return None if before is None else [*before, node.attr]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            before = self.chain(node.value)
            return None if before is None else [*before, node.slice.value]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) >= 2:
            before, name = self.chain(node.args[0]), node.args[1]
            if before is not None and isinstance(name, ast.Constant):
                return [*before, str(name.value)]
        return None

    def read(self, node):
        """Notes a read; it is true for a whole one."""
        chain = self.chain(node)
        if chain is None and isinstance(node, ast.Attribute):
            holder = node.value
            key = holder.id if isinstance(holder, ast.Name) else holder.attr if isinstance(holder, ast.Attribute) else None
            if key in self.aliases:
                self.function.reads.add((self.aliases[key], node.attr))
                self.m.mentions.add(node.attr)  # The name may be another object's elsewhere in the module.
                return False
        if not chain:
            return False
        self.function.names.update(chain)
        if len(chain) == 1:
            self.function.reads.add((None, chain[0]))
        else:
            self.function.reads.add((chain[0], chain[1]))
        return True

    def visit_FunctionDef(self, node):
        for d in node.decorator_list:
            self.visit(d)
        outer, outer_class = self.function, self.cls
        if outer is self.m.body:
            self.function = Function()
            (self.m.methods[outer_class] if outer_class else self.m.functions)[node.name].append(self.function)
        self.cls = None
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(part)
        self.function, self.cls = outer, outer_class

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        outer = self.cls
        if self.function is self.m.body:
            self.cls = node.name
            self.m.bases[node.name] = {n.id if isinstance(n, ast.Name) else n.attr for b in node.bases for n in [b]
                                       if isinstance(n, (ast.Name, ast.Attribute))}
            self.m.methods[node.name]
        for part in (*node.bases, *node.keywords, *node.decorator_list, *node.body):
            self.visit(part)
        self.cls = outer

    def visit_Import(self, node):
        self.function.modules.update(a.name for a in node.names)

    def visit_ImportFrom(self, node):
        base = node.module or ""
        if node.level:
            parts = self.package.split(".")
            base = ".".join(parts[:len(parts) - node.level + 1] + ([node.module] if node.module else []))
        self.function.modules.add(base)
        self.function.modules.update(f"{base}.{a.name}" for a in node.names)
        self.function.names.update(a.name for a in node.names)

    def visit_Attribute(self, node):
        if self.read(node):
            return  # What is before it has no more to say.
        self.function.names.add(node.attr)
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")) or self.m.name.startswith("oslo_config"):
            self.m.mentions.add(node.attr)
        self.visit(node.value)

    def visit_Subscript(self, node):
        if not self.read(node):
            self.generic_visit(node)

    def visit_Name(self, node):
        self.function.names.add(node.id)

    def visit_keyword(self, node):
        if node.arg:
            self.function.names.add(node.arg)
        self.visit(node.value)

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "getattr" and len(node.args) >= 2 and not isinstance(node.args[1], ast.Constant):
            chain = self.chain(node.args[0])
            if chain:
                self.m.dynamic.add(chain[0])
        if OPTION.search(name):
            # An option's own name is no read of it. Its default may name another option, or a module that is loaded if the option is read.
            own = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            for inner in ast.walk(node):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    self.m.mentions.update(option for _, option in REFERENCE.findall(inner.value))
                    if isinstance(own, str) and DOTTED.match(inner.value) and self.env.longest(inner.value):
                        self.m.defaults[own.replace("-", "_")].add(self.env.longest(inner.value))
            return
        if name in ("set_default", "set_override", "register_opt", "register_opts", "import_opt", "import_group", "clear_override"):
            for a in (*node.args[1:], *node.keywords) if name.startswith("set") else ():
                self.visit(a)
            if name == "import_opt" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                self.function.modules.add(node.args[1].value)
            if name.startswith("import") and node.args and isinstance(node.args[0], ast.Constant):
                return
            if name.startswith(("set", "clear")):
                return
        self.generic_visit(node)

    def visit_JoinedStr(self, node):
        self.pattern("%s".join(v.value if isinstance(v, ast.Constant) else "%s" for v in node.values))
        self.generic_visit(node)

    def pattern(self, text):
        parts = PLACE.split(text)
        if len(parts) > 1 and all(re.fullmatch(r"\w*", p) for p in parts) and len("".join(parts)) > 3:
            self.m.patterns.add(r"\w+".join(parts))

    def visit_Constant(self, node):
        if isinstance(node.value, str) and len(node.value) < 200:
            self.pattern(node.value)
            if IDENTIFIER.match(node.value):
                self.function.names.add(node.value)
                self.m.mentions.add(node.value.replace("-", "_"))
            if node.value in self.env.namespaces:
                self.function.namespaces.add(node.value)
            elif DOTTED.match(node.value) and self.m.name not in IGNORED_TEXTS:
                found = self.env.longest(node.value)
                if found:
                    self.function.modules.add(found)
                    self.function.names.update(re.split("[.:]", node.value))


# Modules whose texts name the modules of other programs, too.
IGNORED_TEXTS = {"nova.service"}


def docstrings(tree):
    """Empties what is documentation."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value.value = ""


def parents(name):
    while name:
        yield name
        name = name.rpartition(".")[0]


class Program:
    """What a program may import, and what it reaches."""

    def __init__(self, env, name, row, service):
        self.env, self.name, self.row, self.service = env, name, row, service
        self.excluded = tuple(row.get("without", ()))
        self.roots = collections.defaultdict(set)  # module → names that are called; * is all of them
        if name in env.entries["console_scripts"]:
            module, function = env.script(name)
            self.roots[module].add(function)
        elif name in env.files:
            self.roots[name].add("*")
        for file in row.get("pipelines", ()):
            for module, names in env.pipelines(file).items():
                self.roots[module] |= names
        for module in row.get("loads", ()):
            found = [m for m in env.files if m == module or m.startswith(module + ".")]
            for m in found:
                self.roots[m].add("*")
        if not self.roots:
            sys.exit(f"{env.prefix} has no program {name}")

    def wanted(self, name):
        return name in self.env.files and not any(name == e or name.startswith(e + ".") for e in self.excluded)

    def imported(self):
        """Every module that it may import."""
        out, todo = {}, [p for r in self.roots for p in parents(r)]
        defaults, mentioned = collections.defaultdict(set), set()
        while todo:
            while todo:
                name = todo.pop()
                if name in out or not self.wanted(name) or (m := self.env.module(name)) is None:
                    continue
                out[name] = m
                for option, modules in m.defaults.items():
                    defaults[option] |= modules
                mentioned |= m.mentions | {o for _, o in m.reads}
                for n in m.modules:
                    todo += parents(n)
                for namespace in m.strings:
                    for n in self.env.namespaces[namespace]:
                        todo += parents(n)
            for option in mentioned & set(defaults):  # What an option names is loaded by who reads it.
                for n in defaults.pop(option):
                    todo += parents(n)
        return out

    def reached(self, modules):
        """The reads of every function that is reached, by its name."""
        importers = collections.defaultdict(set)  # module → modules that may use its names
        for m in modules.values():
            for n in m.modules:
                for p in parents(n):
                    importers[p].add(m.name)
        names = collections.defaultdict(set)  # module → names in its reached code
        everywhere, classes, done, reads, bodies = set(), set(), set(), set(), set()
        todo = []

        def take(module, function):
            if id(function) in done:
                return
            done.add(id(function))
            names[module.name].update(function.names)
            everywhere.update(function.names)
            reads.update(function.reads)
            for n in function.modules:
                todo.extend(parents(n))

        def body(name):
            todo.append(name)
            while todo:
                n = todo.pop()
                if n in bodies or n not in modules:
                    continue
                bodies.add(n)
                take(modules[n], modules[n].body)

        for r in self.roots:
            for p in parents(r):
                body(p)
        before = None
        while before != len(done):
            before = len(done)
            for name in list(bodies):
                m = modules[name]
                visible = names[name].union(*(names[i] for i in importers[name]))
                roots = self.roots.get(name, set())
                for f in m.functions:
                    if f in visible or f in roots or "*" in roots or f.startswith("__"):
                        for function in m.functions[f]:
                            take(m, function)
                for c in m.methods:
                    if (name, c) not in classes and not (c in visible or c in roots or "*" in roots):
                        continue
                    classes.add((name, c))
                    for f in m.methods[c]:
                        if f in everywhere or f in roots or f.startswith("__") or "*" in roots:
                            for function in m.methods[c][f]:
                                take(m, function)
            while todo:
                body(todo.pop())
        return reads, bodies


# Groups whose options keystoneauth's plugins read, by the group's name alone.
def by_group(groups):
    return {g for g, options in groups.items() if "auth_type" in options or {"auth_url", "username"} <= set(options)}


AUTH = {
    "auth_type", "auth_section", "auth_url", "cafile", "certfile", "keyfile", "insecure", "timeout", "collect_timing", "split_loggers",
    "system_scope", "domain_id", "domain_name", "project_id", "project_name", "project_domain_id", "project_domain_name", "trust_id",
    "user_id", "username", "user_domain_id", "user_domain_name", "password", "default_domain_id", "default_domain_name", "passcode",
    "application_credential_id", "application_credential_name", "application_credential_secret", "token", "endpoint", "endpoint_override",
    "region_name", "valid_interfaces", "service_type", "service_name", "version", "min_version", "max_version", "connect_retries",
    "connect_retry_delay", "status_code_retries", "status_code_retry_delay", "retriable_status_codes", "tenant_id", "tenant_name",
}


def judge(program, groups, verbose):
    """group → option → what the program does with it."""
    modules = program.imported()
    found, bodies = program.reached(modules)
    print(f"{program.name}: {len(modules)} modules, {len(bodies)} reached, {len(found)} reads", file=sys.stderr)
    lower = {g.lower(): g for g in groups}

    def plain(reads):
        out = set()
        for group, option in reads:
            if group is None:
                out.add(("DEFAULT", option))
            elif group.lower() in lower:
                out.add((lower[group.lower()], option))
            else:  # CONF.option.lower(), or an object of another name.
                out |= {(None, option), ("DEFAULT", group)}
        return out

    reads, possible = plain(found), set()
    mentions, dynamic, patterns = set(), set(), set()
    for m in modules.values():
        possible |= plain(m.reads)
        mentions |= m.mentions
        dynamic |= m.dynamic
        patterns |= m.patterns
    composed = re.compile("|".join(sorted(patterns)) or "$^")
    used = {o for g, o in possible if g == "DEFAULT"}  # CONF.group, which is handed on
    dynamic = {lower.get(g.lower()) for g in dynamic}
    auth = by_group(groups)
    out = {}
    for group, options in groups.items():
        out[group] = {}
        for option in options:
            if (group, option) in reads:
                state = READS
            elif (group, option) in possible or (None, option) in possible or option in mentions or group in dynamic \
                    or composed.fullmatch(option):
                state = UNKNOWN
            elif option in AUTH and group in auth:
                state = UNKNOWN if group in mentions or group in used else IGNORES
            else:
                state = IGNORES
            out[group][option] = state
    # Options that keystoneauth knows by name alone: its own modules mention each of them, whatever the group.
    for group in auth:
        if group not in mentions and group not in used and not any(g == group for g, _ in possible):
            for option in AUTH & set(out[group]):
                out[group][option] = IGNORES
    return out


def main(release, prefix, *only):
    verbose = bool(only)
    rows = tomllib.loads((HERE / "services.toml").read_text())
    env = Environment(prefix)
    out = {"release": release, "services": {}}
    for service, row in sorted(rows.items()):
        if "programs" not in row or only and service not in only:
            continue
        programs = row["programs"]
        registry = json.load(gzip.open(DATA / "data" / f"{service}-{release}.json.gz"))
        if (have := env.version(row["requires"][0])) != registry["version"]:
            sys.exit(f"{prefix} has {service} {have}, and the registry {registry['version']}")
        named = sorted(p for p, r in programs.items() if release in r.get("releases", [release]))
        judged = [judge(Program(env, p, programs[p], service), registry["groups"], verbose) for p in named]
        groups = {g: {o: "".join(j[g][o] for j in judged) for o in options} for g, options in registry["groups"].items()}
        out["services"][service] = {"version": registry["version"], "programs": named, "groups": groups}
    if only:
        json.dump(out, sys.stdout, indent=1, sort_keys=True)
        return
    text = json.dumps(out, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    file = DATA / "readers" / f"{release}.json.gz"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(subprocess.run(["gzip", "-9n"], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout)
    print(f"{file.name}: {len(text)} bytes, {file.stat().st_size} compressed")


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    main(*sys.argv[1:])
