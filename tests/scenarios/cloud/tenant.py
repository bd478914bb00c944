"""What a tenant does with servers; see apis.py, and blockstorage.py for volumes. An administrator's clouds.yaml is for the tasks that look
behind the cloud."""

import base64
import hashlib
import json
import sys
import time
import urllib.parse

import vnc
from apis import (
    APIS, CINDER, GLANCE, HOSTS, KEYSTONE, LOGIN, NEUTRON, NOVA, PLACEMENT, console, create, flavor, host, inside, is_active, named,
    says, until, upload,
)
from blockstorage import SIZE, backups, boot_from_volume, no_volumes, other_pool, volumes
from keystoneauth1 import exceptions

# An upload is sent in parts of this size, in bytes, with a pause among them, in seconds: longer than uwsgi's own limit of 4.
PART, PAUSE = 64 << 10, 10
# Each server asks the other one by HTTP every second, and writes to its console what it learns. On a volume without content it
# writes its name again and again, and of one with content it takes the checksum. By HTTP it says whether it connects to a host and a port.
USER_DATA = """#!/bin/sh
echo "guest: user data runs"
mkdir /www/cgi-bin
cat > /www/cgi-bin/connects << 'END'
#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
if nc -w 5 ${QUERY_STRING%:*} ${QUERY_STRING#*:} -e true; then echo yes; else echo no; fi
END
chmod +x /www/cgi-bin/connects
(
    last=
    while :; do
        if [ "$(timeout 2 wget -q -O - http://PEER/)" = NAME ]; then now="reaches NAME"; else now="doesn't reach NAME"; fi
        if [ "$now" != "$last" ]; then echo "guest: $now"; last=$now; fi
        sleep 1
    done
) > /dev/ttyS0 2> /dev/null &
(
    while :; do
        until [ -b /dev/vdb ]; do sleep 0.2; done
        content=$(dd if=/dev/vdb bs=512 count=1 | tr -d '\\0')
        if [ -z "$content" ]; then
            yes "written by $(cat /www/index.html)" | head -c SIZE > /dev/vdb; sync
            echo "guest: volume is written"
        else
            echo "guest: volume has $(head -c SIZE /dev/vdb | sha256sum | cut -d ' ' -f 1)"
        fi
        while [ -b /dev/vdb ]; do sleep 0.2; done
        echo "guest: volume is gone"
    done
) > /dev/ttyS0 2> /dev/null &
"""


def upload_slowly():
    """Stores an image whose length the tenant doesn't tell, with a pause in the middle, and deletes it. Prints how long it took."""
    started = time.monotonic()
    content = b"".join(b"%d\n" % number for number in range(800_000))
    id = until("an image is uploaded in parts", lambda: uploaded(content))
    image = GLANCE.get(f"/v2/images/{id}").json()
    GLANCE.delete(f"/v2/images/{id}")
    expected = ("active", "sha512", hashlib.sha512(content).hexdigest())
    found = tuple(image[field] for field in ("status", "os_hash_algo", "os_hash_value"))
    if found != expected:
        sys.exit(f"Glance has {found} instead of {expected}")
    print(round(time.monotonic() - started, 1))


def uploaded(content):
    """Uploads an image in parts, and returns its ID; nothing where that failed. Parts can't be sent again, so each try is another image."""
    wanted = {"name": "slow", "disk_format": "raw", "container_format": "bare"}
    id = GLANCE.post("/v2/images", json=wanted).json()["id"]
    headers, once = {"Content-Type": "application/octet-stream"}, {"connect_retries": 0, "status_code_retries": 0}
    try:
        GLANCE.put(f"/v2/images/{id}/file", data=parts(content), headers=headers, **once)
        return id
    except exceptions.ClientException as error:
        print(f"an upload failed: {error}")
        GLANCE.delete(f"/v2/images/{id}", raise_exc=False)
        return None


def parts(content):
    """Content in parts, with a pause before the second half. A generator has no length, so requests sends chunks."""
    starts = range(0, len(content), PART)
    for number, start in enumerate(starts):
        if number == len(starts) // 2:
            time.sleep(PAUSE)
        yield content[start : start + PART]


def boot():
    """Boots a server on each host. Both are in the default security group, whose members reach each other."""
    disk, network = upload(), inside()
    ports = [create(NEUTRON, "/v2.0/ports", "port", name=host, network_id=network) for host in HOSTS]
    addresses = [port["fixed_ips"][0]["ip_address"] for port in ports]
    started, active, servers = time.monotonic(), None, []
    for index, name in enumerate(HOSTS):
        data = USER_DATA.replace("PEER", addresses[1 - index]).replace("NAME", f"{HOSTS[1 - index]}.novalocal")
        data = data.replace("SIZE", str(SIZE))
        server = create(
            NOVA, "/servers", "server", name=name, imageRef=disk, flavorRef=flavor(),
            networks=[{"port": ports[index]["id"]}], user_data=base64.b64encode(data.encode()).decode(),
        )
        # The next one is on the other host, which has more free memory by then.
        until(f"{name} is active", lambda: is_active(server["id"]))
        active = active or round(time.time() * 1000)
        servers.append(server)
    for server, address, peer in zip(servers, addresses, reversed(HOSTS)):
        for line in (f"guest: address {address}/24", f"guest: instance {server['id']}", "guest: user data runs"):
            says(server["id"], line)
        says(server["id"], f"guest: reaches {peer}.novalocal")
    places = [host(server["id"]) for server in servers]
    if sorted(places) != sorted(HOSTS):
        sys.exit(f"the servers are on {places}")
    # The one whose host's agents are replaced.
    first = places.index(HOSTS[0])
    external = NEUTRON.get("/v2.0/networks?router:external=true").json()["networks"]
    ip = create(
        NEUTRON, "/v2.0/floatingips", "floatingip", floating_network_id=external[0]["id"], port_id=ports[first]["id"]
    )
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({
        "active": active, "address": ip["floating_ip_address"], "image": disk, "server": servers[0]["id"],
        "name": HOSTS[first], "seconds": seconds,
        "zone": NOVA.get(f"/servers/{servers[0]['id']}").json()["server"]["OS-EXT-AZ:availability_zone"],
    }))


def again():
    """Boots one more server."""
    source = named(GLANCE, "/v2/images", "images", "disk")["id"]
    wanted = {"name": "again", "imageRef": source, "flavorRef": flavor(), "networks": [{"uuid": inside()}]}
    id = create(NOVA, "/servers", "server", **wanted)["id"]
    until(f"{id} is active", lambda: is_active(id))


def reach():
    """Waits until every API answers, and prints where it is."""
    print(json.dumps({name: until(f"{name} answers", lambda: answers(client)) for name, client in APIS.items()}))


def quotas():
    """Prints what the project may have."""
    compute, storage = (client.get("/limits").json()["limits"]["absolute"] for client in (NOVA, CINDER))
    network = NEUTRON.get(f"/v2.0/quotas/{LOGIN.get_project_id()}").json()["quota"]
    print(json.dumps({
        "servers": compute["maxTotalInstances"], "volumes": storage["maxTotalVolumes"], "networks": network["network"],
    }))


def answers(client):
    """Where an API is; nothing if it isn't reached yet. What a proxy says in its place isn't JSON, nor what Cinder says of its endpoint."""
    try:
        said = client.get("/types" if client is CINDER else "", raise_exc=False).headers.get("Content-Type", "")
        return client.get_endpoint() if "json" in said else None
    except exceptions.ClientException:
        return None


def alone():
    """The tenant sees its own project and what is offered to all, and nothing behind the cloud."""
    project = LOGIN.get_project_id()
    networks = NEUTRON.get("/v2.0/networks").json()["networks"]
    seen = {
        "networks": [it["name"] for it in networks if it["project_id"] != project and not it["router:external"]],
        "images": [it["name"] for it in GLANCE.get("/v2/images").json()["images"] if it["owner"] != project],
        "projects": [it["name"] for it in KEYSTONE.get("/auth/projects").json()["projects"] if it["id"] != project],
    }
    refused = (
        (NOVA, "/servers?all_tenants=1"), (NOVA, "/os-hypervisors"), (NOVA, "/os-services"),
        (PLACEMENT, "/resource_providers"), (NEUTRON, "/v2.0/agents"), (KEYSTONE, "/users"),
    )
    for client, path in refused:
        answer = client.get(path, raise_exc=False)
        # Neutron hides what may not be seen.
        hidden = answer.status_code == 200 and not any(answer.json().values())
        if answer.status_code != 403 and not hidden:
            seen[path] = answer.status_code
    others = {what: found for what, found in seen.items() if found}
    if others:
        sys.exit(f"the tenant sees {others}")


def outside():
    """Lets the world reach the servers by ICMP and HTTP."""
    group = named(NEUTRON, "/v2.0/security-groups", "security_groups", "default")["id"]
    rule = {"security_group_id": group, "direction": "ingress", "ethertype": "IPv4"}
    create(NEUTRON, "/v2.0/security-group-rules", "security_group_rule", protocol="icmp", **rule)
    http = {"protocol": "tcp", "port_range_min": 80, "port_range_max": 80}
    create(NEUTRON, "/v2.0/security-group-rules", "security_group_rule", **http, **rule)


def snapshot():
    """The second server becomes an image while it runs, and the image is deleted. Hosts may not write to Ceph's pool of images, so Nova
    uploads a disk that is in Ceph to Glance, and suspends the server while it reads. Prints the image's size and how long it took."""
    started = time.monotonic()
    server = named(NOVA, "/servers", "servers", HOSTS[1])["id"]
    action = {"createImage": {"name": "snapshot"}}
    id = NOVA.post(f"/servers/{server}/action", json=action).json()["image_id"]
    until(f"{server} is copied", lambda: is_copied(server))
    image = GLANCE.get(f"/v2/images/{id}").json()
    if image["status"] != "active" or not image["size"]:
        sys.exit(f"the image of {server} is {image['status']}, its size is {image['size']}")
    GLANCE.delete(f"/v2/images/{id}")
    seconds = round(time.monotonic() - started, 1)
    # Open vSwitch in user space, as the lab has it, doesn't take over the network device that QEMU makes when the server runs again.
    NOVA.post(f"/servers/{server}/action", json={"reboot": {"type": "HARD"}})
    # Its log begins anew then.
    until(f"{server} is rebooted", lambda: is_active(server))
    says(server, f"guest: reaches {HOSTS[0]}.novalocal")
    print(json.dumps({"size": image["size"], "seconds": seconds}))


def is_copied(id):
    """Whether Nova has made an image of a server, which runs again."""
    succeeds(id, "createImage")
    server = NOVA.get(f"/servers/{id}").json()["server"]
    return server["status"] == "ACTIVE" and not server["OS-EXT-STS:task_state"]


def succeeds(id, *names):
    """Exits where an action of a server of one of these names has failed, with what happened."""
    actions = NOVA.get(f"/servers/{id}/os-instance-actions").json()["instanceActions"]
    failed = next((action for action in actions if action["action"] in names and action["message"] == "Error"), None)
    if failed:
        details = NOVA.get(f"/servers/{id}/os-instance-actions/{failed['request_id']}").json()["instanceAction"]
        sys.exit(f"{failed['action']} of {id} failed: {json.dumps(details['events'])}")


def move():
    """Migrates a server to the other host and back, for an administrator."""
    servers = NOVA.get(f"/servers?all_tenants=1&name={HOSTS[0]}").json()["servers"]
    there_and_back(servers[0]["id"], place, [{"migrate": None}] * 2)


def resize():
    """Gives a server another size on the other host, and the former size where it was."""
    id = named(NOVA, "/servers", "servers", HOSTS[0])["id"]
    there_and_back(id, host, [{"resize": {"flavorRef": flavor(name)}} for name in ("medium", "small")])


def there_and_back(id, where, actions):
    """Does what brings a server to the other host and back. It starts on each as it did at first."""
    started = time.monotonic()
    places = [where(id)]
    for action in actions:
        NOVA.post(f"/servers/{id}/action", json=action)
        until(f"{id} is migrated", lambda: is_migrated(id))
        NOVA.post(f"/servers/{id}/action", json={"confirmResize": None})
        until(f"{id} is active", lambda: is_active(id))
        # Each host has a log of its own.
        says(id, f"guest: instance {id}")
        says(id, f"guest: reaches {HOSTS[1]}.novalocal")
        places.append(where(id))
    if places[0] != places[2] or {*places} != {*HOSTS}:
        sys.exit(f"the server was on {places}")
    print(round(time.monotonic() - started, 1))


def place(id):
    """The host of a server, for an administrator."""
    return NOVA.get(f"/servers/{id}").json()["server"]["OS-EXT-SRV-ATTR:host"]


def is_migrated(id):
    """Whether a server is on another host. Where Nova can't prepare that host, the server stays as it was."""
    succeeds(id, "migrate", "resize")
    return NOVA.get(f"/servers/{id}").json()["server"]["status"] == "VERIFY_RESIZE"


def block():
    """Takes the second server out of the security group."""
    first = named(NOVA, "/servers", "servers", HOSTS[0])["id"]
    closed = create(NEUTRON, "/v2.0/security-groups", "security_group", name="closed")
    port = named(NEUTRON, "/v2.0/ports", "ports", HOSTS[1])["id"]
    line = f"guest: doesn't reach {HOSTS[1]}.novalocal"
    # A server may say so while it starts, too.
    before = console(first).count(line)
    NEUTRON.put(f"/v2.0/ports/{port}", json={"port": {"security_groups": [closed["id"]]}})
    until(f"{first} says {line!r} again, but:\n{console(first)}", lambda: console(first).count(line) > before)


def display():
    """Opens the console of a server as a browser does, and prints the version of its protocol."""
    id = named(NOVA, "/servers", "servers", HOSTS[0])["id"]
    wanted = {"protocol": "vnc", "type": "novnc"}
    url = urllib.parse.urlsplit(create(NOVA, f"/servers/{id}/remote-consoles", "remote_console", **wanted)["url"])
    path = urllib.parse.unquote(urllib.parse.parse_qs(url.query)["path"][0])
    print(until("the console opens", lambda: vnc.opens(url, path)))


def delete():
    """Deletes the servers and their ports."""
    for server in NOVA.get("/servers").json()["servers"]:
        NOVA.delete(f"/servers/{server['id']}")
    until("all servers are deleted", lambda: not NOVA.get("/servers").json()["servers"])
    for ip in NEUTRON.get("/v2.0/floatingips").json()["floatingips"]:
        NEUTRON.delete(f"/v2.0/floatingips/{ip['id']}")
    for host in HOSTS:
        for port in NEUTRON.get(f"/v2.0/ports?name={host}").json()["ports"]:
            NEUTRON.delete(f"/v2.0/ports/{port['id']}")


def no_images():
    """Deletes all images of the project."""
    for image in GLANCE.get("/v2/images").json()["images"]:
        GLANCE.delete(f"/v2/images/{image['id']}")


def usages():
    """What Placement has of each host, for an administrator."""
    providers = PLACEMENT.get("/resource_providers").json()["resource_providers"]
    for provider in sorted(providers, key=lambda provider: provider["name"]):
        usages = PLACEMENT.get(f"/resource_providers/{provider['uuid']}/usages").json()["usages"]
        print(provider["name"], *(f"{resource}={amount}" for resource, amount in sorted(usages.items())))


def left():
    """What tests left, for an administrator: before its tenant does anything, a cloud has no servers, volumes and images, no ports but
    those of networks, and nothing of projects that don't exist."""
    identity = {kind: KEYSTONE.get(f"/{kind}").json()[kind] for kind in ("domains", "projects", "users", "roles")}
    projects = {project["id"] for project in identity["projects"]}
    flavors = NOVA.get("/flavors?is_public=None").json()["flavors"]
    found = [("images", image) for image in GLANCE.get("/v2/images").json()["images"]]
    for client, kind in ((NOVA, "servers"), (CINDER, "volumes"), (CINDER, "snapshots"), (CINDER, "backups")):
        found += [(kind, one) for one in client.get(f"/{kind}?all_tenants=1").json()[kind]]
    for kind, all in {**identity, "flavors": flavors}.items():
        found += [(kind, one) for one in all if one["name"].startswith("tempest-")]
    for kind in ("ports", "networks", "routers", "floatingips", "security-groups"):
        for one in NEUTRON.get(f"/v2.0/{kind}").json()[kind.replace("-", "_")]:
            is_of_nobody = one["project_id"] and one["project_id"] not in projects
            if is_of_nobody or not one.get("device_owner", "network:").startswith("network:"):
                found.append((kind, one))
    for kind, one in found:
        print(kind, one.get("name") or one["id"])


TASKS = (
    left, reach, quotas, alone, boot, outside, volumes, boot_from_volume, other_pool, backups, no_volumes, upload_slowly, snapshot, move,
    resize, block, display, delete, again, no_images, usages,
)
if __name__ == "__main__":
    {task.__name__: task for task in TASKS}[sys.argv[1].replace("-", "_")]()
