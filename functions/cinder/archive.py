# What cinder-manage does every night: it removes from the database what was deleted, and then, which it would do one by one, the records of
# processes whose pods were scaled away. ORDERED has the pods that there are to be: their number by StatefulSet, by program.
import datetime
import functools
import json
import os
import sys
from cinder import context, objects
from cinder.cmd import manage
from cinder.db import api as db
from oslo_utils import timeutils

ordered = json.loads(os.environ["ORDERED"])
# A pod that stops has minutes for what it has begun, and does not report meanwhile.
patience = datetime.timedelta(hours=1)


def scaled_away(binary, host):
    for name, pods in ordered.get(binary, {}).items():
        number = host.removeprefix(name + "-")
        if number != host and number.isdecimal() and str(int(number)) == number:
            return int(number) >= pods
    return False


def obstacle(service):
    if service.binary != "cinder-volume":
        return ""
    if not service.cluster_name:
        return "volumes are its own"
    all_rows = context.get_admin_context(read_deleted="yes")
    if db.worker_get_all(all_rows, service_id=service.id):
        return "it has left work undone (cinder work-cleanup)"
    # Its row can never be removed while another refers to it: the whole removal of what was deleted would fail.
    if objects.VolumeList.get_all(all_rows, limit=1, filters={"service_uuid": service.uuid}):
        return "volumes name it as the one that made them"
    return ""


def remove():
    for service in objects.ServiceList.get_all(context.get_admin_context()):
        last = service.updated_at or service.created_at
        if not scaled_away(service.binary, service.host.partition("@")[0]) or timeutils.utcnow(with_timezone=True) - last < patience:
            continue
        if why := obstacle(service):
            print(f"{service.binary} on {service.host} is gone, and its record stays: {why}")
            continue
        service.destroy()
        print(f"removed the record of {service.binary} on {service.host}")


purge = manage.DbCommands.purge


@functools.wraps(purge)
def purge_and_remove(*args, **kwargs):
    purge(*args, **kwargs)
    remove()


manage.DbCommands.purge = purge_and_remove
sys.exit(manage.main())
