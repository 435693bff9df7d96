"""Runs Tempest once: run.py FOLDER, with tempest.conf, exclude.txt and run.json.

What a run before this one has left is removed first, and what this one leaves is at its end, also when the pod is stopped. How the tests
ended is in the container's termination message.
"""

import configparser
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import time

import openstack
import subunit
import testtools

WORK = pathlib.Path(os.environ.get("WORK", "/tmp/tempest"))
MESSAGE = pathlib.Path(os.environ.get("MESSAGE", "/dev/termination-log"))
# A message has 4096 bytes at most, and names are long.
NAMES, LENGTH, SENTENCE = 10, 240, 600
# Servers, volumes and stacks are gone some time after their deletion has ended.
ATTEMPTS, PAUSE = 6, float(os.environ.get("PAUSE", "5"))
# With one store Glance has nothing to copy, and this test waits for a copy until its time-out.
COPIES = r"^tempest\.api\.image\.v2\.admin\.test_images\.ImportCopyImagesTest\."
# The network in which stacks of tests have servers.
NETWORK = "c5c3-tempest-stacks"
# How Tempest's tempest/common/credentials_factory.py calls what tests log in by, whatever resource_name_prefix says: by their class and a
# random number. Others may call something so, too; what else marks it, is_login and is_system_user say.
LOGIN = r"tempest-\w+-[1-9]\d*"


class Stopped(Exception):
    """The pod is being stopped."""


class Problem(Exception):
    """A sentence that says why there is no result."""


class Results:
    """Counts tests, and says of each that failed or was skipped why, as it does."""

    def __init__(self):
        self.passed, self.skipped, self.failures = 0, 0, []

    def __call__(self, test):
        status, name = test["status"], test["id"]
        if status in ("success", "xfail"):
            self.passed += 1
        elif status == "skip":
            self.skipped += 1
            reason = test["details"].get("reason")
            print("SKIPPED:", name, reason.as_text().strip() if reason else "")
        elif status in ("fail", "uxsuccess", "inprogress"):
            self.failures.append(name)
            print("FAILED:", name)
            for key, detail in sorted(test["details"].items()):
                if key.startswith("traceback") or key == "reason":
                    print(detail.as_text())
        sys.stdout.flush()


class Stream(testtools.StreamToDict):
    """What Tempest says: its tests, and in words what keeps it from running them."""

    def status(self, **event):
        if event.get("test_id") is None and event.get("file_bytes"):
            print(bytes(event["file_bytes"]).decode(errors="replace"), end="", flush=True)
        super().status(**event)


def cloud_of(config):
    """Logs in as the administrator of tempest.conf."""
    auth, identity = config["auth"], config["identity"]
    return openstack.connect(
        load_yaml_config=False, load_envvars=False, auth_type="password", region_name=identity["region"], interface="internal",
        cacert=identity["ca_certificates_file"], identity_api_version="3",
        auth={
            "auth_url": identity["uri_v3"], "username": auth["admin_username"], "password": os.environ["OS_AUTH__ADMIN_PASSWORD"],
            "project_name": auth["admin_project_name"], "user_domain_name": auth["admin_user_domain_name"],
            "project_domain_name": auth["admin_project_domain_name"],
        })


def left(cloud, config):
    """What there is of Tempest's that has a name, as functions that delete it, the last to go last; and what cannot be looked for."""
    prefix = config["DEFAULT"]["resource_name_prefix"] + "-"
    available = {k: v == "true" for k, v in config["service_available"].items()}
    keystone, out, hidden = cloud.identity, [], []
    domain = config["identity"]["default_domain_id"]

    def look(kind, find, delete, label="name", is_ours=None):
        if is_ours is None:
            def is_ours(one):
                return (one[label] or "").startswith(prefix)
        try:
            found = [one for one in find() if is_ours(one)]
        except Stopped:
            raise
        except Exception as e:  # Tests say what is wrong with a service, and others go on.
            hidden.append("%s (%s)" % (kind, e))
            return []
        out.extend((kind, one[label], lambda one=one: delete(one)) for one in found)
        return found

    def end_logins(kind, place):
        # Users first: without the project or domain nothing says any more that they are Tempest's.
        for user in users_of(keystone, domain, kind, place):
            keystone.delete_user(user)

    def end_login_project(project):
        end_logins("project", project)
        end_project(cloud, project)

    look("project", lambda: keystone.projects(domain_id=domain), end_login_project, is_ours=is_login)
    look("project", keystone.projects, lambda p: end_project(cloud, p))
    if available.get("heat"):
        # Tests of stacks make them in the project of the administrator, which is Tempest's own, under names that have no prefix.
        look("stack", lambda: cloud.orchestration.stacks(), lambda s: gone(cloud.orchestration, cloud.orchestration.delete_stack, s),
             is_ours=lambda s: s.parent_id is None)
    # A test that fails may leave what it has made in a project that Tempest deletes: then nobody but an administrator sees it.
    if available["nova"]:
        look("server", lambda: cloud.compute.servers(all_projects=True), lambda s: gone(cloud.compute, cloud.compute.delete_server, s))
    if available["cinder"]:
        volumes = cloud.block_storage
        look("backup", lambda: volumes.backups(all_projects=True), lambda b: gone(volumes, volumes.delete_backup, b))
        look("snapshot", lambda: volumes.snapshots(all_projects=True), lambda s: gone(volumes, volumes.delete_snapshot, s))
        look("volume", lambda: volumes.volumes(all_projects=True), lambda v: gone(volumes, volumes.delete_volume, v))
    if available["neutron"]:
        look("router", cloud.network.routers, lambda r: end_router(cloud.network, r))
        look("network", cloud.network.networks, lambda n: cloud.network.delete_network(n))
        look("subnet pool", cloud.network.subnet_pools, lambda p: cloud.network.delete_subnet_pool(p))
    if available["nova"]:
        look("flavor", lambda: cloud.compute.flavors(is_public=None), lambda f: cloud.compute.delete_flavor(f))
        look("aggregate", lambda: cloud.compute.aggregates(), lambda a: cloud.compute.delete_aggregate(a))
    if available["glance"]:
        look("image", lambda: cloud.image.images(), lambda i: cloud.image.delete_image(i))
    if available["cinder"]:
        look("volume type", lambda: cloud.block_storage.types(is_public=None), lambda t: cloud.block_storage.delete_type(t))
    for path, kind, label in (
        ("/OS-EP-FILTER/endpoint_groups", "endpoint group", "name"), ("/OS-OAUTH1/consumers", "consumer", "description"),
        ("/policies", "policy", "type"),
    ):
        def find(path=path):
            return keystone.get(path).json().get(path.split("/")[-1], [])

        def delete(one, path=path):
            keystone.delete(path + "/" + one["id"]).raise_for_status()

        look(kind, find, delete, label)
    look("service", keystone.services, keystone.delete_service)
    look("region", keystone.regions, keystone.delete_region, "description")

    def end_domain(domain):
        keystone.update_domain(domain, is_enabled=False)
        keystone.delete_domain(domain)

    def end_login_domain(domain):
        end_logins("domain", domain)
        end_domain(domain)

    # A domain goes with all that is in it. Of one of a directory all users would be listed, and Tempest makes none there.
    look("domain", keystone.domains, end_login_domain, is_ours=is_login)
    look("domain", keystone.domains, end_domain)
    look("user", lambda: keystone.users(domain_id=domain), keystone.delete_user, is_ours=lambda u: is_system_user(keystone, u))
    look("user", lambda: keystone.users(domain_id=domain), keystone.delete_user)
    look("group", lambda: keystone.groups(domain_id=domain), keystone.delete_group)
    look("role", lambda: keystone.roles(domain_id=domain), keystone.delete_role)
    look("role", keystone.roles, keystone.delete_role)
    return out, hidden


def is_login(place):
    """Says that tests log in to a project, or to a domain: its description repeats its name as Tempest's does, and as nobody else's would."""
    return re.fullmatch(LOGIN, place.name) is not None and place.description == place.name + "-desc"


def users_of(keystone, domain, kind, place):
    """The users that Tempest has made for such a project or domain. They are called like it, and have a role in it, or none yet."""
    name = re.compile(re.escape(place.name) + "-" + kind + r"(-\w+)?")
    for user in keystone.users(domain_id=domain):
        if name.fullmatch(user.name):
            scopes = scopes_of(keystone, user)
            if not scopes or any(kind in s and s[kind]["id"] == place.id for s in scopes):
                yield user


def is_system_user(keystone, user):
    """Says that tests log in to the whole cloud by a user: he is called so, and has roles there and nowhere else, which only an administrator
    gives."""
    scopes = scopes_of(keystone, user) if re.fullmatch(LOGIN + r"-system(-\w+)?", user.name) else []
    return bool(scopes) and all("system" in s for s in scopes)


def scopes_of(keystone, user):
    """Where a user has roles."""
    return [a.scope for a in keystone.role_assignments(user_id=user.id)]


def gone(service, delete, thing):
    """Deletes what takes a while to go, and waits until it has."""
    delete(thing)
    service.wait_for_delete(thing, interval=1, wait=300)


def end_router(network, router):
    """Deletes a router, and its ports, which keep it."""
    for port in network.ports(device_id=router.id, device_owner="network:router_interface"):
        network.remove_interface_from_router(router, port_id=port.id)
    network.delete_router(router)


def end_project(cloud, project):
    """Deletes a project that Tempest has made, with all that is in it, whatever that is called. What would be left keeps the project."""
    role = cloud.identity.find_role("admin", ignore_missing=False)
    user = cloud.session.get_user_id()
    cloud.identity.assign_project_role_to_user(project, user, role)
    inside = cloud.connect_as_project(project)
    for _ in range(ATTEMPTS):
        inside.project_cleanup(dry_run=False, wait_timeout=300)
        there = queue.Queue()
        inside.project_cleanup(dry_run=True, wait_timeout=300, status_queue=there)
        if there.empty():
            cloud.identity.delete_project(project)
            return
        time.sleep(PAUSE)
    raise Problem("it still holds %s" % there.get().name)


def clean(cloud, config):
    """Deletes what there is of Tempest's, and says what it could not."""
    for kind, name, delete in left(cloud, config)[0]:
        print("removes", kind, name)
        try:
            delete()
        except Stopped:
            raise
        except Exception as e:  # What is left of one thing keeps no other.
            print("cannot remove", kind, name + ":", e)
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE)
        # Heat lists a stack until it has removed its credentials, which is after DELETE_COMPLETE.
        remains, hidden = left(cloud, config)
        if not remains:
            break
    out = ["cannot look for any " + h for h in hidden]
    if remains:
        names = [kind + " " + name for kind, name, _ in remains]
        out.append("%d things could not be removed: %s" % (len(names), ", ".join(names[:NAMES])))
    return out


def find(cloud, config):
    """Adds to config what tests need to know of a cloud and only the cloud tells. Returns expressions of tests that do not fit it."""
    excluded = []
    available = {k: v == "true" for k, v in config["service_available"].items()}

    def say(group, option, value):
        if not config.has_section(group):
            config.add_section(group)
        config[group][option] = value

    if available["neutron"]:
        # Tests of what is not there would fail, and not be skipped: Tempest takes everything to be there of which it is told nothing.
        say("network-feature-enabled", "api_extensions", ",".join(sorted(e.alias for e in cloud.network.extensions())))
        outside = list(cloud.network.networks(is_router_external=True))
        if outside:
            say("network", "public_network_id", outside[0].id)
    if available["cinder"]:
        backups = any(s.binary == "cinder-backup" for s in cloud.block_storage.services())
        say("volume-feature-enabled", "backup", str(backups).lower())
        pools = [p.capabilities for p in cloud.block_storage.backend_pools()]
        if pools:
            # Tests order volumes of types with these properties, and no other backend than these has them.
            protocol = pools[0]["storage_protocol"]
            protocols = [protocol] if isinstance(protocol, str) else protocol
            say("volume", "storage_protocol", protocols[0])
            say("volume", "vendor_name", pools[0]["vendor_name"])
            in_ceph = str("ceph" in protocols).lower()
            say("volume-feature-enabled", "manage_volume", in_ceph)
            say("volume-feature-enabled", "manage_snapshot", in_ceph)
            names = sorted({p["volume_backend_name"] for p in pools})
            if len(names) > 1:
                say("volume", "backend_names", ",".join(names))
            say("volume-feature-enabled", "multi_backend", str(len(names) > 1).lower())
            if available["nova"]:
                say("compute-feature-enabled", "volume_multiattach", str(all(p.get("multiattach") for p in pools)).lower())
    if available["nova"]:
        # Without a disk a flavor is for who boots from volumes: Nova lets nobody else have it.
        flavors = sorted(cloud.compute.flavors(), key=lambda f: (not f.disk, f.ram, f.vcpus, f.name))
        # A kernel and what it loads are images, too, and no virtual machine is made of these alone.
        images = sorted((i for i in cloud.image.images(visibility="public", status="active") if i.disk_format not in ("aki", "ari")),
                        key=lambda i: (i.size or 0, i.name or ""))
        if not flavors or not images:
            raise Problem("virtual machines need a flavor and a public image, and the cloud has none; make one, or do not test compute")
        for name, found in (("flavor_ref", flavors), ("image_ref", images)):
            say("compute", name, found[0].id)
            say("compute", name + "_alt", found[min(1, len(found) - 1)].id)
        nodes = [s for s in cloud.compute.services(binary="nova-compute") if s.status == "enabled" and s.state == "up"]
        # Tests that move a server need two.
        say("compute", "min_compute_nodes", str(len(nodes)))
        if available.get("heat"):
            for kind, found in (("image_ref", images), ("instance_type", flavors)):
                say("heat_plugin", kind, found[0].id)
                say("heat_plugin", "minimal_" + kind, found[0].id)
    if available.get("heat") and available["neutron"]:
        network = cloud.network.create_network(name=NETWORK)
        cloud.network.create_subnet(name=NETWORK, network_id=network.id, ip_version=4, cidr="10.99.0.0/24")
        say("heat_plugin", "fixed_network_name", NETWORK)
        say("heat_plugin", "fixed_subnet_name", NETWORK)
    if available["glance"]:
        try:
            if len(list(cloud.image.stores())) < 2:
                excluded.append(COPIES)
        except Stopped:
            raise
        except Exception as e:  # Tests report what is wrong with Glance.
            print("cannot look for stores of images:", e)
    return excluded


def run(settings, child, results):
    """Runs the tests, and adds to results how they end."""
    command = [
        "tempest", "run", "--config-file", str(WORK / "tempest.conf"), "--concurrency", str(settings["concurrency"]), "--subunit",
        "--regex", settings["include"], "--exclude-list", str(WORK / "exclude.txt"),
    ]
    if settings["exclude"]:
        command += ["--exclude-regex", settings["exclude"]]
    process = subprocess.Popen(command, cwd=WORK, stdout=subprocess.PIPE, start_new_session=True)
    child.append(process)
    stream = Stream(results)
    stream.startTestRun()
    subunit.ByteStreamToStreamResult(process.stdout, non_subunit_name="stdout").run(stream)
    stream.stopTestRun()
    code = process.wait()
    child.clear()
    if code and not results.failures:
        if not results.passed and not results.skipped:
            raise Problem("no test is called as tests.services, tests.includeRegex and tests.excludeRegex say; or Tempest cannot load them: "
                          "the pod's log says which")
        raise Problem("Tempest ended with exit code %d" % code)


def end(child):
    """Ends the tests that run."""
    for process in child:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    child.clear()


def main(folder):
    settings = json.loads((folder / "run.json").read_text())
    config = configparser.RawConfigParser(default_section="")
    config.read(folder / "tempest.conf")
    WORK.mkdir(parents=True, exist_ok=True)
    child, results, problems = [], Results(), []

    def stop(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Stopped("the run was stopped before its end")

    signal.signal(signal.SIGTERM, stop)
    cloud = None
    try:
        for what in ("include", "exclude"):
            try:
                re.compile(settings[what])
            except re.error as e:
                raise Problem("tests.%sRegex is no regular expression that Python takes: %s" % (what, e)) from e
        cloud = cloud_of(config)
        for one in clean(cloud, config):
            print("before this run:", one)
        excluded = find(cloud, config)
        (WORK / "exclude.txt").write_text("\n".join([(folder / "exclude.txt").read_text(), *excluded, ""]))
        with open(WORK / "tempest.conf", "w", encoding="utf-8") as file:
            config.write(file)
        run(settings, child, results)
    except (Stopped, Problem) as e:
        problems.append(str(e))
    except Exception as e:
        print(repr(e), file=sys.stderr)
        problems.append("the tests cannot run: %s" % e)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end(child)
    if cloud is not None:
        try:
            problems += clean(cloud, config)
        except Exception as e:
            problems.append("what the tests have left cannot be removed: %s" % e)
    message = {
        "passed": results.passed, "failed": len(results.failures), "skipped": results.skipped,
        "failures": [f[:LENGTH] for f in results.failures[:NAMES]], "problem": "; ".join(problems)[:SENTENCE],
    }
    text = json.dumps(message)
    print(text)
    MESSAGE.write_text(text)
    return 1 if results.failures or problems or not results.passed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
