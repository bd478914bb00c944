"""Purges rows that a service has marked as deleted, the oldest first, so that no transaction is large.

    python3 -c SCRIPT FILE DAYS TABLES COMMAND...

runs COMMAND, which purges rows that are older than the age in place of {age}, until no row is left that was deleted more than DAYS days
ago. FILE is the service's configuration file, and TABLES a regular expression of the tables that COMMAND purges. Where COMMAND fails,
because a row refers to one that was deleted earlier, it is run for the rows of more days at once.
"""

import datetime
import re
import subprocess
import sys

import sqlalchemy
from oslo_config import cfg
from oslo_db import options


def connect(file):
    conf = cfg.ConfigOpts()
    conf.register_opts(options.database_opts, "database")
    conf(["--config-file", file])
    return sqlalchemy.create_engine(conf.database.connection)


def marked(engine, pattern):
    """Returns the tables whose rows are marked rather than deleted."""
    inspector = sqlalchemy.inspect(engine)
    tables = []
    for name in inspector.get_table_names():
        columns = {column["name"] for column in inspector.get_columns(name)}
        if re.fullmatch(pattern, name) and {"deleted", "deleted_at"} <= columns:
            deleted = sqlalchemy.column("deleted", sqlalchemy.Boolean)
            tables.append(sqlalchemy.table(name, deleted, sqlalchemy.column("deleted_at", sqlalchemy.DateTime)))
    return tables


def oldest(engine, tables, before):
    """Returns when the first of the rows was deleted that were deleted before a time."""
    times = []
    with engine.connect() as connection:
        for table in tables:
            rows = sqlalchemy.select(sqlalchemy.func.min(table.c.deleted_at))
            rows = rows.where(table.c.deleted.is_(sqlalchemy.true()), table.c.deleted_at < before)
            times.append(connection.execute(rows).scalar())
    return min((time for time in times if time), default=None)


def main():
    file, days, pattern, *command = sys.argv[1:]
    engine, days = connect(file), int(days)
    tables = marked(engine, pattern)
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    before = now - datetime.timedelta(days=days)
    first, more = oldest(engine, tables, before), 0
    while first:
        age = max(days, (now - first).days - 1 - more)
        failed = subprocess.call([word.format(age=age) for word in command])
        left = oldest(engine, tables, before)
        if left != first:
            more = 0
        elif age > days:
            more = 2 * more + 1
        else:
            sys.exit(f"rows that were deleted on {first:%F} are left" if failed == 0 else failed)
        first = left


main()
