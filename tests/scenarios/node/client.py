"""What users and administrators of a cloud do, as a pod that finds Keystone by its Service and all else by the catalogue."""

import hashlib
import json
import os
import ssl
import sys
import time
import urllib.parse

import requests
from keystoneauth1 import session
from keystoneauth1.identity import v3

NAMESPACE = os.environ["NAMESPACE"]
AUTHORITY = "/authority/ca.crt"
ENCRYPTED = os.path.exists(AUTHORITY)
KEYSTONE = f"{'https' if ENCRYPTED else 'http'}://keystone.{NAMESPACE}.svc:5000/v3"
HERE = {"user_domain_id": "default", "project_domain_id": "default"}
SERVICES = {
    "glance": ("image", f"http://glance.{NAMESPACE}.svc:9292"),
    "placement": ("placement", f"http://placement.{NAMESPACE}.svc:8778"),
}


def login(user, password, project):
    way = v3.Password(KEYSTONE, username=user, password=password, project_name=project, **HERE)
    return connected(way)


def connected(way):
    return session.Session(way, verify=AUTHORITY if ENCRYPTED else True)


def administrator():
    return login("admin", os.environ["PASSWORD"], "admin")


def administrator_asks():
    keystone = administrator()

    def ask(method, path, body=None):
        answer = keystone.request(KEYSTONE + path, method, json=body)
        return answer.json() if answer.content else None

    return ask


def credentials():
    """Enters all services into the catalogue; says an application credential for each."""
    ask = administrator_asks()

    project = ask("GET", "/projects?name=service")["projects"][0]["id"]
    role = ask("GET", "/roles?name=service")["roles"][0]["id"]
    said = {}
    for name, (kind, url) in SERVICES.items():
        password = hashlib.sha256(os.urandom(32)).hexdigest()
        service = ask("POST", "/services", {"service": {"name": name, "type": kind}})["service"]["id"]
        endpoint = {"interface": "public", "service_id": service, "region_id": "RegionOne", "url": url}
        ask("POST", "/endpoints", {"endpoint": endpoint})
        wanted = {"name": name, "domain_id": "default", "password": password}
        user = ask("POST", "/users", {"user": wanted})["user"]["id"]
        ask("PUT", f"/projects/{project}/users/{user}/roles/{role}")
        theirs = login(name, password, "service")
        path = f"{KEYSTONE}/users/{user}/application_credentials"
        made = theirs.post(path, json={"application_credential": {"name": name}}).json()
        said[name] = {key: made["application_credential"][key] for key in ("id", "secret")}
    print(json.dumps(said))


def images():
    """Stores an image and fetches it again."""
    glance = administrator()
    where = {"endpoint_filter": {"service_type": "image", "interface": "public"}}
    image = os.urandom(1 << 20)
    wanted = {"name": "noise", "disk_format": "raw", "container_format": "bare"}
    path = "/v2/images/" + glance.post("/v2/images", json=wanted, **where).json()["id"]
    binary = {"Content-Type": "application/octet-stream"}
    glance.put(path + "/file", data=image, headers=binary, **where)
    stored = glance.get(path, **where).json()
    fetched = glance.get(path + "/file", **where).content
    assert stored["status"] == "active", stored
    assert stored["os_hash_value"] == hashlib.new(stored["os_hash_algo"], image).hexdigest(), stored
    assert fetched == image, len(fetched)
    print(stored["os_hash_algo"])


def downloads():
    """Has Glance import images from URLs: it takes those of other hosts at usual ports, and refuses the rest before it asks them."""
    glance = administrator()
    where = {"endpoint_filter": {"service_type": "image", "interface": "public"}}
    wanted = {"name": "downloaded", "disk_format": "raw", "container_format": "bare"}
    said = {}
    for url in (
        "http://203.0.113.7/image",
        "http://203.0.113.7:22/image",
        "file:///etc/glance/glance-api.conf",
        "http://127.0.0.1/image",
        "http://localhost/image",
        "http://169.254.169.254/latest/meta-data",
        "https://kubernetes.default.svc/api",
    ):
        path = "/v2/images/" + glance.post("/v2/images", json=wanted, **where).json()["id"]
        method = {"method": {"name": "web-download", "uri": url}}
        answer = glance.post(path + "/import", json=method, raise_exc=False, **where)
        said[url] = answer.status_code
        if answer.status_code == 202:
            # A task that has begun would write the image back.
            for _ in range(120):
                tasks = glance.get(path + "/tasks", **where).json()["tasks"]
                if tasks and tasks[0]["status"] in ("success", "failure"):
                    break
                time.sleep(0.5)
        glance.delete(path, **where)
    first, *others = said.values()
    assert first == 202 and set(others) == {400}, said


def stores():
    """Stores an image, copies it to the bucket, fetches it when it is only there any more, and again from the cache."""
    glance = administrator()
    where = {"endpoint_filter": {"service_type": "image", "interface": "public"}}
    bucket = f"http://objects.{NAMESPACE}.svc:9000/images"
    keys = ("glance", "of-glance")
    requests.put(bucket, auth=keys, timeout=60).raise_for_status()
    image = os.urandom(1 << 20)
    wanted = {"name": "copied", "disk_format": "raw", "container_format": "bare"}
    id = glance.post("/v2/images", json=wanted, **where).json()["id"]
    path = f"/v2/images/{id}"
    binary = {"Content-Type": "application/octet-stream"}
    glance.put(path + "/file", data=image, headers=binary, **where)
    copy = {"method": {"name": "copy-image"}, "stores": ["archive"]}
    glance.post(path + "/import", json=copy, **where)
    # Until the task ends it may write back what it has read.
    for _ in range(120):
        tasks = glance.get(path + "/tasks", **where).json()["tasks"]
        if tasks and all(task["status"] == "success" for task in tasks):
            break
        time.sleep(0.5)
    known = glance.get(path, **where).json()
    assert known["stores"] == "file,archive", known
    glance.delete(f"/v2/stores/file/{id}", **where)
    known = glance.get(path, **where).json()
    fetched = glance.get(path + "/file", **where).content
    assert hashlib.new(known["os_hash_algo"], fetched).hexdigest() == known["os_hash_value"], known
    assert fetched == image, len(fetched)
    kept = requests.get(f"{bucket}/{id}", auth=keys, timeout=60)
    assert kept.content == image, kept
    requests.delete(f"{bucket}/{id}", auth=keys, timeout=60).raise_for_status()
    assert requests.get(f"{bucket}/{id}", auth=keys, timeout=60).status_code == 404
    cached = glance.get(path + "/file", **where).content
    assert cached == image, len(cached)
    print(known["stores"])


def token():
    """Logs in as the administrator, and says who that is."""
    print(administrator().get_user_id())


def placement():
    """Asks Placement as a service."""
    way = v3.ApplicationCredential(
        KEYSTONE,
        application_credential_id=os.environ["ID"],
        application_credential_secret=os.environ["SECRET"],
    )
    where = {"endpoint_filter": {"service_type": "placement", "interface": "public"}}
    service = connected(way)
    versions = service.get("/", **where).json()["versions"]
    assert service.get("/resource_providers", **where).json() == {"resource_providers": []}
    print(versions[0]["id"])


def certificate():
    """Says which certificate Glance shows."""
    print(ssl.get_server_certificate((f"glance.{NAMESPACE}.svc", 9292)))


def messages():
    """Connects to the message bus as a service does, and receives from a quorum queue what it has sent there."""
    from kombu import Connection, Queue

    url = urllib.parse.urlsplit(os.environ["TRANSPORT"])
    verified = {"ca_certs": AUTHORITY, "cert_reqs": ssl.CERT_REQUIRED, "server_hostname": url.hostname}
    queue = Queue("letters", routing_key="letters", queue_arguments={"x-queue-type": "quorum"})
    with Connection(url.geturl(), ssl=verified) as connection:
        with connection.SimpleQueue(queue) as letters:
            letters.put("a letter")
            message = letters.get(timeout=30)
            message.ack()
            print(message.payload)


def metrics():
    """Sees the counters of those that are monitored grow with the requests."""
    for name, url in [("keystone", KEYSTONE), ("placement", SERVICES["placement"][1])]:

        def counted():
            answer = requests.get(f"http://{name}-metrics.{NAMESPACE}.svc:9117/metrics", timeout=10)
            assert answer.headers["Content-Type"].startswith("text/plain"), answer.headers
            lines = [line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#")]
            samples = {metric: float(value) for metric, value in lines}
            assert samples["uwsgi_up"] == 1, answer.text
            assert max(value for metric, value in samples.items() if metric.startswith("uwsgi_worker_rss_bytes{")) > 1 << 20
            return sum(value for metric, value in samples.items() if metric.startswith("uwsgi_worker_requests_total{"))

        before = counted()
        for _ in range(20):
            requests.get(url, timeout=10).raise_for_status()
        after = counted()
        assert after >= before + 20, (name, before, after)
        print(name)


def federation():
    """Lets users of Dex in, comes as one of them, by a program and by a dashboard, and as one who isn't."""
    ask = administrator_asks()

    def described(token):
        headers = {"X-Auth-Token": token, "X-Subject-Token": token}
        return requests.get(KEYSTONE + "/auth/tokens", headers=headers, timeout=30).json()["token"]

    issuer, authority = "https://people.openstack.svc:5556/dex", "/people/ca.crt"
    group = ask("POST", "/groups", {"group": {"name": "people"}})["group"]["id"]
    project = ask("GET", "/projects?name=service")["projects"][0]["id"]
    role = ask("GET", "/roles?name=reader")["roles"][0]["id"]
    ask("PUT", f"/projects/{project}/groups/{group}/roles/{role}")
    ask("PUT", "/OS-FEDERATION/identity_providers/dex", {"identity_provider": {"remote_ids": [issuer], "enabled": True}})
    local = [{"user": {"name": "{0}"}}, {"group": {"id": group}}]
    # The second is as an administrator may have it from elsewhere: it asks for headers.
    headers = {"remote_id_attribute": "HTTP_OIDC_CLAIM_ISS"}
    for protocol, claim, more in (("openid", "OIDC_CLAIM_sub", {}), ("headers", "HTTP_OIDC_CLAIM_SUB", headers)):
        rules = [{"local": local, "remote": [{"type": claim}]}]
        ask("PUT", f"/OS-FEDERATION/mappings/{protocol}", {"mapping": {"rules": rules}})
        way = {"protocol": {"mapping_id": protocol, **more}}
        ask("PUT", f"/OS-FEDERATION/identity_providers/dex/protocols/{protocol}", way)

    alice = {"username": "alice@example.com", "password": "of-alice"}
    way = v3.OidcPassword(
        KEYSTONE,
        "dex",
        "openid",
        "keystone",
        "of-keystone",
        access_token_endpoint=issuer + "/token",
        scope="openid email",
        project_id=project,
        **alice,
    )
    known = described(session.Session(way, verify=authority).get_token())
    assert known["roles"][0]["name"] == "reader", known

    browser = requests.Session()
    browser.verify = authority
    origin = "http://dashboard.example.com/auth/websso/"
    form = browser.get(f"{KEYSTONE}/auth/OS-FEDERATION/websso/openid?origin={origin}", timeout=30)
    page = browser.post(form.url, data={"login": alice["username"], "password": alice["password"]}, timeout=30).text
    assert f'action="{origin}"' in page, page
    token = page.split('name="token"')[1].split('value="')[1].split('"')[0]
    assert described(token)["user"] == known["user"], page

    grant = {"grant_type": "password", "scope": "openid email", **alice}
    others = requests.post(issuer + "/token", data=grant, auth=("wiki", "of-wiki"), verify=authority, timeout=30).json()["access_token"]
    claims = {"iss": issuer, "sub": "admin"}
    forged = [{f"{prefix}{claim}": said for claim, said in claims.items()} for prefix in ("OIDC_CLAIM_", "OIDC-CLAIM-", "OIDC-")]
    for headers in ({}, *forged, {"Authorization": f"Bearer {others}"}):
        for protocol in ("openid", "headers"):
            path = f"/OS-FEDERATION/identity_providers/dex/protocols/{protocol}/auth"
            answer = requests.get(KEYSTONE + path, headers=headers, timeout=30)
            assert answer.status_code == 401, (protocol, list(headers), answer.status_code, answer.text)
            way = {"identity": {"methods": ["mapped"], "mapped": {"identity_provider": "dex", "protocol": protocol}}}
            answer = requests.post(KEYSTONE + "/auth/tokens", json={"auth": way}, headers=headers, timeout=30)
            assert answer.status_code in (400, 401), (protocol, list(headers), answer.status_code, answer.text)
    print(known["user"]["name"])


TASKS = (credentials, images, downloads, stores, token, placement, certificate, messages, metrics, federation)
{task.__name__: task for task in TASKS}[sys.argv[1]]()
