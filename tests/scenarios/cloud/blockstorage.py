"""What a tenant does with volumes and their backups; see apis.py. Servers that tenant.py has booted use them."""

import hashlib
import json
import sys
import time

from apis import CINDER, GLANCE, HOSTS, NOVA, console, create, flavor, inside, is_active, named, says, until

# What the first server writes fills an object of Ceph and begins another one.
SIZE = 5 << 20
LINE = f"written by {HOSTS[0]}.novalocal\n".encode()
WRITTEN = f"guest: volume has {hashlib.sha256((LINE * (SIZE // len(LINE) + 1))[:SIZE]).hexdigest()}"


def boot_from_volume():
    """Boots a server whose disk is a volume, which lives no longer than the server."""
    source = named(GLANCE, "/v2/images", "images", "disk")["id"]
    disk = {
        "boot_index": 0, "uuid": source, "source_type": "image", "destination_type": "volume", "volume_size": 1,
        "delete_on_termination": True,
    }
    id = create(
        NOVA, "/servers", "server", name="from-volume", flavorRef=flavor(), networks=[{"uuid": inside()}],
        block_device_mapping_v2=[disk],
    )["id"]
    until(f"{id} is active", lambda: is_active(id))
    says(id, f"guest: instance {id}")
    server = NOVA.get(f"/servers/{id}").json()["server"]
    volume = server["os-extended-volumes:volumes_attached"][0]["id"]
    print(json.dumps({"image": source, "volume": volume}))


def volume(**wanted):
    """Creates a volume of the default type, and waits until servers can use it."""
    id = create(CINDER, "/volumes", "volume", size=1, **wanted)["id"]
    until(f"volume {id} is available", lambda: has_status("volumes", "volume", id, "available"))
    return id


def has_status(path, kind, id, wanted):
    status = CINDER.get(f"/{path}/{id}").json()[kind]["status"]
    if status.startswith("error"):
        messages = CINDER.get("/messages").json()["messages"]
        sys.exit(f"{kind} {id} is {status}: {[message['user_message'] for message in messages]}")
    return status == wanted


def attached(server, volume, line):
    """Attaches a volume until the server says what it does with it."""
    before = console(server).count(line)
    create(NOVA, f"/servers/{server}/os-volume_attachments", "volumeAttachment", volumeId=volume)
    until(f"the server says {line!r}, but:\n{console(server)}", lambda: console(server).count(line) > before)
    until(f"volume {volume} is in use", lambda: has_status("volumes", "volume", volume, "in-use"))
    NOVA.delete(f"/servers/{server}/os-volume_attachments/{volume}")
    until(f"volume {volume} is detached", lambda: has_status("volumes", "volume", volume, "available"))


def volumes():
    """A volume goes from server to server, and what is on it to a snapshot, and from there to another volume."""
    started = time.monotonic()
    first, second = (named(NOVA, "/servers", "servers", host)["id"] for host in HOSTS)
    image = named(GLANCE, "/v2/images", "images", "disk")["id"]
    cloned = volume(name="cloned", imageRef=image)
    empty = volume(name="empty")
    attached(first, empty, "guest: volume is written")
    attached(second, empty, WRITTEN)
    snapshot = create(CINDER, "/snapshots", "snapshot", volume_id=empty)["id"]
    until("the snapshot is available", lambda: has_status("snapshots", "snapshot", snapshot, "available"))
    attached(second, volume(name="copy", snapshot_id=snapshot), WRITTEN)
    print(json.dumps({"cloned": cloned, "image": image, "seconds": round(time.monotonic() - started, 1)}))


def other_pool():
    """A server writes to a volume of the second pool's type. Prints the volume."""
    second = named(NOVA, "/servers", "servers", HOSTS[1])["id"]
    id = volume(name="other", volume_type="st-pool-b")
    attached(second, id, "guest: volume is written")
    print(id)


def backups():
    """What a server has written comes back from a backup, by its checksum."""
    started = time.monotonic()
    second = named(NOVA, "/servers", "servers", HOSTS[1])["id"]
    backup = create(CINDER, "/backups", "backup", volume_id=named(CINDER, "/volumes", "volumes", "empty")["id"])["id"]
    until("the backup is available", lambda: has_status("backups", "backup", backup, "available"))
    restored = create(CINDER, f"/backups/{backup}/restore", "restore", name="restored")["volume_id"]
    until("the backup is restored", lambda: has_status("volumes", "volume", restored, "available"))
    attached(second, restored, WRITTEN)
    print(round(time.monotonic() - started, 1))


def no_volumes():
    """Deletes all volumes with what was made of them."""
    for server in NOVA.get("/servers?name=from-volume").json()["servers"]:
        NOVA.delete(f"/servers/{server['id']}")
    for path in ("backups", "snapshots", "volumes"):
        for one in CINDER.get(f"/{path}").json()[path]:
            # A volume with clones is deleted after them.
            until(f"{path} {one['id']} is deleted", lambda: is_deleted(f"/{path}/{one['id']}"))
        until(f"all {path} are gone", lambda: not CINDER.get(f"/{path}").json()[path])


def is_deleted(path):
    """Whether Cinder deletes something, or has deleted it: Nova deletes the disk of a server, too."""
    return CINDER.delete(path, raise_exc=False).status_code in (202, 404)
