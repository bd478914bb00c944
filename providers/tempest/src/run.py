"""Runs Tempest as an administrator that exists only during the run, and writes the results to the termination message.

What the user has to correct is a result too: only what may work at the next try ends with an error.
"""

import configparser
import json
import os
import re
import secrets
import signal
import ssl
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

CONFIG = "/etc/tempest/config/tempest.conf"
TESTS = "/etc/tempest/config/tests.json"
CREDENTIAL = "/etc/tempest/credential"
WORKSPACE = "/tmp/tempest"
MESSAGE = "/dev/termination-log"

# Kubernetes keeps 4096 bytes of a termination message.
MESSAGE_SIZE = 4000
NAMES = 20

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
# What Tempest calls it.
OTHER_NAMES = {"object_storage": "object-store"}

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
    ("volumev3", "types?is_public=None", "volume_types"),
    ("volumev3", "qos-specs", "qos_specs"),
    ("identity", "users", "users"),
    ("identity", "groups", "groups"),
    ("identity", "projects", "projects"),
    ("identity", "roles", "roles"),
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

    def send(self, method, service, path, body=None):
        request = urllib.request.Request(f"{self.endpoints[service]}/{path}", method=method)
        is_file = isinstance(body, bytes)
        request.add_header("Content-Type", "application/octet-stream" if is_file else "application/json")
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

    def left_in_projects(self, domain):
        """What tests left in the projects of the domain."""
        for project in self.list("identity", f"projects?domain_id={domain}", "projects"):
            for service, path, key in OF_PROJECT:
                for found in self.list(service, path.format(project["id"]), key):
                    # A service may ignore a filter that it doesn't know.
                    if project["id"] in (value for field, value in found.items() if field.endswith(("tenant_id", "project_id", "owner"))):
                        yield service, path.partition("?")[0].removesuffix("/detail"), found

    def left_by_name(self, name):
        """What tests left elsewhere, under names that begin with the domain's."""
        for service, path, key in NAMED:
            for found in self.list(service, path, key):
                if found["name"].startswith(f"{name}-"):
                    yield service, path.partition("?")[0], found

    def delete(self, service, path, found):
        if path == "domains":
            self.try_to("PATCH", service, f"{path}/{found['id']}", {"domain": {"enabled": False}})
        if found.get("device_owner", "").startswith("network:router_interface"):
            router = f"v2.0/routers/{found['device_id']}/remove_router_interface"
            return self.try_to("PUT", service, router, {"port_id": found["id"]})
        return self.try_to("DELETE", service, f"{path}/{found['id']}")

    def clean(self, name, owner):
        """Deletes what a run created, if there was one: with its domain Keystone deletes users and projects."""
        for domain in self.domains(name, owner):
            for _ in range(PASSES):
                left = list(self.left_in_projects(domain["id"])) or list(self.left_by_name(name))
                if not left:
                    self.delete("identity", "domains", domain)
                    break
                for one in left:
                    self.delete(*one)
                time.sleep(PAUSE)
        return not self.domains(name, owner)


def discovered(cloud, name, project, services, network):
    """Options that depend on the cloud: small flavors, a public image, an external network, if possible of this name. Where the tests
    need flavors and images, and the cloud has none, it gets some."""
    flavors = cloud.flavors()
    if not flavors and "compute" in services:
        flavors = cloud.create_flavors(name)
    images = cloud.list("image", "v2/images?visibility=public&status=active&sort=size:asc", "images")
    if not images and "image" in cloud.endpoints and services & {"compute", "image"}:
        images = [cloud.create_image(name, project)]
    networks = cloud.list("network", "v2.0/networks?router:external=true", "networks")
    options = {"service_available": {}, "compute": {}, "network": {}}
    for service, (option, _) in SERVICES.items():
        if option:
            options["service_available"][option] = service in cloud.available()
    for option, found in (("flavor_ref", flavors), ("image_ref", images)):
        for field, one in zip((option, option + "_alt"), (found + found[-1:])[:2]):
            options["compute"][field] = one["id"]
    named = [found for found in networks if found.get("name") == network]
    if networks:
        options["network"]["public_network_id"] = (named or networks)[0]["id"]
    return options


def configure(options):
    """Writes the configuration file: of an option that is given twice, the last value counts, which is the user's."""
    lines = (f"[{section}]\n{name} = {value}\n" for section, given in options.items() for name, value in given.items())
    with open(f"{WORKSPACE}/tempest.conf", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write("".join(lines) + read(CONFIG))


def call(*command, **options):
    """Runs a program in the workspace. None of its processes outlives this one."""
    process = subprocess.Popen(command, cwd=WORKSPACE, start_new_session=True, text=True, **options)
    try:
        return process.communicate()[0], process.returncode
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)


def expression(field, text):
    try:
        return re.compile(text)
    except re.error as error:
        raise Refused(f"spec.tests.{field} is not a valid regular expression of Python, {error}: correct it") from error


def used(name):
    """The services that a test uses: those of its tags, `[id-...,compute,network]`, and of its API."""
    uses = re.findall(r"[\w-]+", name.partition("[")[2]) + re.findall(r"\.api\.(\w+)\.", name)
    return {OTHER_NAMES.get(use, use) for use in uses} & SERVICES.keys()


def select(names, services, include, exclude):
    """The tests to run."""
    include, exclude = expression("includeRegex", include), exclude and expression("excludeRegex", exclude)
    wanted = [name for name in names if include.search(name) and not (exclude and exclude.search(name))]
    chosen = [name for name in wanted if used(name) <= services]
    if not chosen:
        fields = "spec.tests.services" if wanted else "spec.tests.includeRegex and excludeRegex"
        raise Refused(f"{fields} leave none of Tempest's {len(names)} tests: change them, for instance to the include tempest\\.api")
    return chosen


def of_networks(skipped, chosen):
    """Whether one of the skipped tests is of networks. A class that is skipped has no tags, but the chosen tests of the class do."""
    classes = {name.partition("[")[0].rpartition(".")[0] for name in chosen if "network" in used(name)}
    whole = (re.fullmatch(r"setUpClass \((.+)\)", name) for name in skipped)
    return any("network" in used(name) for name in skipped) or any(found and found[1] in classes for found in whole)


def lacking(chosen, skipped, options, config):
    """What the cloud lacks, where Tempest skipped tests of a service without it: so what passes says little of that service."""
    found = options["network"].get("public_network_id") or config.get("network", "public_network_id", fallback=None)
    if found or not of_networks(skipped, chosen):
        return None
    return (
        "the cloud has no external network, without which Tempest skips tests of networks: create one, exclude these tests by "
        "spec.tests.excludeRegex of a Tempest, or test other services only, by spec.tests.services of a Tempest or "
        "spec.verify.services of a claim"
    )


def counted(stream):
    """The results of a run in a stream of subunit, and the skipped tests."""
    import subunit
    import testtools

    ends = []
    result = testtools.StreamToDict(ends.append)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(stream, non_subunit_name="stdout").run(result)
    result.stopTestRun()
    of = {"success": "passed", "xfail": "passed", "skip": "skipped"}
    names = {"passed": [], "failed": [], "skipped": []}
    for end in ends:
        names[of.get(end["status"], "failed")].append(end["id"])
    counts = {how: len(tests) for how, tests in names.items()}
    failures = {name.partition("[")[0] for name in names["failed"]}
    return {**counts, "failures": sorted(failures)[:NAMES]}, names["skipped"]


def run(cloud, name, tests, config):
    services = set(tests["services"]) or cloud.available()
    if missing := services - cloud.available():
        raise Refused(f"spec.tests.services has {min(missing)}, which Keystone's catalogue doesn't have in this region: remove it")
    project, account = cloud.create_admin(name, tests["owner"])
    options = discovered(cloud, name, project, services, tests.get("network"))
    configure({**account, **options})
    tempest = ("tempest", "run", "--config-file", f"{WORKSPACE}/tempest.conf")
    call("stestr", "--test-path", ".", "init")
    listed, status = call(*tempest, "--list-tests", stdout=subprocess.PIPE)
    names = [line for line in listed.splitlines() if line.startswith("tempest.")]
    if status or not names:
        raise RuntimeError("Tempest can't list its tests")
    chosen = select(names, services, tests["include"], tests["exclude"])
    with open(f"{WORKSPACE}/tests", "w") as file:
        file.write("\n".join(chosen) + "\n")
    call(*tempest, "--load-list", "tests", "--concurrency", str(tests["concurrency"]))
    last = subprocess.Popen(["stestr", "last", "--subunit"], cwd=WORKSPACE, stdout=subprocess.PIPE)
    results, skipped = counted(last.stdout)
    if not any(results[how] for how in ("passed", "failed", "skipped")):
        raise RuntimeError("Tempest ended without a result")
    return {**results, "lacking": lacking(chosen, skipped, options, config)}


def attempt():
    """Runs the tests once, and returns the report."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(WORKSPACE, exist_ok=True)
    os.environ["HOME"] = WORKSPACE
    config = configparser.RawConfigParser(strict=False)
    config.read(CONFIG)
    identity, name, tests = config["identity"], config["DEFAULT"]["resource_name_prefix"], json.loads(read(TESTS))
    report, owner = {}, tests["owner"]
    if not Cloud(identity).clean(name, owner):
        raise RuntimeError(f"what an interrupted run left in the domain {name} can't be deleted")
    try:
        report = run(Cloud(identity), name, tests, config)
    except Refused as refused:
        report = {"refused": str(refused)}
    finally:
        report["cleaned"] = clean(identity, name, owner)
    return report


def clean(identity, name, owner):
    """Deletes what a run created, with a token of its own: runs may take longer than tokens are valid."""
    try:
        return Cloud(identity).clean(name, owner)
    except (OSError, LookupError, ValueError):
        # The results of the tests count nevertheless.
        traceback.print_exc()
        return False


def read(path):
    with open(path) as file:
        return file.read()


def message(report):
    """The report in JSON, with as many names as Kubernetes keeps."""
    text = json.dumps(report)
    while len(text) > MESSAGE_SIZE and report.get("failures"):
        report["failures"].pop()
        text = json.dumps(report)
    return text


def main():
    started, status = time.monotonic(), 0
    try:
        report = attempt()
    except Exception as error:
        traceback.print_exc()
        report, status = {"error": str(error)[:1000]}, 1
    report["seconds"] = round(time.monotonic() - started)
    print(json.dumps(report))
    with open(MESSAGE, "w") as file:
        file.write(message(report))
    sys.exit(status)


if __name__ == "__main__":
    main()
