"""Runs what Nova's operator runs in Nova's databases, on SQLite, and prints the cases that passed as JSON.

    python3 -c PROGRAM CELL ENTER DELETE COMPUTES ARCHIVE

has the content of cell.py, the programs of the Jobs that map a cell, delete one and wait for nova-compute, and the script of the CronJob
that archives rows. The cases are run one after the other on one installation.
"""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import uuid

# Whatever is said on the way belongs to stderr: stdout is the answer.
answer, sys.stdout = sys.stdout, sys.stderr

import sqlalchemy  # noqa: E402
from nova.db.api import models as api_models  # noqa: E402
from nova.db.main import models  # noqa: E402
from nova.objects import service  # noqa: E402
from sqlalchemy import orm  # noqa: E402

CELL, ENTER, DELETE, COMPUTES, ARCHIVE = sys.argv[1:]
PROGRAMS = pathlib.Path(sys.executable).parent
VERSION = service.SERVICE_VERSION


def ago(**passed):
    return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - datetime.timedelta(**passed)


HOUR_AGO = ago(hours=1)


def server(**values):
    return models.Instance(uuid=str(uuid.uuid4()), project_id="project", user_id="user", **values)


def compute(host, **values):
    usual = {"binary": "nova-compute", "topic": "compute", "version": VERSION, "last_seen_up": ago()}
    return models.Service(uuid=str(uuid.uuid4()), host=host, **{**usual, **values})


class Nova:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        self.write("cell0", bus=None)
        self.manage("cell0", "api_db", "sync")
        self.manage("cell0", "db", "sync", "--local_cell")
        shutil.copy(self.file("cell0"), self.file("empty"))

    def file(self, database):
        return self.folder / f"{database}.sqlite"

    def url(self, database):
        return f"sqlite:///{self.file(database)}"

    def write(self, name, bus, database=None, api_database="api"):
        """Writes the files of a cell's Jobs."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        bus = f"transport_url = rabbit://nova:secret@{bus}:5672/\n" if bus else ""
        (folder / "nova.conf").write_text(
            f"[DEFAULT]\nstate_path = {folder}\nuse_stderr = true\n{bus}"
            f"[api_database]\nconnection = {self.url(api_database)}\n"
            f"[database]\nconnection = {self.url(database or name)}\n"
        )
        (folder / "cell.py").write_text(CELL)

    def create_tables(self, cell):
        shutil.copy(self.file("empty"), self.file(cell))

    def start(self, *command, **options):
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment, **options)

    def run(self, *command, code=0):
        """Runs a program that returns a code, and returns what it prints."""
        child = self.start(*command, stderr=subprocess.STDOUT)
        said, _ = child.communicate()
        assert child.returncode == code, f"{command[-3:]} returned {child.returncode} and not {code}: {said}"
        return said

    def manage(self, name, *words):
        return self.run("nova-manage", "--config-file", f"{self.folder}/{name}/nova.conf", *words)

    def enter(self, name, code=0):
        return self.run(sys.executable, "-c", ENTER, f"{self.folder}/{name}/cell.py", name, code=code)

    def map(self, name):
        return self.run(sys.executable, f"{self.folder}/{name}/cell.py", "map", name)

    def delete(self, name, code=0):
        return self.run(sys.executable, "-c", DELETE, f"{self.folder}/cell0/nova.conf", name, code=code)

    def archive(self, name, code=0):
        script = ARCHIVE.replace("/etc/nova/config", f"{self.folder}/{name}")
        assert script != ARCHIVE, script
        return self.run("sh", "-c", script, code=code)

    def add(self, database, *rows):
        with orm.Session(self.engine(database), expire_on_commit=False) as session, session.begin():
            session.add_all(rows)

    def execute(self, database, statement):
        """Executes a statement, and returns the rows that it finds."""
        with self.engine(database).begin() as connection:
            result = connection.exec_driver_sql(statement)
            return result.all() if result.returns_rows else []

    def engine(self, database):
        return sqlalchemy.create_engine(self.url(database), poolclass=sqlalchemy.NullPool)

    def find(self, database, statement):
        """Returns the first column of what is found, in order."""
        return sorted(row[0] for row in self.execute(database, statement))

    def mapping(self, name):
        """Returns the key, the database and the message bus of a cell that is mapped."""
        columns = "id, uuid, database_connection, transport_url"
        found = self.execute("api", f"SELECT {columns} FROM cell_mappings WHERE name = '{name}'")
        return found[0] if found else None


def cell0_follows_its_database(nova):
    nova.write("cell0", bus=None, database="other")
    nova.map("cell0")
    assert nova.mapping("cell0")[2:] == (nova.url("other"), "none:///")
    nova.write("cell0", bus=None)
    nova.map("cell0")
    assert nova.mapping("cell0")[2:] == (nova.url("cell0"), "none:///")


def cell_is_mapped_where_its_database_is_empty_or_has_no_tables_yet(nova):
    for name in ("cell1", "cell2"):
        nova.write(name, bus=name)
    nova.create_tables("cell1")
    for name in ("cell1", "cell2"):
        nova.enter(name)
        assert nova.mapping(name)[2:] == (nova.url(name), f"rabbit://nova:secret@{name}:5672/")
    nova.create_tables("cell2")


def mapped_cell_follows_its_message_bus_whatever_its_database_has(nova):
    nova.add("cell1", server(host="a"), compute("down", last_seen_up=HOUR_AGO))
    nova.write("cell1", bus="another")
    nova.enter("cell1")
    assert nova.mapping("cell1")[3] == "rabbit://nova:secret@another:5672/"


def cell_with_servers_of_a_former_cell_is_mapped_only_where_it_is_continued(nova):
    nova.write("cell3", bus="cell3")
    nova.create_tables("cell3")
    former = server(host="former")
    nova.add("cell3", former, server(deleted=2, deleted_at=HOUR_AGO), compute("former"))
    said = nova.enter("cell3", code=1)
    assert "The database of cell cell3 has 1 servers and 0 compute services that are down" in said, said
    assert "continue-cells=cell3" in said, said
    assert nova.mapping("cell3") is None

    nova.map("cell3")
    key, cell, *_ = nova.mapping("cell3")
    # What docs/nova.md has a person run then.
    nova.manage("control", "cell_v2", "discover_hosts", "--by-service", "--cell_uuid", cell, "--verbose")
    nova.manage("control", "cell_v2", "map_instances", "--cell_uuid", cell)
    assert nova.find("api", f"SELECT host FROM host_mappings WHERE cell_id = {key}") == ["former"]
    # Records of deleted servers are mapped, too.
    mapped = nova.find("api", f"SELECT instance_uuid FROM instance_mappings WHERE cell_id = {key}")
    assert former.uuid in mapped and len(mapped) == 2, mapped


def cell_with_compute_services_that_are_down_is_refused(nova):
    nova.write("cell4", bus="cell4")
    nova.create_tables("cell4")
    nova.add(
        "cell4",
        compute("down", last_seen_up=HOUR_AGO),
        compute("failed-to-start", last_seen_up=None, created_at=HOUR_AGO),
        compute("deleted", last_seen_up=HOUR_AGO, deleted=3),
        compute("nova-cell4", binary="nova-conductor", topic="conductor", last_seen_up=HOUR_AGO),
        compute("registered"),
        compute("registers", last_seen_up=None),
    )
    said = nova.enter("cell4", code=1)
    assert "The database of cell cell4 has 0 servers and 2 compute services that are down" in said, said
    assert nova.mapping("cell4") is None

    nova.execute("cell4", "UPDATE services SET deleted = id WHERE host IN ('down', 'failed-to-start')")
    nova.enter("cell4")
    assert nova.mapping("cell4") is not None


def hosts_that_are_older_are_named_until_they_have_the_release(nova):
    nova.add(
        "cell1",
        compute("old", version=VERSION - 1),
        compute("newer", version=VERSION + 1),
        compute("forced-down", version=VERSION - 1, forced_down=True),
        compute("deleted", version=VERSION - 1, deleted=9),
    )
    nova.add("cell2", compute("disabled", version=VERSION - 1, disabled=True))
    program = COMPUTES.replace("PERIOD = 10", "PERIOD = 1")
    child = nova.start(sys.executable, "-c", program, f"{nova.folder}/control/nova.conf")
    named = "older than this release: "
    for cell, hosts in (("cell2", "disabled, old"), ("cell1", "old")):
        said = child.stdout.readline()
        assert said == f"{named}{hosts}\n", said
        nova.execute(cell, f"UPDATE services SET version = {VERSION} WHERE host IN ('disabled', 'old')")
    said, _ = child.communicate(timeout=60)
    assert child.returncode == 0 and said == "", said


def rows_are_archived_and_purged_by_when_they_were_deleted(nova):
    key, *_ = nova.mapping("cell1")
    [live] = nova.find("cell1", "SELECT uuid FROM instances")
    deleted = {}
    for position, days in enumerate([1, 60, 200], start=100):
        deleted_at = ago(days=days)
        instance = server(id=position, deleted=position, deleted_at=deleted_at, created_at=deleted_at)
        part = {"instance_uuid": instance.uuid, "created_at": deleted_at}
        extra = models.InstanceExtra(**part, deleted=position, deleted_at=deleted_at)
        action = models.InstanceAction(**part, action="create", request_id="request")
        nova.add("cell1", instance, extra, action)
        nova.add(
            "api",
            api_models.InstanceMapping(instance_uuid=instance.uuid, cell_id=key, project_id="project", user_id="user"),
            api_models.RequestSpec(instance_uuid=instance.uuid, spec="{}"),
        )
        deleted[days] = instance.uuid
    never_mapped = server(id=100, deleted=100, deleted_at=ago(days=60))
    nova.add("cell0", never_mapped)
    period = {"period_beginning": ago(days=61), "period_ending": ago(days=60), "updated_at": ago(days=60)}
    nova.add("cell1", models.TaskLog(task_name="audit", state="DONE", host="a", message="", **period))

    # The first time rows are found, the second time none.
    for _ in range(2):
        nova.archive("control")
        assert nova.find("cell1", "SELECT uuid FROM instances") == sorted([live, deleted[1]])
        assert nova.find("cell1", "SELECT uuid FROM shadow_instances") == [deleted[60]]
        for table in ("instance_extra", "instance_actions"):
            for place, days in (("", 1), ("shadow_", 60)):
                found = nova.find("cell1", f"SELECT instance_uuid FROM {place}{table}")
                assert found == [deleted[days]], (place, table, found)
        assert nova.find("cell1", "SELECT task_name FROM task_log") == []
        assert nova.find("cell1", "SELECT task_name FROM shadow_task_log") == ["audit"]
        assert nova.find("cell0", "SELECT uuid FROM shadow_instances") == [never_mapped.uuid]
        for table in ("instance_mappings", "request_specs"):
            found = nova.find("api", f"SELECT instance_uuid FROM {table}")
            assert deleted[1] in found and not {deleted[60], deleted[200]} & set(found), (table, found)


def archive_fails_where_the_api_database_has_no_tables(nova):
    nova.write("lost", bus="bus", database="cell0", api_database="lost")
    nova.archive("lost", code=1)


def cell_with_hosts_or_servers_is_not_deleted(nova):
    key, *_ = nova.mapping("cell3")
    nova.delete("cell3", code=2)
    # As `openstack compute service delete` does.
    nova.execute("api", "DELETE FROM host_mappings WHERE host = 'former'")
    nova.delete("cell3", code=3)
    assert nova.mapping("cell3") is not None
    mapped = nova.find("api", f"SELECT instance_uuid FROM instance_mappings WHERE cell_id = {key}")
    assert mapped == nova.find("cell3", "SELECT uuid FROM instances") and len(mapped) == 2, mapped


def cell_whose_servers_are_deleted_is_deleted_with_what_is_known_of_them(nova):
    servers = nova.find("cell3", "SELECT uuid FROM instances")
    # It isn't due to be archived.
    [other] = nova.find("cell1", "SELECT uuid FROM instances WHERE deleted != 0")
    group = api_models.InstanceGroup(uuid=str(uuid.uuid4()))
    group._members = [api_models.InstanceGroupMember(instance_uuid=one) for one in (*servers, other)]
    nova.add("api", group, *(api_models.RequestSpec(instance_uuid=one, spec="{}") for one in servers))
    nova.execute("cell3", f"UPDATE instances SET deleted = id, deleted_at = '{HOUR_AGO}' WHERE deleted = 0")
    # The database of another cell is away. SQLite would create it.
    nova.file("cell4").rename(nova.file("away"))
    # A cell that is deleted already is none to delete.
    for _ in range(2):
        nova.delete("cell3")
    assert not nova.file("cell4").exists()
    nova.file("away").rename(nova.file("cell4"))
    cells = nova.manage("control", "cell_v2", "list_cells")
    assert " cell3 " not in cells, cells
    assert all(f" {name} " in cells for name in ("cell0", "cell1", "cell2", "cell4")), cells
    for table in ("instance_mappings", "request_specs", "instance_group_member"):
        known = set(nova.find("api", f"SELECT instance_uuid FROM {table}"))
        assert other in known and not known & set(servers), (table, known)
    # Databases of cells are kept as they are.
    for cell, kept in (("cell1", [other]), ("cell3", servers)):
        found = nova.find(cell, "SELECT uuid FROM instances WHERE deleted != 0")
        assert found == kept, (cell, found)


CASES = [
    cell0_follows_its_database,
    cell_is_mapped_where_its_database_is_empty_or_has_no_tables_yet,
    mapped_cell_follows_its_message_bus_whatever_its_database_has,
    cell_with_servers_of_a_former_cell_is_mapped_only_where_it_is_continued,
    cell_with_compute_services_that_are_down_is_refused,
    hosts_that_are_older_are_named_until_they_have_the_release,
    rows_are_archived_and_purged_by_when_they_were_deleted,
    archive_fails_where_the_api_database_has_no_tables,
    cell_with_hosts_or_servers_is_not_deleted,
    cell_whose_servers_are_deleted_is_deleted_with_what_is_known_of_them,
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        nova = Nova(folder)
        nova.write("control", bus="bus", database="cell0")
        for case in CASES:
            case(nova)
        json.dump([case.__name__ for case in CASES], answer)


main()
