"""Checks pools in Ceph as their users see them, and writes what it finds to the termination message.

CEPH_POOLS has the pools: id, pool and user of each. Configuration and key of the first are in /etc/ceph/0.
"""

import concurrent.futures
import json
import os

import rados

MESSAGE = "/dev/termination-log"
# Kubernetes keeps 4096 bytes of a termination message. A pool needs these besides its error.
LIMIT, EACH = 4000, 50
SECONDS = "30"


def ask(cluster, **command):
    status, output, _ = cluster.mon_command(json.dumps({**command, "format": "json"}), b"")
    return json.loads(output) if status == 0 else None


def capacity(cluster, pool):
    """Returns the bytes that a pool stores and can still store, its quota, and how full its OSDs are; nothing if Ceph refuses to say."""
    usage, quota = ask(cluster, prefix="df"), ask(cluster, prefix="osd pool get-quota", pool=pool)
    for entry in usage["pools"] if usage and quota else []:
        if entry["name"] == pool:
            stats = entry["stats"]
            return {
                "stored": stats["stored"],
                "free": stats["max_avail"],
                "quota": quota["quota_max_bytes"],
                "osds": osds(cluster, usage, pool),
            }
    return {}


def osds(cluster, usage, pool):
    """Returns how full the OSDs of a pool are, in percent, by their device class; None if Ceph refuses to say."""
    rule = ask(cluster, prefix="osd pool get", pool=pool, var="crush_rule")
    rule = rule and ask(cluster, prefix="osd crush rule dump", name=rule["crush_rule"])
    # A rule takes a root, for instance default, or the OSDs of one class in it, for instance default~nvme.
    taken = [step["item_name"] for step in rule["steps"] if step["op"] == "take"] if rule else []
    classes = usage.get("stats_by_class", {})
    each = [classes.get(item.partition("~")[2], usage["stats"]) for item in taken]
    return max((int(100 * stats["total_used_raw_ratio"]) for stats in each), default=None)


def check(folder, id, pool, user):
    """Reads from a pool. Only an OSD knows whether the user may: monitors open the pool for every user."""
    options = dict.fromkeys(["client_mount_timeout", "rados_mon_op_timeout", "rados_osd_op_timeout"], SECONDS)
    options["keyring"] = f"{folder}/keyring"
    found = {"id": id}
    try:
        with rados.Rados(conffile=f"{folder}/ceph.conf", rados_id=user, conf=options) as cluster:
            with cluster.open_ioctx(pool) as opened:
                try:
                    opened.stat("no-such-object")
                except rados.ObjectNotFound:
                    pass
            found.update(capacity(cluster, pool))
    except rados.Error as error:
        found["error"] = f"{type(error).__name__}: {error}"
    return found


def main():
    pools = json.loads(os.environ["CEPH_POOLS"])
    with concurrent.futures.ThreadPoolExecutor(len(pools)) as threads:
        checks = [threads.submit(check, f"/etc/ceph/{number}", **pool) for number, pool in enumerate(pools)]
    found = [one.result() for one in checks]
    for one in found:
        if "error" in one:
            print(one["id"], one["error"])
            one["error"] = one["error"][: LIMIT // len(pools) - EACH]
    with open(MESSAGE, "w") as message:
        json.dump(found, message, separators=(",", ":"))


main()
