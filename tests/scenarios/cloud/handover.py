"""What happens to servers when a share gives up a host, for their tenant and for an administrator; see apis.py."""

import base64
import json
import re
import sys
import time

from apis import GLANCE, HOSTS, NOVA, PLACEMENT, console, create, flavor, host, inside, is_active, named, until
from keystoneauth1 import exceptions

# A server that was migrated while it ran is still in the same boot.
USER_DATA = """#!/bin/sh
while :; do echo "guest: is in boot $(cat /proc/sys/kernel/random/boot_id)"; sleep 2; done > /dev/ttyS0 2> /dev/null &
"""
BOOT = re.compile(r"guest: is in boot ([-0-9a-f]{36})")


def pair():
    """Boots a server on each host."""
    source = named(GLANCE, "/v2/images", "images", "disk")["id"]
    data = base64.b64encode(USER_DATA.encode()).decode()
    wanted = {"imageRef": source, "flavorRef": flavor(), "networks": [{"uuid": inside()}], "user_data": data}
    for name in HOSTS:
        id = create(NOVA, "/servers", "server", name=name, **wanted)["id"]
        # The next one is on the other host, which has more free memory by then.
        until(f"{name} is active", lambda: is_active(id))
    running()


def running():
    """Prints where each server runs, and in which boot."""
    ids = [server["id"] for server in NOVA.get("/servers").json()["servers"]]
    for id in ids:
        until(f"{id} is active", lambda: is_active(id))
    print(json.dumps({id: {"host": host(id), "boot": boot(id)} for id in ids}))


def boot(server):
    """The boot of a server, by its console on its present host."""
    return until(f"{server} says in which boot it is", lambda: BOOT.findall(console(server)))[-1]


def answered(ask):
    """What APIs answer; nothing where one of them doesn't."""
    try:
        return ask()
    except exceptions.ClientException:
        return None


def members():
    """Waits until Placement has every host in an aggregate."""
    until("each host is in an aggregate", lambda: answered(are_members))


def are_members():
    return all(of_provider("aggregates", it) for it in providers())


def providers():
    return PLACEMENT.get("/resource_providers").json()["resource_providers"]


def of_provider(what, provider):
    """What Placement has of a resource provider; nothing if it was deleted since it was listed."""
    try:
        return PLACEMENT.get(f"/resource_providers/{provider['uuid']}/{what}").json()[what]
    except exceptions.NotFound:
        return []


def services():
    return NOVA.get("/os-services?binary=nova-compute").json()["services"]


def watch():
    """Prints again and again which hosts Nova and Placement have, and for whom something of each is allocated."""
    while True:
        seen = answered(sample)
        if seen:
            print(json.dumps(seen), flush=True)
        time.sleep(0.5)


def sample():
    seen = {"time": int(time.time() * 1000)}
    aggregates = NOVA.get("/os-aggregates").json()["aggregates"]
    seen["members"] = sorted({host for aggregate in aggregates for host in aggregate["hosts"]})
    seen["services"] = sorted(service["host"] for service in services())
    seen["providers"] = {it["name"]: sorted(of_provider("allocations", it)) for it in providers()}
    return seen


def drained():
    """The host that gets no further servers, and those that are on it."""
    host = until("a host is disabled", lambda: [it["host"] for it in services() if it["status"] == "disabled"])[0]
    return host, [server["id"] for server in NOVA.get(f"/servers?all_tenants=1&host={host}").json()["servers"]]


def migrate():
    """Migrates the servers of the drained host while they run, and prints its name."""
    left, servers = drained()
    for id in servers:
        NOVA.post(f"/servers/{id}/action", json={"os-migrateLive": {"host": None, "block_migration": "auto"}})
        until(f"{id} is on another host than {left}", lambda: is_moved(id, left))
    print(left)


def is_moved(id, left):
    migrations = NOVA.get(f"/os-migrations?instance_uuid={id}").json()["migrations"]
    if any(migration["status"] in ("error", "failed") for migration in migrations):
        actions = f"/servers/{id}/os-instance-actions"
        last = NOVA.get(actions).json()["instanceActions"][0]["request_id"]
        sys.exit(f"{id} wasn't migrated: {json.dumps(NOVA.get(f'{actions}/{last}').json())}")
    server = NOVA.get(f"/servers/{id}").json()["server"]
    return server["OS-EXT-SRV-ATTR:host"] != left and server["OS-EXT-STS:task_state"] is None


def shelve():
    """Stops the servers of the drained host, starts them on another one from images of their disks, and prints its name."""
    left, servers = drained()
    for id in servers:
        NOVA.post(f"/servers/{id}/action", json={"shelve": None})
        until(f"{id} is on no host", lambda: status(id) == "SHELVED_OFFLOADED")
        NOVA.post(f"/servers/{id}/action", json={"unshelve": None})
        until(f"{id} is active", lambda: is_active(id))
    print(left)


def status(id):
    return NOVA.get(f"/servers/{id}").json()["server"]["status"]


TASKS = (pair, running, members, watch, migrate, shelve)
if __name__ == "__main__":
    {task.__name__: task for task in TASKS}[sys.argv[1]]()
