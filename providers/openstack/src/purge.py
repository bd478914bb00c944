"""Purges rows that a service has marked as deleted.

    python3 -c SCRIPT FILE DAYS:TABLES...

deletes rows that were marked more than DAYS days ago from the tables whose names match the regular expression TABLES. FILE is the service's
configuration file. A transaction has few rows, and locks no others. A row stays as long as a row that stays refers to it.

The services' own commands aren't used. That of Glance also deletes properties and images that are in use again: Glance leaves the time in
a row whose mark it removes. That of Cinder locks whole tables in one transaction, and purges nothing where one row has to stay.
"""

import datetime
import re
import sys

import sqlalchemy
from oslo_config import cfg
from oslo_db import options
from sqlalchemy.exc import IntegrityError

AT_ONCE = 1000


def connect(file):
    conf = cfg.ConfigOpts()
    conf.register_opts(options.database_opts, "database")
    conf(["--config-file", file])
    return sqlalchemy.create_engine(conf.database.connection)


def parts(table, tables):
    """Returns the keys of tables without marks whose rows are parts of a table's rows: their key refers to them."""
    keys = [list(other.primary_key.columns) for other in tables if "deleted" not in other.c]
    return [key for [key, *more] in filter(None, keys) if not more and key.references(*table.primary_key.columns)]


class Rows:
    """Rows of a table that were marked before a time."""

    def __init__(self, engine, table, tables, before):
        self.engine, self.table = engine, table
        [self.key] = table.primary_key.columns
        self.parts = parts(table, tables)
        self.marked = [table.c.deleted.is_(sqlalchemy.true()), table.c.deleted_at < before]
        if "status" in table.c:
            # Glance's scrubber still needs these: they say where data is.
            self.marked.append(sqlalchemy.func.coalesce(table.c.status, "") != "pending_delete")

    def delete(self, keys):
        """Deletes those of some rows that are still marked."""
        with self.engine.begin() as transaction:
            found = sqlalchemy.select(self.key).where(self.key.in_(keys), *self.marked).with_for_update()
            keys = transaction.execute(found).scalars().all()
            for part in self.parts:
                transaction.execute(part.table.delete().where(part.in_(keys)))
            return transaction.execute(self.table.delete().where(self.key.in_(keys))).rowcount

    def purge(self):
        """Returns how many rows it deleted, and how many have to stay."""
        purged, kept, rest = 0, 0, sqlalchemy.true()
        while True:
            found = sqlalchemy.select(self.key).where(rest, *self.marked).order_by(self.key).limit(AT_ONCE)
            with self.engine.connect() as connection:
                keys = connection.execute(found).scalars().all()
            if not keys:
                return purged, kept
            try:
                purged += self.delete(keys)
            except IntegrityError:
                for key in keys:
                    try:
                        purged += self.delete([key])
                    except IntegrityError:
                        kept += 1
            rest = self.key > keys[-1]


def main():
    file, *wanted = sys.argv[1:]
    engine, metadata = connect(file), sqlalchemy.MetaData()
    metadata.reflect(engine)
    # Rows go before those that they refer to.
    tables = list(reversed(metadata.sorted_tables))
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    purges = []
    for days, pattern in (one.split(":", 1) for one in wanted):
        before = now - datetime.timedelta(days=int(days))
        named = [table for table in tables if re.fullmatch(pattern, table.name)]
        marked = [table for table in named if {"deleted", "deleted_at"} <= set(table.c.keys())]
        purges += [Rows(engine, table, tables, before) for table in marked]
    again = True
    while again:
        results = [(rows.table.name, *rows.purge()) for rows in purges]
        for name, purged, kept in results:
            if purged or kept:
                print(f"{name}: purged {purged} rows, and left {kept} that others refer to", flush=True)
        # A row may have stayed for one of the same table, or of one that came later.
        again = any(purged for _, purged, _ in results) and any(kept for _, _, kept in results)


main()
