# glance-manage db purge with two additions. Glance deletes an expired task only when the task's owner lists tasks: those of all other owners
# would stay in the database, so they are deleted first. Then the rows of deleted images are removed, which purge leaves in place: those
# that were deleted IMAGES_AFTER_DAYS ago.
import functools
import os
import sys
import sqlalchemy
from glance.cmd import manage
from glance.db.sqlalchemy import api
from oslo_utils import timeutils

purge = manage.DbCommands.purge


def delete_expired_tasks():
    expired = sqlalchemy.text("UPDATE tasks SET deleted = 1, deleted_at = :now WHERE deleted = 0 AND expires_at <= :now")
    with api.get_engine().begin() as connection:
        result = connection.execute(expired, {"now": timeutils.utcnow()})
    print(f"deleted {result.rowcount} expired tasks")


@functools.wraps(purge)
def purge_all(commands, age_in_days, max_rows):
    delete_expired_tasks()
    purge(commands, age_in_days, max_rows)
    commands.purge_images_table(os.environ["IMAGES_AFTER_DAYS"], max_rows)


manage.DbCommands.purge = purge_all
sys.exit(manage.main())
