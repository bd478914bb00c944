"""What tenants and administrators of two clouds on one pool do; see apis.py. A task may have a parameter: boot-2."""

import json
import sys
import time

from apis import GLANCE, LOGIN, NOVA, PLACEMENT, create, flavor, inside, is_active, says, until, upload
from handover import answered

# Who watches doesn't wait for an API that is away: the other answers would be old by then.
AT_ONCE = {"connect_retries": 0, "timeout": 20}


def look():
    """Prints again and again what Placement and Nova have."""
    while True:
        seen = answered(cloud_state)
        if seen:
            print(json.dumps(seen), flush=True)
        else:
            # A catalogue or token may be outdated.
            LOGIN.invalidate()
        time.sleep(1)


def now():
    return int(time.time() * 1000)


def cloud_state():
    seen = {"since": now()}
    providers = PLACEMENT.get("/resource_providers", **AT_ONCE).json()["resource_providers"]
    hypervisors = NOVA.get("/os-hypervisors", **AT_ONCE).json()["hypervisors"]
    services = NOVA.get("/os-services?binary=nova-compute", **AT_ONCE).json()["services"]
    servers = NOVA.get("/servers/detail?all_tenants=1&status=ACTIVE", **AT_ONCE).json()["servers"]
    seen["until"] = now()
    seen["providers"] = sorted(it["name"] for it in providers)
    seen["hypervisors"] = sorted(it["hypervisor_hostname"] for it in hypervisors)
    seen["up"] = sorted(it["host"] for it in services if it["state"] == "up")
    seen["ready"] = sorted(it["host"] for it in services if (it["status"], it["state"]) == ("enabled", "up"))
    seen["servers"] = {it["id"]: it["OS-EXT-SRV-ATTR:host"] for it in servers}
    return seen


def boot(count):
    """Boots servers that get an address and metadata. The next one is on the host with the most free memory by then."""
    images = GLANCE.get("/v2/images?name=disk").json()["images"]
    source = images[0]["id"] if images else upload()
    wanted = {"imageRef": source, "flavorRef": flavor(), "networks": [{"uuid": inside()}]}
    ids = []
    for number in range(int(count)):
        id = create(NOVA, "/servers", "server", name=f"server-{number}", **wanted)["id"]
        until(f"{id} is active", lambda: is_active(id))
        ids.append(id)
    for id in ids:
        says(id, f"guest: instance {id}")


def delete(id):
    """Deletes a server. Nova's API may be away for longer than a client sends a request again."""
    until(f"{id} may be deleted", lambda: status(NOVA.delete, id) in (204, 404))
    until(f"{id} is deleted", lambda: status(NOVA.get, id) == 404)


def status(ask, id):
    """The status of an answer about a server; none without an answer."""
    return answered(lambda: ask(f"/servers/{id}", raise_exc=False).status_code)


if __name__ == "__main__":
    task, _, parameter = sys.argv[1].partition("-")
    {task.__name__: task for task in (look, boot, delete)}[task](*filter(None, [parameter]))
