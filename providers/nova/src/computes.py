"""Waits until nova-compute of all hosts is of this release, and prints the hosts where it is older.

    python3 -c SCRIPT /etc/nova/config/nova.conf

Nova goes by the same records, in which hosts that are forced down don't count (service_get_minimum_version in nova/db/main/api.py).
"""

import sys
import time

from nova import config
from nova import context
from nova import objects
from nova.objects import service

# Seconds until the records are read again.
PERIOD = 10


def older():
    """Returns the hosts whose nova-compute is older, of all cells."""
    admin = context.get_admin_context()
    for cell in objects.CellMappingList.get_all(admin):
        with context.target_cell(admin, cell) as within:
            records = objects.ServiceList.get_by_binary(within, "nova-compute", include_disabled=True)
            for record in records:
                if record.version < service.SERVICE_VERSION and not record.forced_down:
                    yield record.host


def main():
    config.parse_args(["nova-manage", "--config-file", sys.argv[1]])
    objects.register_all()
    shown = None
    while hosts := sorted(older()):
        if hosts != shown:
            print("older than this release:", ", ".join(hosts), flush=True)
            shown = hosts
        time.sleep(PERIOD)


main()
