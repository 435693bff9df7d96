# Parallel writers of one row, as services are: each reads it in a transaction before changing it, and oslo.db repeats a transaction that
# failed for a reason that it knows. Prints how many changes were lost, and a line for each error.
#
#   writers.py URL AUTHORITY
import sys
import threading
import time

import sqlalchemy
from oslo_db import api
from oslo_db.sqlalchemy import enginefacade

WRITERS, CHANGES = 8, 10

database = enginefacade.transaction_context()
database.configure(connection=f"{sys.argv[1]}&ssl_ca={sys.argv[2]}")


@enginefacade.transaction_context_provider
class Context:
    pass


def execute(session, statement):
    return session.execute(sqlalchemy.text(statement))


@api.wrap_db_retry(max_retries=50, retry_on_deadlock=True)
def change():
    with database.writer.using(Context()) as session:
        execute(session, "SELECT report_count FROM services WHERE id = 1").scalar()
        time.sleep(0.005)
        execute(session, "UPDATE services SET report_count = report_count + 1 WHERE id = 1")


with database.writer.using(Context()) as session:
    execute(session, "CREATE TABLE services (id INT PRIMARY KEY, report_count INT)")
    execute(session, "INSERT INTO services VALUES (1, 0)")

errors = []


def write():
    for _ in range(CHANGES):
        try:
            change()
        except Exception as error:
            errors.append(str(error).splitlines()[0])


threads = [threading.Thread(target=write) for _ in range(WRITERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with database.reader.using(Context()) as session:
    print("lost", WRITERS * CHANGES - execute(session, "SELECT report_count FROM services").scalar())
for error in sorted(set(errors)):
    print(errors.count(error), error)
