"""Runs Tempest as an administrator that exists only during the run, and writes the results to the termination message.

What the user has to correct is a result too: only what may work at the next try ends with an error.
"""

import configparser
import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback

from cloud import FAILURES, PAUSE, SERVICES, TRIES, Cloud, Deleted, Refused, read

CONFIG = "/etc/tempest/config/tempest.conf"
TESTS = "/etc/tempest/config/tests.json"
WORKSPACE = "/tmp/tempest"
MESSAGE = "/dev/termination-log"
# A volume, where logs outlast their pods, and how many it keeps.
LOGS, KEPT = "/var/log/tempest", 10
# What a log has of a user of tests: requests with passwords and keys in JSON.
SECRET = re.compile(r'("[^"]*(?:pass|secret|token|key|blob)[^"]*": *")(?:[^"\\]|\\.)*', re.IGNORECASE)

# Kubernetes keeps 4096 bytes of a termination message.
MESSAGE_SIZE = 4000
NAMES = 20
# What a report has names of: failed tests, skipped ones, and what is left in the cloud.
LISTS = ("failures", "skips", "left")
# The longest line of a skipped test, in characters.
LINE = 1000
# Why scenarios that connect to servers are skipped.
LEFT_OUT = "it connects to servers, which pods don't reach, and [validation] run_validation is false"
# What Tempest calls it.
OTHER_NAMES = {"object_storage": "object-store"}
# Its tag of tests of Horizon, which no catalogue has. Tempest takes it for available.
DASHBOARD = "dashboard"
# Scenarios that connect to servers whatever [validation] run_validation says (create_server in Tempest's scenario/manager.py).
CONNECTING = re.compile(
    r"tempest\.scenario\.test_(instances_with_cinder_volumes|minimum_basic|network_advanced_server_ops|network_basic_ops|network_v6"
    r"|security_groups_basic_ops|shelve_instance|snapshot_pattern|stamp_pattern|volume_backup_restore|volume_boot_pattern"
    r"|volume_migrate_attached)\."
)


def discovered(cloud, name, project, services, network):
    """Options that depend on the cloud: small flavors, a public image, an external network, if possible of this name, and Neutron's
    extensions. Where the tests need flavors and images, and the cloud has none, it gets some."""
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
    if cloud.volumes:
        # Its default differs between versions of Tempest.
        options["volume"] = {"catalog_type": cloud.volumes}
    for option, found in (("flavor_ref", flavors), ("image_ref", images)):
        for field, one in zip((option, option + "_alt"), (found + found[-1:])[:2]):
            options["compute"][field] = one["id"]
    named = [found for found in networks if found.get("name") == network]
    if networks:
        options["network"]["public_network_id"] = (named or networks)[0]["id"]
    # Otherwise Tempest expects all that there are, also those that OVN doesn't have, for instance dvr.
    extensions = sorted(extension["alias"] for extension in cloud.list("network", "v2.0/extensions", "extensions"))
    if extensions:
        options["network-feature-enabled"] = {"api_extensions": ",".join(extensions)}
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
    return {OTHER_NAMES.get(use, use) for use in uses} & {*SERVICES, DASHBOARD}


def select(names, services, include, exclude):
    """The tests to run."""
    include, exclude = expression("includeRegex", include), exclude and expression("excludeRegex", exclude)
    wanted = [name for name in names if include.search(name) and not (exclude and exclude.search(name))]
    chosen = [name for name in wanted if used(name) <= services]
    if not chosen:
        fields = "spec.tests.services" if wanted else "spec.tests.includeRegex and excludeRegex"
        raise Refused(f"{fields} leave none of Tempest's {len(names)} tests: change them, for instance to the include tempest\\.api")
    return chosen


def connecting(chosen, config):
    """The tests that connect to servers, unless the user says that they can."""
    if config.getboolean("validation", "run_validation", fallback=False):
        return []
    found = [name for name in chosen if CONNECTING.match(name)]
    if len(found) == len(chosen):
        raise Refused(
            "spec.tests chooses only tests that connect to servers, which pods don't reach: choose others, or set [validation] "
            "run_validation in spec.extraConfig where they do"
        )
    return found


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
    """The results of a run in a stream of subunit, and the skipped tests, each with its reason."""
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
    failures, skips = ({name.partition("[")[0] for name in names[how]} for how in ("failed", "skipped"))
    skipped = [(end["id"], reason(end["details"])) for end in ends if end["status"] == "skip"]
    return {**counts, "failures": sorted(failures)[:NAMES], "skips": sorted(skips)[:NAMES]}, skipped


def reason(details):
    """Why a test was skipped."""
    text = details.get("reason")
    return b"".join(text.iter_bytes()).decode(errors="replace") if text else "no reason is given"


def list_skipped(skipped):
    """Lists all skipped tests, each with its reason on a line of its own, in the log of the pod and in a file that is kept with it. A
    report has no room for them."""
    lines = sorted(" ".join(f"SKIPPED {name.partition('[')[0]}: {why}".split())[:LINE] + "\n" for name, why in skipped)
    with open(f"{WORKSPACE}/skips", "w", encoding="utf-8") as file:
        file.writelines(lines)
    print("".join(lines), end="", flush=True)


def run(cloud, name, tests, config, created):
    services = set(tests["services"]) or cloud.available()
    if missing := services - cloud.available():
        raise Refused(f"spec.tests.services has {min(missing)}, which Keystone's catalogue doesn't have in this region: remove it")
    project, account = cloud.create_admin(name, tests["owner"])
    created(account["identity"]["default_domain_id"])
    options = discovered(cloud, name, project, services, tests.get("network"))
    configure({**account, **options})
    tempest = ("tempest", "run", "--config-file", f"{WORKSPACE}/tempest.conf")
    call("stestr", "--test-path", ".", "init")
    listed, status = call(*tempest, "--list-tests", stdout=subprocess.PIPE)
    names = [line for line in listed.splitlines() if line.startswith("tempest.")]
    if status or not names:
        raise RuntimeError("Tempest can't list its tests")
    chosen = select(names, services, tests["include"], tests["exclude"])
    left_out = connecting(chosen, config)
    with open(f"{WORKSPACE}/tests", "w") as file:
        file.writelines(f"{name}\n" for name in chosen if name not in left_out)
    call(*tempest, "--load-list", "tests", "--concurrency", str(tests["concurrency"]))
    with open(f"{WORKSPACE}/failures", "w") as file:
        call("stestr", "last", stdout=file)
    last = subprocess.Popen(["stestr", "last", "--subunit"], cwd=WORKSPACE, stdout=subprocess.PIPE)
    results, skipped = counted(last.stdout)
    if not any(results[how] for how in ("passed", "failed", "skipped")):
        raise RuntimeError("Tempest ended without a result")
    why = lacking(chosen, [name for name, _ in skipped], options, config)
    list_skipped([*skipped, *((name, LEFT_OUT) for name in left_out)])
    skips = {*results["skips"], *(name.partition("[")[0] for name in left_out)}
    return {**results, "skipped": results["skipped"] + len(left_out), "skips": sorted(skips)[:NAMES], "lacking": why}


def attempt():
    """Runs the tests once, and returns the report."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(WORKSPACE, exist_ok=True)
    os.environ["HOME"] = WORKSPACE
    config = configparser.RawConfigParser(strict=False)
    config.read(CONFIG)
    identity, name, tests = config["identity"], config["DEFAULT"]["resource_name_prefix"], json.loads(read(TESTS))
    report, owner, watches = {}, tests["owner"], []
    if left := cleaned(identity, name, owner):
        error = f"what an interrupted run left can't be deleted: {', '.join(left[:NAMES])}"
        return {"error": error[:1000], **remains(left)}

    def created(domain):
        watches.append(Deleted(identity, domain))
        watches[-1].start()

    try:
        report = run(Cloud(identity), name, tests, config, created)
    except Refused as refused:
        report = {"refused": str(refused)}
    except Exception as error:
        # Whether it left something is known nevertheless.
        report = failed(error)
    finally:
        report.update(remains(clean(identity, name, owner, watches)))
        keep_log(report)
    return report


def failed(error):
    """The report of a run that an error ended."""
    traceback.print_exc()
    return {"error": str(error)[:1000]}


def remains(left):
    """What a report says of what is left."""
    return {"left": left[:NAMES], "cleaned": not left}


def cleaned(identity, name, owner, deleted=frozenset()):
    """Deletes what runs created, and returns the names of what is left. It has a token of its own: runs may take longer than tokens are
    valid."""
    for remaining in reversed(range(TRIES)):
        try:
            return Cloud(identity).clean(name, owner, deleted)
        except FAILURES as error:
            if not remaining:
                raise
            print(f"clean domain {name}: {error}")
            time.sleep(PAUSE)


def clean(identity, name, owner, watches):
    """Deletes what a run created, and returns the names of what is left."""
    for watch in watches:
        watch.ended.set()
    try:
        return cleaned(identity, name, owner, frozenset().union(*(watch.seen for watch in watches)))
    except FAILURES as error:
        # The results of the tests count nevertheless.
        traceback.print_exc()
        return [f"whatever is in domain {name}, which can't be listed: {error}"]


def keep_log(report):
    """Keeps the report, the skipped tests, the failures and Tempest's log on the volume, where there is one, instead of the oldest ones
    there."""
    if not os.path.isdir(LOGS):
        return
    part = f"{LOGS}/part"
    try:
        kept = sorted(name for name in os.listdir(LOGS) if name.endswith(".log.gz"))
        for name in kept[: max(0, len(kept) - KEPT + 1)]:
            os.remove(f"{LOGS}/{name}")
        with gzip.open(part, "wt", encoding="utf-8") as log:
            log.write(json.dumps(report) + "\n")
            for name in ("skips", "failures", "tempest.log"):
                if os.path.exists(f"{WORKSPACE}/{name}"):
                    with open(f"{WORKSPACE}/{name}", encoding="utf-8", errors="replace") as file:
                        log.writelines(SECRET.sub(r"\1***", line) for line in file)
        os.replace(part, time.strftime(f"{LOGS}/%Y-%m-%dT%H-%M-%SZ.log.gz", time.gmtime()))
    except OSError:
        # The results of the tests count nevertheless.
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            os.remove(part)


def message(report):
    """The report in JSON, with as many names as Kubernetes keeps."""
    while len(text := json.dumps(report)) > MESSAGE_SIZE:
        longest = max((report.get(names) or [] for names in LISTS), key=lambda names: sum(map(len, names)))
        if not longest:
            break
        longest.pop()
    return text


def main():
    started = time.monotonic()
    try:
        report = attempt()
    except Exception as error:
        report = failed(error)
    report["seconds"] = round(time.monotonic() - started)
    print(json.dumps(report))
    with open(MESSAGE, "w") as file:
        file.write(message(report))
    sys.exit(1 if "error" in report else 0)


if __name__ == "__main__":
    main()
