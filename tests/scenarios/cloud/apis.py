"""The APIs of a cloud, with nothing but a clouds.yaml: Keystone is where that says, all else in the catalogue. Programs run in a pod, or
outside of the cloud, where another argument after the task is the folder of their files."""

import hashlib
import json
import logging
import os
import pathlib
import sys
import time

import yaml
from keystoneauth1 import adapter, loading, session

# What is tried again is no part of what a task prints.
logging.getLogger().addHandler(logging.NullHandler())
FOLDER = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "/")
AUTHORITY = str(FOLDER / "clouds/cacert")
CLOUD = yaml.safe_load((FOLDER / "clouds/clouds.yaml").read_text())["clouds"]["openstack"]
# Seconds for each thing that is waited for.
PATIENCE = int(os.environ["PATIENCE"])
GUEST = FOLDER / "guest"
# Servers are called as the hosts that they are meant for. The tenant can't choose a host, so one may be on the other's.
HOSTS = ("hypervisor-1", "hypervisor-2")
LOGIN = session.Session(
    loading.get_plugin_loader(CLOUD["auth_type"]).load_from_options(**CLOUD["auth"]), verify=AUTHORITY
)


def client(service_type, **more):
    """A client that tries again while a busy node takes the only pod of an API out of its Service. Proxies answer 503 then."""
    again = {"connect_retries": 30, "connect_retry_delay": 1, "status_code_retries": 30, "status_code_retry_delay": 1}
    place = {"interface": CLOUD["endpoint_type"], "region_name": CLOUD["region_name"]}
    return adapter.Adapter(LOGIN, service_type=service_type, **place, **again, **more)


NOVA = client("compute", default_microversion="2.79")
NEUTRON = client("network")
GLANCE = client("image")
CINDER = client("block-storage", default_microversion="3.60")
PLACEMENT = client("placement", default_microversion="1.10")
KEYSTONE = adapter.Adapter(LOGIN, endpoint_override=CLOUD["auth"]["auth_url"])
APIS = {
    "cinder": CINDER, "glance": GLANCE, "keystone": KEYSTONE, "neutron": NEUTRON, "nova": NOVA, "placement": PLACEMENT,
}


def until(what, ask):
    """Asks until there is an answer."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {PATIENCE} s")
        time.sleep(0.5)


def create(client, path, kind, **wanted):
    answer = client.post(path, json={kind: wanted}, raise_exc=False)
    if not answer.ok:
        sys.exit(f"{path}: {answer.status_code} {answer.text}")
    return answer.json()[kind]


def named(client, path, kind, name):
    return client.get(f"{path}?name={name}").json()[kind][0]


def flavor(name="small"):
    """One of the site's flavors."""
    return next(flavor for flavor in NOVA.get("/flavors").json()["flavors"] if flavor["name"] == name)["id"]


def inside():
    """The network in the tenant's first project, which comes with a router."""
    return named(NEUTRON, "/v2.0/networks", "networks", "default")["id"]


def host(server):
    """The host of a server, by what Nova shows of it to a project."""
    hidden = NOVA.get(f"/servers/{server}").json()["server"]["hostId"]
    project = LOGIN.get_project_id()
    return next(host for host in HOSTS if hashlib.sha224((project + host).encode()).hexdigest() == hidden)


def is_active(id):
    server = NOVA.get(f"/servers/{id}").json()["server"]
    if server["status"] == "ERROR":
        sys.exit(f"{id} failed: {json.dumps(fault(id))}")
    return server["status"] == "ACTIVE"


def fault(id):
    """Why a server failed. Nova records it after the status, and nothing where nova-compute was restarted during a build."""
    time.sleep(5)
    return NOVA.get(f"/servers/{id}").json()["server"].get("fault")


def console(id):
    answer = NOVA.post(f"/servers/{id}/action", json={"os-getConsoleOutput": {}}, raise_exc=False)
    return answer.json()["output"] if answer.ok else ""


def says(id, line):
    until(f"{id} says {line!r}, but:\n{console(id)}", lambda: line in console(id))


def image(file, disk_format, container_format, **properties):
    wanted = {"name": file, "disk_format": disk_format, "container_format": container_format, **properties}
    id = GLANCE.post("/v2/images", json=wanted).json()["id"]
    headers = {"Content-Type": "application/octet-stream"}
    content = bytearray((GUEST / file).read_bytes())
    if file == "kernel":
        # By the signature of a boot sector, which QEMU doesn't read, Nova takes it for a disk whose partitions are invalid, and refuses to
        # migrate a server that runs (nova/virt/images.py, do_image_deep_inspection).
        content[510:512] = bytes(2)
    GLANCE.put(f"/v2/images/{id}/file", data=bytes(content), headers=headers)
    return id


def upload():
    """Stores what guests run."""
    kernel, ramdisk = image("kernel", "aki", "aki"), image("ramdisk", "ari", "ari")
    return image("disk", "raw", "bare", kernel_id=kernel, ramdisk_id=ramdisk)
