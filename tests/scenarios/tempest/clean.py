"""Deletes what a run left in a cloud in memory, and prints what is reported as left, also by the next run, which knows nothing of the
first, and what there is. Its arguments are what can't be deleted, requests of which the first one fails, for instance
"fails:GET v2.0/ports", and "interrupted" where the run itself was ended before it deleted anything."""

import http.client
import json
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.append(sys.argv[1])
import cloud

cloud.PAUSE = 0
STUCK = sys.argv[2:]
# Both what urllib raises of itself, and what it lets through.
FAILING = [one.removeprefix("fails:") for one in STUCK if one.startswith("fails:")]
ERRORS = {one: http.client.IncompleteRead(b"") if one.startswith("GET") else TimeoutError("timed out") for one in FAILING}
OWNER = "Tests of the Tempest with the UID 1"


def of(project, id, **more):
    return {"id": id, "name": id, "project_id": project, "tenant_id": project, "owner": project, **more}


# The projects "own" and "gone" are in the domain of the run. Tempest deletes "gone" before the run is over.
GONE = {"id": "gone", "name": "tempest-a-gone", "domain_id": "d"}
HAS = {
    "domains": [{"id": "d", "name": "tempest-a", "description": OWNER}, {"id": "default", "name": "Default", "description": ""}],
    "projects": [GONE, {"id": "own", "name": "admin", "domain_id": "d"}, {"id": "tenant", "name": "tenant", "domain_id": "default"}],
    "users": [{"id": "user", "name": "admin", "domain_id": "d"}, {"id": "customer", "name": "customer", "domain_id": "default"}],
    "roles": [{"id": "role", "name": "tempest-a-role"}, {"id": "admin", "name": "admin"}, {"id": "near", "name": "tempest-ab"}],
    "servers": [of("gone", "tempest-a-server"), of("tenant", "customers-server")],
    "os-keypairs": [{"user_id": "user", "keypair": {"name": "a key"}}, {"user_id": "customer", "keypair": {"name": "theirs"}}],
    "os-aggregates": [{"id": "1", "name": "tempest-a-zone", "hosts": ["hypervisor-1"]}, {"id": "2", "name": "az-1", "hosts": []}],
    "os-server-groups": [of("own", "tempest-a-group"), of("tenant", "customers-group")],
    "volumes": [of("own", "volume"), of("tenant", "customers-volume")],
    "v2/images": [of("own", "image"), of("tenant", "customers-image")],
    "v2.0/routers": [of("own", "router"), of("tenant", "customers-router")],
    "v2.0/ports": [
        of("own", "interface", device_owner="network:router_interface", device_id="router", name=""),
        of("tenant", "customers-port", device_owner="compute:nova"),
    ],
    "v2.0/networks": [of("own", "network"), of("tenant", "customers-network")],
    "v2.0/security-groups": [of("own", "group"), of("tenant", "customers-default", name="default")],
}


class Cloud(cloud.Cloud):
    def __init__(self, identity=None):
        self.endpoints = dict.fromkeys(["identity", "compute", "volumev3", "image", "network"], "")

    def send(self, method, service, path, body=None):
        path, _, query = path.partition("?")
        if error := ERRORS.pop(f"{method} {path}", None):
            raise error
        if method == "PATCH":
            collection, _, id = path.rpartition("/")
            next(one for one in HAS[collection] if identity(one) == id).update(body["domain"])
        if method == "GET":
            return None, Found(found(path.removesuffix("/detail"), dict(urllib.parse.parse_qsl(query))))
        if path.endswith("/remove_router_interface"):
            return self.send("DELETE", service, f"v2.0/ports/{body['port_id']}")
        if path.endswith("/action"):
            HAS["os-aggregates"][0]["hosts"].clear()
        if method == "DELETE":
            collection, _, id = path.rpartition("/")
            one = next(one for one in HAS[collection] if identity(one) == urllib.parse.unquote(id))
            if identity(one) not in STUCK and not one.get("hosts"):
                HAS[collection].remove(one)
        return None, {}


class Found(dict):
    """An answer: the same under each key."""

    def __init__(self, found):
        self.found = found

    def __getitem__(self, key):
        return self.found


def identity(one):
    return one["keypair"]["name"] if "keypair" in one else one["id"]


def found(path, query):
    # As Neutron does it, which has no project without a default group.
    if path == "v2.0/security-groups" and not any(group["name"] == "default" for group in among(HAS[path], query)):
        HAS[path].append(of(query["project_id"], f"default-{query['project_id']}", name="default"))
    return among(HAS.get(path, []), query)


def among(all, query):
    # Glance's images are filtered by nothing.
    wanted = {field: value for field, value in query.items() if field in ("project_id", "domain_id", "user_id", "name")}
    return [one for one in all if all_are(one, wanted)]


def all_are(one, wanted):
    return all(one.get(field) == value for field, value in wanted.items())


cloud.Cloud = Cloud
watch = cloud.Deleted({}, "d")
watch.start()
end = time.monotonic() + 20
while "gone" not in watch.seen and time.monotonic() < end:
    time.sleep(0.01)
watch.ended.set()
watch.join()
HAS["projects"].remove(GONE)
left = [] if "interrupted" in STUCK else Cloud().clean("tempest-a", OWNER, frozenset(watch.seen))
then = Cloud().clean("tempest-a", OWNER)
print(json.dumps({"left": [left, then], "has": {kind: sorted(map(identity, all)) for kind, all in HAS.items()}}))
