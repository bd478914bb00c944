"""The cloud that Tempest tests: its APIs, and what a run creates in it and deletes."""

import http.client
import json
import secrets
import ssl
import threading
import time
import urllib.parse
import urllib.request

CREDENTIAL = "/etc/tempest/credential"
# The versions of APIs that show other users' keypairs (2.10), and of which project a backup is (3.18).
MICROVERSIONS = {"compute": "compute 2.10", "volumev3": "volume 3.18"}

# Each service's option in [service_available], and its types in the catalogue.
SERVICES = {
    "compute": ("nova", ["compute"]),
    "identity": (None, ["identity"]),
    "image": ("glance", ["image"]),
    "network": ("neutron", ["network"]),
    "object-store": ("swift", ["object-store"]),
    "placement": (None, ["placement"]),
    "volume": ("cinder", ["volumev3", "block-storage"]),
}

# What belongs to a project, in the order in which it can be deleted.
OF_PROJECT = (
    ("compute", "servers/detail?all_tenants=1&project_id={}", "servers"),
    ("volumev3", "backups/detail?all_tenants=1&project_id={}", "backups"),
    ("volumev3", "snapshots/detail?all_tenants=1&project_id={}", "snapshots"),
    ("volumev3", "volumes/detail?all_tenants=1&project_id={}", "volumes"),
    ("image", "v2/images?owner={}", "images"),
    ("network", "v2.0/floatingips?project_id={}", "floatingips"),
    ("network", "v2.0/ports?project_id={}", "ports"),
    ("network", "v2.0/routers?project_id={}", "routers"),
    ("network", "v2.0/networks?project_id={}", "networks"),
    ("network", "v2.0/security-groups?project_id={}", "security_groups"),
    ("network", "v2.0/subnetpools?project_id={}", "subnetpools"),
)
# What belongs to no project, and is found by its name.
NAMED = (
    ("compute", "os-aggregates", "aggregates"),
    ("compute", "flavors?is_public=None", "flavors"),
    ("compute", "os-server-groups?all_projects=1", "server_groups"),
    ("volumev3", "types?is_public=None", "volume_types"),
    ("volumev3", "qos-specs", "qos_specs"),
    ("identity", "users", "users"),
    ("identity", "groups", "groups"),
    ("identity", "projects", "projects"),
    ("identity", "roles", "roles"),
    ("identity", "services", "services"),
    ("identity", "domains", "domains"),
)
# The size in bytes of an image that a run creates.
IMAGE_SIZE = 1 << 20
# Deletions take a while, and some wait for others.
PASSES, PAUSE = 30, 5
# How often a domain is deleted, and its projects are listed, before that counts as a failure.
TRIES = 3
# A cloud that doesn't answer uses up no more of a run than this, in seconds.
CLEANING = 3600
# How a request fails: without an answer, with an error, or with an answer that is cut off or isn't what it should be.
FAILURES = (OSError, http.client.HTTPException, LookupError, ValueError)
# The tags of a run's domain have the IDs of its projects. Keystone takes 80 tags of 255 characters (keystone/resource/schema.py); other
# attributes, which that schema doesn't have, are errors in its log with each list of domains.
TAGS, IDS, TAG = 80, 7, "projects."


class Refused(Exception):
    """The user has to correct something."""


class Cloud:
    """The APIs of the cloud, with the application credential."""

    def __init__(self, identity):
        self.trust = ssl.create_default_context(cafile=identity.get("ca_certificates_file"))
        self.endpoints, self.token = {"identity": identity["uri_v3"]}, None
        credential = {key: read(f"{CREDENTIAL}/application_credential_{key}") for key in ("id", "secret")}
        method = {"methods": ["application_credential"], "application_credential": credential}
        headers, body = self.send("POST", "identity", "auth/tokens", {"auth": {"identity": method}})
        self.token = headers["X-Subject-Token"]
        for service in body["token"]["catalog"]:
            for endpoint in service["endpoints"]:
                if (endpoint["interface"], endpoint["region"]) == ("internal", identity["region"]):
                    self.endpoints.setdefault(service["type"], endpoint["url"].rstrip("/"))
        self.volumes = self.type("volume")
        if self.volumes:
            self.endpoints["volumev3"] = self.endpoints[self.volumes]

    def send(self, method, service, path, body=None):
        request = urllib.request.Request(f"{self.endpoints[service]}/{path}", method=method)
        is_file = isinstance(body, bytes)
        request.add_header("Content-Type", "application/octet-stream" if is_file else "application/json")
        if service in MICROVERSIONS:
            request.add_header("OpenStack-API-Version", MICROVERSIONS[service])
        if body:
            request.data = body if is_file else json.dumps(body).encode()
        if self.token:
            request.add_header("X-Auth-Token", self.token)
        with urllib.request.urlopen(request, context=self.trust, timeout=60) as answer:
            return answer.headers, json.loads(answer.read() or "{}")

    def list(self, service, path, key):
        return self.send("GET", service, path)[1][key] if service in self.endpoints else []

    def create(self, kind, **body):
        return self.send("POST", "identity", f"{kind}s", {kind: body})[1][kind]["id"]

    def try_to(self, method, service, path, body=None):
        """What fails is tried again by the next pass."""
        try:
            self.send(method, service, path, body)
        except FAILURES as error:
            print(f"{method} {path}: {error}")

    def available(self):
        """The services in the catalogue, as Tempest calls them."""
        return {name for name in SERVICES if self.type(name)}

    def type(self, name):
        """The type that a service has in the catalogue, if it is there."""
        return next((type_ for type_ in SERVICES[name][1] if type_ in self.endpoints), None)

    def domains(self, name, owner):
        """The domains of this name that runs of this Tempest created: no other is deleted."""
        named = self.list("identity", f"domains?name={name}", "domains")
        return [domain for domain in named if (domain["name"], domain["description"]) == (name, owner)]

    def create_admin(self, name, owner):
        """Creates a domain with an administrator, and returns the administrator's project and Tempest's options. Tempest creates its
        own users and projects in the same domain."""
        if self.list("identity", f"domains?name={name}", "domains"):
            raise Refused(f"Keystone has a domain {name} that this Tempest didn't create: rename that domain")
        password, domain = secrets.token_urlsafe(32), self.create("domain", name=name, description=owner)
        project = self.create("project", name="admin", domain_id=domain)
        user = self.create("user", name="admin", domain_id=domain, password=password)
        role = self.list("identity", "roles?name=admin", "roles")[0]["id"]
        self.send("PUT", "identity", f"projects/{project}/users/{user}/roles/{role}")
        auth = {
            "admin_username": "admin",
            "admin_project_name": "admin",
            "admin_domain_name": name,
            "default_credentials_domain_name": name,
            "admin_password": password,
        }
        return project, {"auth": auth, "identity": {"default_domain_id": domain}}

    def flavors(self):
        """The flavors, the smallest first."""
        found = self.list("compute", "flavors/detail", "flavors")
        return sorted(found, key=lambda flavor: (flavor["ram"], flavor["disk"]))

    def create_flavors(self, name):
        """Creates small flavors, which are deleted by their names."""
        for ram in (128, 256):
            flavor = {"name": f"{name}-{ram}", "ram": ram, "vcpus": 1, "disk": 1}
            self.send("POST", "compute", "flavors", {"flavor": flavor})
        return self.flavors()

    def create_image(self, name, project):
        """Creates a public image in a project of the run, with which it is deleted. It is empty: tests don't connect to servers."""
        image = {"name": f"{name}-empty", "owner": project, "visibility": "public"}
        formats = {"disk_format": "raw", "container_format": "bare"}
        created = self.send("POST", "image", "v2/images", {**image, **formats})[1]
        self.send("PUT", "image", f"v2/images/{created['id']}/file", bytes(IMAGE_SIZE))
        return created

    def projects(self, domain):
        return {project["id"] for project in self.list("identity", f"projects?domain_id={domain}", "projects")}

    def left_in_project(self, project):
        """What tests left in a project."""
        for service, path, key in OF_PROJECT:
            for found in self.list(service, path.format(project), key):
                # A service may ignore a filter that it doesn't know.
                if project in (value for field, value in found.items() if field.endswith(("tenant_id", "project_id", "owner"))):
                    # Neutron creates a project's default group whenever the groups are listed, so it can't be deleted before the end.
                    if (key, found.get("name")) != ("security_groups", "default"):
                        yield service, path.partition("?")[0].removesuffix("/detail"), found

    def left_elsewhere(self, name, domain):
        """What tests left outside of projects: keypairs of the domain's users, and what has a name that begins with the domain's."""
        for user in self.list("identity", f"users?domain_id={domain}", "users"):
            for pair in self.list("compute", f"os-keypairs?user_id={user['id']}", "keypairs"):
                pair = pair["keypair"]["name"]
                yield "compute", "os-keypairs", {"name": pair, "id": f"{urllib.parse.quote(pair, safe='')}?user_id={user['id']}"}
        for service, path, key in NAMED:
            for found in self.list(service, path, key):
                if (found.get("name") or "").startswith(f"{name}-"):
                    yield service, path.partition("?")[0], found

    def delete(self, service, path, found):
        if path == "domains":
            self.try_to("PATCH", service, f"{path}/{found['id']}", {"domain": {"enabled": False}})
        for host in found.get("hosts", []) if path == "os-aggregates" else []:
            self.try_to("POST", service, f"{path}/{found['id']}/action", {"remove_host": {"host": host}})
        if found.get("device_owner", "").startswith("network:router_interface"):
            router = f"v2.0/routers/{found['device_id']}/remove_router_interface"
            return self.try_to("PUT", service, router, {"port_id": found["id"]})
        return self.try_to("DELETE", service, f"{path}/{found['id']}")

    def clean(self, name, owner, deleted=frozenset()):
        """Deletes what runs created, if there was one, and returns the names of what is left: with its domain Keystone deletes users and
        projects. Something may also be left in projects that were already deleted."""
        for _ in range(TRIES):
            if not (domains := self.domains(name, owner)):
                return []
            for domain in domains:
                projects = {*deleted, *remembered(domain), *self.projects(domain["id"])}
                if left := self.clean_domain(name, domain, projects):
                    return left
        return [f"domain {name}" for _ in self.domains(name, owner)]

    def clean_domain(self, name, domain, projects):
        """Deletes a domain and all that belongs to it, and returns the names of what is left. The domain stays where something is left,
        since it says which projects that may be in."""
        filled, end = projects, time.monotonic() + CLEANING
        for remaining in reversed(range(PASSES)):
            left, filled, unknown = self.left(name, domain, filled, end)
            if not ((left or unknown) and remaining) or time.monotonic() > end:
                break
            for one in left:
                self.delete(*one)
            time.sleep(PAUSE)
        if left or unknown:
            self.try_to("PATCH", "identity", f"domains/{domain['id']}", tags([*(projects - {*filled}), *filled]))
            return sorted(described(*one) for one in left) + unknown
        for project in projects:
            for group in self.list("network", f"v2.0/security-groups?project_id={project}&name=default", "security_groups"):
                if project in (group.get("project_id"), group.get("tenant_id")):
                    self.delete("network", "v2.0/security-groups", group)
        self.delete("identity", "domains", domain)
        return []

    def left(self, name, domain, projects, end):
        """What tests left, the projects that it is in, and what can't be listed, which may be left too. Nothing is listed after the end."""
        left, filled, unknown = [], [], []
        for project in projects:
            found, why = all_of(self.left_in_project(project), f"project {project}", end)
            left, unknown = left + found, unknown + why
            if found or why:
                filled.append(project)
        if not filled:
            left, unknown = all_of(self.left_elsewhere(name, domain["id"]), f"domain {name}", end)
        return left, filled, unknown


class Deleted(threading.Thread):
    """The projects that a domain has had: Tempest deletes those of its tests even if something is left in them, and then nothing else
    says whose that is."""

    def __init__(self, identity, domain):
        super().__init__(daemon=True)
        self.identity, self.domain, self.seen, self.ended = identity, domain, [], threading.Event()

    def run(self):
        cloud, kept = None, []
        while not self.ended.wait(PAUSE):
            try:
                # Runs may take longer than tokens are valid.
                cloud = cloud or Cloud(self.identity)
                self.seen = list(dict.fromkeys([*self.seen, *cloud.projects(self.domain)]))
                if kept != self.seen:
                    cloud.send("PATCH", "identity", f"domains/{self.domain}", tags(self.seen))
                    kept = self.seen
            except FAILURES:
                cloud = None


def tags(projects):
    """The change of a domain that keeps the IDs of its projects, of the last ones where there are too many: if something is left in a
    project that is deleted, the next run finds it by them."""
    kept = projects[-TAGS * IDS :]
    return {"domain": {"tags": [TAG + ".".join(kept[first : first + IDS]) for first in range(0, len(kept), IDS)]}}


def remembered(domain):
    """The projects of which a domain has the IDs."""
    ids = (tag.removeprefix(TAG).split(".") for tag in domain.get("tags", []) if tag.startswith(TAG))
    return {project for some in ids for project in some if project}


def all_of(listing, of, end):
    """All that a listing finds until it fails, if it does, and what is unknown then."""
    found = []
    try:
        if time.monotonic() > end:
            raise TimeoutError("the time for it is over")
        for one in listing:
            found.append(one)
    except FAILURES as error:
        print(f"list {of}: {error}")
        return found, [f"whatever is in {of}, which can't be listed: {error}"]
    return found, []


def described(service, path, found):
    """The kind and the name of what is left, for instance: server tempest-5f2d-a."""
    kind = path.rpartition("/")[2].removeprefix("os-").removesuffix("s").replace("_", " ").replace("-", " ")
    return f"{kind} {found.get('name') or found['id']}"


def read(path):
    with open(path) as file:
        return file.read()
