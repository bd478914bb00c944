"""Deletes images and properties by Glance's own functions, and purges them. Prints the images and properties that are left.

    python3 -c THIS SCRIPT TABLES...

has what purges them in SCRIPT, whose arguments are the configuration file and TABLES.
"""

import json
import pathlib
import sys
import tempfile

# Whatever is said on the way belongs to stderr: stdout is the answer.
answer, sys.stdout = sys.stdout, sys.stderr

import sqlalchemy  # noqa: E402
from glance import context  # noqa: E402
from glance.common import config  # noqa: E402
from glance.db.sqlalchemy import api, models  # noqa: E402


def images(admin):
    def create(name, **values):
        api.image_create(admin, {"id": name, "status": "active", "owner": "owner", "properties": {f"of-{name}": "1"}, **values})

    for name in ["used", "deleted", "referred", "scrubbed", "restored"]:
        create(name)
    for properties in [{"again": "1", "removed": "1"}, {}, {"again": "2"}]:
        api.image_update(admin, "used", {"properties": properties}, purge_props=True)
    for name in ["scrubbed", "restored"]:
        api.image_update(admin, name, {"status": "pending_delete"})
    for name in ["deleted", "referred", "scrubbed", "restored"]:
        api.image_destroy(admin, name)
    api.image_restore(admin, "restored")


def main():
    script, *tables = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "glance-api.conf")
        file.write_text(f"[database]\nconnection = sqlite:///{folder}/glance.sqlite\n")
        config.parse_args(["--config-file", str(file)])
        engine = api.get_engine()
        models.BASE.metadata.create_all(engine)
        images(context.get_admin_context(show_deleted=True))
        with engine.begin() as aged:
            for table in ["images", "image_properties"]:
                aged.exec_driver_sql(f"UPDATE {table} SET deleted_at = '2020-01-01 00:00:00.000000' WHERE deleted_at IS NOT NULL")
            aged.exec_driver_sql("UPDATE image_properties SET deleted = 0 WHERE name = 'of-referred'")
        # SQLite looks at references only when told so.
        sqlalchemy.event.listen(sqlalchemy.engine.Engine, "connect", lambda opened, _: opened.execute("PRAGMA foreign_keys = ON"))
        sys.argv = ["purge", str(file), *tables]
        exec(script, {})
        with engine.connect() as left:
            names = [left.exec_driver_sql(f"SELECT {one}").scalars().all() for one in ["id FROM images", "name FROM image_properties"]]
        json.dump([sorted(one) for one in names], answer)


main()
