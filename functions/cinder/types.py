"""Makes the volume types of VOLUME_TYPES in Cinder what they say: a JSON list of name, description, is_public and extra_specs.

What else there is stays: types of other names, and further properties of these. A type that is there by its name is taken over.
"""

import json
import os
import sys

from keystoneauth1 import session
from keystoneauth1.identity import v3

ZONES = "RESKEY:availability_zones"

# The variables are those by which Cinder itself logs in.
login = {name: os.environ["OS_SERVICE_USER__" + name.upper()] for name in ("application_credential_id", "application_credential_secret")}
auth = v3.ApplicationCredential(auth_url=os.environ["IDENTITY_URL"], **login)
# One authority has signed all certificates of a control plane.
cinder = session.Session(auth=auth, verify=os.environ["IDENTITY_CA"])
types = os.environ["VOLUME_URL"] + "/types"

known = {}
page = types + "?is_public=None&limit=500"
while page:
    answer = cinder.get(page).json()
    known.update({t["name"]: t for t in answer["volume_types"]})
    # The link begins with the public address, which may not be reached from here.
    marker = next((n["href"].partition("marker=")[2] for n in answer.get("volume_type_links", ()) if n["rel"] == "next"), "")
    page = marker and f"{types}?is_public=None&limit=500&marker={marker.partition('&')[0]}"

for wanted in json.loads(os.environ["VOLUME_TYPES"]):
    name, specs = wanted["name"], wanted["extra_specs"]
    there = known.get(name)
    if there is None:
        body = {"name": name, "description": wanted["description"], "os-volume-type-access:is_public": wanted["is_public"]}
        there = cinder.post(types, json={"volume_type": body | {"extra_specs": specs}}).json()["volume_type"]
        print(f"made the volume type {name}, {there['id']}")
        continue
    if (there["description"] or "", there["is_public"]) != (wanted["description"], wanted["is_public"]):
        cinder.put(f"{types}/{there['id']}", json={"volume_type": {
            "name": name, "description": wanted["description"], "is_public": wanted["is_public"]}})
        print(f"changed the volume type {name}")
    if missing := {k: v for k, v in specs.items() if there["extra_specs"].get(k) != v}:
        # Cinder refuses every change of a type that volumes have. Such a type keeps its zones: its volumes name theirs, as they did before.
        in_use = cinder.post(f"{types}/{there['id']}/extra_specs", json={"extra_specs": missing}, raise_exc=set(missing) != {ZONES})
        if in_use.status_code < 400:
            print(f"set {', '.join(missing)} of the volume type {name}")
        else:
            print(f"cannot set {ZONES} of the volume type {name}: {in_use.text}")
sys.stdout.flush()
