"""Maps a cell in Nova's API database, unless that doesn't know it yet and the cell's database has servers or compute services.

    python3 -c SCRIPT /etc/nova/config/cell.py NAME

A cell's database is kept when the cell or the Nova is deleted. What it has would come back with a cell of the same name. A cell that is
mapped already passes.
"""

import datetime
import os
import sys

import sqlalchemy
from nova import config
from nova import context
from nova import objects
import nova.conf

# Minutes after which a compute service that doesn't report is not one that registers just now.
SILENCE = 5


def table(name, *columns):
    return sqlalchemy.table(name, *(sqlalchemy.column(column) for column in columns))


def former(url):
    """Counts the servers and the compute services that are down in a database, which may have no tables yet."""
    instances = table("instances", "deleted")
    services = table("services", "deleted", "binary", "created_at", "last_seen_up")
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    # As Nova does: a service that didn't come to its first report was last seen when it was created.
    seen = sqlalchemy.func.coalesce(services.c.last_seen_up, services.c.created_at)
    is_down = seen < now - datetime.timedelta(minutes=SILENCE)
    conditions = {
        instances: [instances.c.deleted == 0],
        services: [services.c.deleted == 0, services.c.binary == "nova-compute", is_down],
    }
    engine = sqlalchemy.create_engine(url)
    existing = sqlalchemy.inspect(engine).get_table_names()
    with engine.connect() as connection:
        for of, where in conditions.items():
            count = sqlalchemy.select(sqlalchemy.func.count()).select_from(of).where(*where)
            yield connection.execute(count).scalar() if of.name in existing else 0


def main():
    script, name = sys.argv[1:]
    file = os.path.join(os.path.dirname(script), "nova.conf")
    config.parse_args(["nova-manage", "--config-file", file])
    objects.register_all()
    mapped = objects.CellMappingList.get_all(context.get_admin_context())
    if all(cell.name != name for cell in mapped):
        servers, services = former(nova.conf.CONF.database.connection)
        if servers or services:
            sys.exit(
                f"The database of cell {name} has {servers} servers and {services} compute services that are down, and Nova's API "
                "database doesn't know the cell. Nothing was changed. To begin with an empty cell, give it another database. If Nova's "
                "API database was lost, restore its backup. To continue without one, annotate the Nova with "
                f"nova.openstack.c5c3.io/continue-cells={name}, and map servers and hosts as docs/nova.md describes."
            )
    os.execv(sys.executable, [sys.executable, script, "map", name])


main()
