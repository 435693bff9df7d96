"""Writes a tempest.conf for a cloud: configure.py FOLDER, with the clouds.yaml and the claim.yaml of make openstack-up."""

import configparser
import pathlib
import sys

import yaml

folder = pathlib.Path(sys.argv[1])
cloud = yaml.safe_load((folder / "clouds.yaml").read_text())["clouds"]["admin"]
claim = yaml.safe_load((folder / "claim.yaml").read_text())["spec"]
options = claim.get("services", {}).get("keystone", {}).get("config", {})
compliance = options.get("security_compliance", {})
login = cloud["auth"]

config = configparser.RawConfigParser()
config.read_dict({
    "DEFAULT": {"log_file": "tempest.log"},
    "oslo_concurrency": {"lock_path": folder / "tempest" / "locks"},
    "auth": {
        "use_dynamic_credentials": True,
        # Without a network service there are none to isolate.
        "create_isolated_networks": False,
        "admin_username": login["username"],
        "admin_password": login["password"],
        "admin_project_name": login["project_name"],
        "admin_user_domain_name": login["user_domain_name"],
        "admin_project_domain_name": login["project_domain_name"],
    },
    "identity": {
        "uri_v3": login["auth_url"],
        "region": claim.get("global", {}).get("region", "RegionOne"),
        # The address of the login: what the Gateway serves is another test's.
        "v3_endpoint_type": cloud.get("interface", "public"),
        "ca_certificates_file": cloud["cacert"],
        "user_lockout_failure_attempts": compliance.get("lockout_failure_attempts", 2),
        "user_lockout_duration": compliance.get("lockout_duration", 5),
        "user_unique_last_password_count": compliance.get("unique_last_password_count", 2),
    },
    "identity-feature-enabled": {
        "security_compliance": bool(compliance),
        "external_idp": False,
    },
    # Keystone is all there is.
    "service_available": {name: False for name in ("nova", "glance", "cinder", "neutron", "swift", "horizon")},
})
config.write(sys.stdout)
