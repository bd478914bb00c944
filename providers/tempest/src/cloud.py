"""The cloud that Tempest tests: its APIs, and what a run creates in it and deletes."""

import json
import secrets
import ssl
import threading
import time
import urllib.error
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
        if "block-storage" in self.endpoints:
            self.endpoints.setdefault("volumev3", self.endpoints["block-storage"])

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
        except urllib.error.HTTPError as error:
            print(f"{method} {path}: {error}")

    def available(self):
        """The services in the catalogue, as Tempest calls them."""
        return {name for name, (_, types) in SERVICES.items() if any(type_ in self.endpoints for type_ in types)}

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
        for domain in self.domains(name, owner):
            if left := self.clean_domain(name, domain, deleted | self.projects(domain["id"])):
                return sorted(described(*one) for one in left)
        return [f"domain {name}" for _ in self.domains(name, owner)]

    def clean_domain(self, name, domain, projects):
        """Deletes a domain and all that belongs to it, and returns what is left."""
        filled = projects
        for remaining in reversed(range(PASSES)):
            left = {project: list(self.left_in_project(project)) for project in filled}
            filled = [project for project, found in left.items() if found]
            left = [one for found in left.values() for one in found] or list(self.left_elsewhere(name, domain["id"]))
            if not (left and remaining):
                break
            for one in left:
                self.delete(*one)
            time.sleep(PAUSE)
        for project in projects:
            for group in self.list("network", f"v2.0/security-groups?project_id={project}&name=default", "security_groups"):
                if project in (group.get("project_id"), group.get("tenant_id")):
                    self.delete("network", "v2.0/security-groups", group)
        if not left:
            self.delete("identity", "domains", domain)
        return left


class Deleted(threading.Thread):
    """The projects that a domain has had: Tempest deletes those of its tests even if something is left in them, and then nothing else
    says whose that is."""

    def __init__(self, identity, domain):
        super().__init__(daemon=True)
        self.identity, self.domain, self.seen, self.ended = identity, domain, set(), threading.Event()

    def run(self):
        cloud = None
        while not self.ended.wait(PAUSE):
            try:
                # Runs may take longer than tokens are valid.
                cloud = cloud or Cloud(self.identity)
                self.seen |= cloud.projects(self.domain)
            except (OSError, LookupError, ValueError):
                cloud = None


def described(service, path, found):
    """The kind and the name of what is left, for instance: server tempest-5f2d-a."""
    kind = path.rpartition("/")[2].removeprefix("os-").removesuffix("s").replace("_", " ").replace("-", " ")
    return f"{kind} {found.get('name') or found['id']}"


def read(path):
    with open(path) as file:
        return file.read()
