# glance-manage db purge with three additions. Glance deletes an expired task only when the task's owner lists tasks: those of all other owners
# would stay in the database, so they are deleted first. glance-manage removes max_rows rows of each table: it is repeated until none is
# left, because one statement for all rows holds locks that long, and is one transaction that all members of Galera have to apply. Then the
# rows of deleted images are removed, which purge leaves in place: those that were deleted IMAGES_AFTER_DAYS ago.
import functools
import os
import sys
import sqlalchemy
from glance.cmd import manage
from glance.db.sqlalchemy import api
from oslo_utils import timeutils

purge = manage.DbCommands.purge


def delete_expired_tasks(max_rows):
    # MySQL has no LIMIT in IN (...), except in a table of its own.
    expired = sqlalchemy.text(
        "UPDATE tasks SET deleted = 1, deleted_at = :now WHERE id IN (SELECT id FROM "
        "(SELECT id FROM tasks WHERE deleted = 0 AND expires_at <= :now LIMIT :max_rows) AS expired)"
    )
    deleted, now = 0, timeutils.utcnow()
    while True:
        with api.get_engine().begin() as connection:
            rows = connection.execute(expired, {"now": now, "max_rows": max_rows}).rowcount
        deleted += rows
        if rows < max_rows:
            break
    print(f"deleted {deleted} expired tasks")


def repeat(command):
    """Repeats a command until it removes no row. The command does not return how many rows it has removed."""
    removed = [0]

    def count(connection, cursor, statement, *_):
        if statement.lstrip().upper().startswith("DELETE"):
            removed[0] += max(cursor.rowcount, 0)

    engine = api.get_engine()
    sqlalchemy.event.listen(engine, "after_cursor_execute", count)
    try:
        while True:
            removed[0] = 0
            command()
            if not removed[0]:
                return
    finally:
        sqlalchemy.event.remove(engine, "after_cursor_execute", count)


@functools.wraps(purge)
def purge_all(commands, age_in_days, max_rows):
    delete_expired_tasks(int(max_rows))
    repeat(lambda: purge(commands, age_in_days, max_rows))
    repeat(lambda: commands.purge_images_table(os.environ["IMAGES_AFTER_DAYS"], max_rows))


manage.DbCommands.purge = purge_all
sys.exit(manage.main())
