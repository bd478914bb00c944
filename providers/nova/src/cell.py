"""Maps a cell in Nova's API database, or deletes its mapping.

    cell.py map NAME       creates the mapping, or updates it to the URLs of the configuration file
    cell.py delete NAME    deletes the mapping; it fails while the cell has hosts or servers

nova-manage takes the URLs, with their passwords, from the command line or from the configuration file: here it is always the
file. cell0 is the cell of that name, whatever its mapping is called.
"""

import os
import sys

from nova.cmd import manage
from nova import config
from nova import context
from nova import objects
import nova.conf

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nova.conf")
# What delete_cell returns where a cell has records of deleted servers only.
ONLY_DELETED_SERVERS = 4


def find(name):
    for cell in objects.CellMappingList.get_all(context.get_admin_context()):
        if cell.is_cell0() if name == "cell0" else cell.name == name:
            return cell.uuid
    return None


def map_cell(commands, name):
    uuid = find(name)
    if name == "cell0":
        database = nova.conf.CONF.database.connection
        if uuid is None:
            return commands.map_cell0(database)
        return commands.update_cell(uuid, transport_url="none:///", db_connection=database)
    if uuid is None:
        return commands.create_cell(name)
    return commands.update_cell(uuid)


def delete_cell(commands, name):
    uuid = find(name)
    if uuid is None:
        return 0
    result = commands.delete_cell(uuid)
    if result == ONLY_DELETED_SERVERS:
        manage.DbCommands().archive_deleted_rows(until_complete=True, all_cells=True)
        result = commands.delete_cell(uuid)
    return result


def main():
    verb, name = sys.argv[1:]
    config.parse_args(["nova-manage", "--config-file", FILE])
    objects.register_all()
    return {"map": map_cell, "delete": delete_cell}[verb](manage.CellV2Commands(), name)


sys.exit(main())
