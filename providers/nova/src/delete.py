"""Deletes a cell from Nova's API database; it fails while the cell has hosts or servers.

    python3 -c SCRIPT /etc/nova/config/nova.conf NAME

nova-manage refuses a cell with records of deleted servers until rows are archived. An archive would take rows of all cells before they are
due, and need the databases of all. So what the API database has of this cell's servers is deleted here, and the cell's own database stays
as it is.
"""

import sys

from nova.cmd import manage
from nova import config
from nova import context
from nova import objects

# What delete_cell returns where a cell has records of deleted servers only.
ONLY_DELETED_SERVERS = 4
# Of how many servers records are deleted at once.
BATCH = 1000


def forget(admin, servers):
    for start in range(0, len(servers), BATCH):
        batch = servers[start : start + BATCH]
        objects.RequestSpec.destroy_bulk(admin, batch)
        objects.InstanceGroup.destroy_members_bulk(admin, batch)
        # Last, since the next try finds the servers by these.
        objects.InstanceMappingList.destroy_bulk(admin, batch)


def delete(name):
    admin = context.get_admin_context()
    cell = next((cell for cell in objects.CellMappingList.get_all(admin) if cell.name == name), None)
    if cell is None:
        return 0
    # Before delete_cell looks whether one of them exists: a server that comes later isn't among them.
    servers = [mapping.instance_uuid for mapping in objects.InstanceMappingList.get_by_cell_id(admin, cell.id)]
    commands = manage.CellV2Commands()
    result = commands.delete_cell(cell.uuid)
    if result == ONLY_DELETED_SERVERS:
        forget(admin, servers)
        result = commands.delete_cell(cell.uuid)
    return result


def main():
    file, name = sys.argv[1:]
    config.parse_args(["nova-manage", "--config-file", file])
    objects.register_all()
    return delete(name)


sys.exit(main())
