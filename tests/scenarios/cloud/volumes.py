"""What a tenant does with volumes while the members of their backend are killed and replaced; see apis.py. A task may have a parameter:
load-ID. `release` is an administrator's."""

import hashlib
import json
import os
import pathlib
import struct
import sys
import threading
import time
from concurrent import futures

from apis import CINDER, GLANCE, PATIENCE, create, named

# Bytes of a volume, of what is in the first one, and of a part of an image.
SIZE, CONTENT, CLUSTER = 1 << 30, 48 << 20, 64 << 10
# A load ends when this file is there, or after so many rounds.
STOP, ROUNDS = pathlib.Path("/tmp/stop"), 100
WORKERS = 3
CONNECTOR = {"host": "elsewhere", "ip": "192.0.2.1", "platform": "x86_64", "os_type": "linux", "multipath": False}
# The status of what Cinder works on.
BUSY = ("creating", "deleting", "downloading", "restoring-backup")


class Report:
    """What was done until now. It is printed after each step."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seen = {"done": 0, "failed": [], "kept": []}

    def add(self, step, wanted, found):
        """Returns whether a step ended as it should."""
        with self.lock:
            if found == wanted:
                self.seen["done"] += 1
            else:
                self.seen["failed"].append(f"{step}: {found}")
            print(json.dumps(self.seen), flush=True)
        return found == wanted

    def keep(self, volume):
        with self.lock:
            self.seen["kept"].append(volume)
            print(json.dumps(self.seen), flush=True)


def settled(kind, id):
    """The status that something has once Cinder doesn't work on it any more, or after a long time."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = CINDER.get(f"/{kind}s/{id}", raise_exc=False)
        if answer.status_code == 404:
            return "gone"
        status = answer.json()[kind]["status"] if answer.ok else answer.status_code
        if (answer.ok and status not in BUSY) or time.monotonic() > end:
            return status
        time.sleep(0.5)


def qcow2(content):
    """An image of the format qcow2, which Cinder can't clone: it copies and converts it."""
    copied, count = 1 << 63, len(content) // CLUSTER
    header = struct.pack(
        ">4sIQIIQIIQQIIQ", b"QFI\xfb", 2, 0, 0, CLUSTER.bit_length() - 1, len(content), 0, 1, 3 * CLUSTER, CLUSTER, 1, 0, 0
    )
    counts = b"\0\1" * (5 + count)
    first, second = [copied | 4 * CLUSTER], [copied | (5 + number) * CLUSTER for number in range(count)]
    tables = [b"".join(entry.to_bytes(8, "big") for entry in table) for table in ([2 * CLUSTER], first, second)]
    parts = [header, tables[0], counts, *tables[1:]]
    return b"".join(part.ljust(CLUSTER, b"\0") for part in parts) + content


def prepare():
    """Stores an image, and creates a volume of it. Prints the volume, and the checksum of what is in it."""
    content = os.urandom(CONTENT)
    wanted = {"name": "data", "disk_format": "qcow2", "container_format": "bare"}
    image = GLANCE.post("/v2/images", json=wanted).json()["id"]
    headers = {"Content-Type": "application/octet-stream"}
    GLANCE.put(f"/v2/images/{image}/file", data=qcow2(content), headers=headers)
    volume = create(CINDER, "/volumes", "volume", size=1, imageRef=image)["id"]
    status = settled("volume", volume)
    if status != "available":
        sys.exit(f"the volume {volume} of an image is {status}")
    checksum = hashlib.sha256(content)
    for _ in range((SIZE - CONTENT) // CLUSTER):
        checksum.update(bytes(CLUSTER))
    print(json.dumps({"volume": volume, "checksum": checksum.hexdigest()}))


def load(base):
    """Creates, clones, attaches, snapshots and deletes volumes."""
    report = Report()
    with futures.ThreadPoolExecutor(WORKERS) as pool:
        for worker in [pool.submit(work, report, base) for _ in range(WORKERS)]:
            worker.result()


def work(report, base):
    """Keeps a clone of the time before the load, and one of the time after it."""
    keep(report, base)
    for _ in range(ROUNDS):
        if STOP.exists():
            break
        use(report, base)
    keep(report, base)


def keep(report, base):
    volume = made(report, [], "volume", size=1, source_volid=base)
    if volume:
        report.keep(volume)


def use(report, base):
    things = []
    made(report, things, "volume", size=1, source_volid=base)
    volume = made(report, things, "volume", size=1)
    if volume and attached(report, volume):
        snapshot = made(report, things, "snapshot", volume_id=volume)
        if snapshot:
            made(report, things, "volume", size=1, snapshot_id=snapshot)
    for kind, id in reversed(things):
        delete(report, kind, id)


def made(report, things, kind, **wanted):
    """Creates something that is among the things then, and returns its ID; none if Cinder fails."""
    id = create(CINDER, f"/{kind}s", kind, **wanted)["id"]
    things.append((kind, id))
    return id if report.add(f"{kind} {id} is created", "available", settled(kind, id)) else None


def attached(report, volume):
    """Attaches a volume as a client other than Nova does, and detaches it. Returns whether it is available again."""
    wanted = {"volume_uuid": volume, "connector": CONNECTOR}
    answer = CINDER.post("/attachments", json={"attachment": wanted}, raise_exc=False)
    report.add(f"volume {volume} is attached", 200, answer.status_code)
    end = time.monotonic() + PATIENCE
    while (status := settled("volume", volume)) != "available" and time.monotonic() < end:
        attachments = CINDER.get("/attachments", raise_exc=False).json().get("attachments", [])
        for attachment in attachments:
            if attachment["volume_id"] == volume:
                CINDER.delete(f"/attachments/{attachment['id']}", raise_exc=False)
        time.sleep(0.5)
    return report.add(f"volume {volume} is detached", "available", status)


def delete(report, kind, id):
    """Deletes something. For half a minute, Ceph doesn't delete what a member had open that was killed. Cinder then makes the volume
    `available` again, and it is deleted once more."""
    end = time.monotonic() + PATIENCE
    while True:
        refused = CINDER.delete(f"/{kind}s/{id}", raise_exc=False).status_code == 400
        status = settled(kind, id)
        if refused or status not in ("available", "error") or time.monotonic() > end:
            break
        time.sleep(1)
    report.add(f"{kind} {id} is deleted", "gone", status)


def release():
    """Deletes what no member works on any more, as docs/cinder.md says."""
    report = Report()
    for kind in ("snapshot", "volume"):
        for one in CINDER.get(f"/{kind}s/detail?all_tenants=1").json()[f"{kind}s"]:
            if one["status"] in BUSY:
                CINDER.post(f"/{kind}s/{one['id']}/action", json={"os-reset_status": {"status": "error"}})
                delete(report, kind, one["id"])
    if report.seen["failed"]:
        sys.exit(str(report.seen["failed"]))


def begin(base):
    """Begins a backup of a volume, and a copy of the image to a volume. Prints both."""
    backup = create(CINDER, "/backups", "backup", volume_id=base)["id"]
    image = named(GLANCE, "/v2/images", "images", "data")["id"]
    copy = create(CINDER, "/volumes", "volume", size=1, imageRef=image)["id"]
    print(json.dumps({"backup": backup, "copy": copy}))


def restore(backup):
    """Restores a backup to a new volume, and prints it."""
    volume = create(CINDER, f"/backups/{backup}/restore", "restore", name="restored")["volume_id"]
    status = settled("volume", volume)
    if status != "available":
        sys.exit(f"the volume {volume} of a backup is {status}")
    print(volume)


if __name__ == "__main__":
    task, _, parameter = sys.argv[1].partition("-")
    {task.__name__: task for task in (prepare, load, release, begin, restore)}[task](*filter(None, [parameter]))
