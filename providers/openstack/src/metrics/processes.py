"""The processes of a pod and the calls that they send over the message bus, as Prometheus reads them. Arguments: the port to answer on
and, where the program reports its calls, the socket that it reports them to.

The containers of the pod share a process namespace. Calls are counted until the program has ended: it would wait for a socket that nobody
reads.
"""

import bisect
import contextlib
import http.server
import json
import os
import signal
import socket
import socketserver
import sys
import threading
import time

PORT, SOCKETS = int(sys.argv[1]), sys.argv[2:]
# Seconds that whoever asks may take.
PATIENCE = 3
# Seconds after which a process counts: those that probes start end before.
AGE = 10
# The first process is that of the pod itself.
OTHERS = {"1", str(os.getpid())}
# The most processes of one name: a proxy has one for each connection.
MOST_OF_NAME = 16

# Of https://docs.openstack.org/oslo.metrics: what is reported, and the labels with few values. The server that is called isn't one.
LABELS = ("call_type", "topic", "method")
CALLS = {
    "rpc_client_invocation_start_total": LABELS,
    "rpc_client_invocation_end_total": LABELS,
    "rpc_client_exception_total": (*LABELS, "exception"),
    "rpc_client_processing_seconds": LABELS,
}
BUCKETS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 25, 50, 75, 100)
# The most combinations of labels, so that memory is bounded.
MOST = 1000

counted = {}
lock = threading.Lock()
# Name and number of each process, by its ID.
numbers = {}


def said():
    """ID, name and further fields of each process of the program, as proc_pid_stat(5) has them."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        # One that has ended is not there any more.
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", errors="replace") as stat:
                name, _, fields = stat.read().partition("(")[2].rpartition(") ")
            if pid not in OTHERS and fields[0] != "Z":
                found.append((pid, name, fields.split()))
    return found


def numbered(processes):
    """Numbers processes of one name. One that starts takes the number of one that has ended: with an ID as label, each connection of a
    proxy and each copy of a volume would have series of its own."""
    for pid in numbers.keys() - {pid for pid, *_ in processes}:
        del numbers[pid]
    for pid, name, fields in processes:
        if numbers.get(pid, (None,))[0] != name:
            numbers.pop(pid, None)
            free = set(range(MOST_OF_NAME)) - {number for other, number in numbers.values() if other == name}
            if not free:
                continue
            numbers[pid] = name, min(free)
        yield pid, labelled(process=name, number=numbers[pid][1]), fields


def files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def lines(processes):
    second, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    with open("/proc/stat") as stat:
        booted = next(int(line.split()[1]) for line in stat if line.startswith("btime "))
    oldest = (time.clock_gettime(time.CLOCK_BOOTTIME) - AGE) * second
    processes = list(numbered([one for one in processes if int(one[2][19]) <= oldest]))
    metrics = [
        ("cpu_seconds_total", "counter", lambda _, fields: (int(fields[11]) + int(fields[12])) / second),
        ("threads", "gauge", lambda _, fields: int(fields[17])),
        ("start_time_seconds", "gauge", lambda _, fields: booted + int(fields[19]) / second),
        ("virtual_memory_bytes", "gauge", lambda _, fields: int(fields[20])),
        ("resident_memory_bytes", "gauge", lambda _, fields: int(fields[21]) * page),
        ("open_fds", "gauge", lambda pid, _: files(pid)),
    ]
    for metric, kind, value in metrics:
        yield f"# TYPE process_{metric} {kind}"
        for pid, labels, fields in processes:
            with contextlib.suppress(OSError):
                yield f"process_{metric}{labels} {value(pid, fields)}"
    yield from calls()


def calls():
    with lock:
        copied = sorted((name, values, list(counts)) for (name, values), counts in counted.items())
    for metric, labels in CALLS.items():
        is_duration = metric.endswith("_seconds")
        full = f"oslo_messaging_{metric}"
        yield f"# TYPE {full} {'histogram' if is_duration else 'counter'}"
        for _, values, counts in (one for one in copied if one[0] == metric):
            call = dict(zip(labels, values))
            if not is_duration:
                yield f"{full}{labelled(**call)} {counts[0]}"
                continue
            *counts, seconds = counts
            total = 0
            for most, count in zip((*BUCKETS, "+Inf"), counts):
                total += count
                yield f"{full}_bucket{labelled(**call, le=most)} {total}"
            yield f"{full}_sum{labelled(**call)} {seconds}"
            yield f"{full}_count{labelled(**call)} {total}"


def labelled(**labels):
    def quoted(value):
        return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    return "{" + ",".join(f'{label}="{quoted(value)}"' for label, value in labels.items()) + "}"


def count(report):
    """Counts what a process reports of a call, in the format of oslo_metrics/message_type.py."""
    report = json.loads(report)
    metric, seconds = report["name"], report["action"]["value"]
    key = metric, tuple(str(report["labels"][label]) for label in CALLS[metric])
    is_duration = metric.endswith("_seconds")
    bucket = bisect.bisect_left(BUCKETS, float(seconds)) if is_duration else 0
    with lock:
        if key in counted or len(counted) < MOST:
            counts = counted.setdefault(key, [0] * (len(BUCKETS) + 2 if is_duration else 1))
            counts[bucket] += 1
            if is_duration:
                counts[-1] += float(seconds)


def receive(reports):
    while threading.main_thread().is_alive() or said():
        # What isn't a report is nothing to count.
        with contextlib.suppress(TimeoutError, ValueError, LookupError, TypeError):
            count(reports.recv(1 << 16))


for path in SOCKETS:
    # That of a container that ran before.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    bound.bind(path)
    bound.settimeout(1)
    threading.Thread(target=receive, args=(bound,)).start()
