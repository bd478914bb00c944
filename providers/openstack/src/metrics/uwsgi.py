"""What uwsgi says of itself, as Prometheus reads it. Arguments: the port that uwsgi says it on, the port to answer on.

A pod with a container that doesn't run gets no requests, so nothing ends this but SIGTERM: it has little to do, and does one
thing at a time.
"""

import http.server
import json
import signal
import socket
import socketserver
import sys

SAID, PORT = (int(port) for port in sys.argv[1:])
# Seconds that uwsgi, or whoever asks, may take.
PATIENCE = 3
# uwsgi counts times in microseconds.
MICRO = 1e-6

# Field of uwsgi's, factor, name and kind as https://github.com/timonwong/uwsgi_exporter has them.
ALL = [
    ("listen_queue", 1, "uwsgi_listen_queue_length", "gauge"),
    ("listen_queue_errors", 1, "uwsgi_listen_queue_errors", "gauge"),
    ("signal_queue", 1, "uwsgi_signal_queue_length", "gauge"),
]
WORKER = [
    ("requests", 1, "uwsgi_worker_requests_total", "counter"),
    ("exceptions", 1, "uwsgi_worker_exceptions_total", "counter"),
    ("harakiri_count", 1, "uwsgi_worker_harakiri_count_total", "counter"),
    ("respawn_count", 1, "uwsgi_worker_respawn_count_total", "counter"),
    ("tx", 1, "uwsgi_worker_transmitted_bytes_total", "counter"),
    ("busy", 1, "uwsgi_worker_busy", "gauge"),
    ("accepting", 1, "uwsgi_worker_accepting", "gauge"),
    ("avg_rt", MICRO, "uwsgi_worker_average_response_time_seconds", "gauge"),
    ("running_time", MICRO, "uwsgi_worker_running_time_seconds", "gauge"),
    ("last_spawn", 1, "uwsgi_worker_last_spawn_time_seconds", "gauge"),
    ("rss", 1, "uwsgi_worker_rss_bytes", "gauge"),
    ("vsz", 1, "uwsgi_worker_vss_bytes", "gauge"),
]


def said():
    """What uwsgi says; nothing before it runs and after it ended."""
    try:
        with socket.create_connection(("127.0.0.1", SAID), PATIENCE) as connection:
            return json.load(connection.makefile())
    except (OSError, ValueError):
        return None


def lines(stats):
    yield "# TYPE uwsgi_up gauge"
    yield f"uwsgi_up {int(stats is not None)}"
    if stats is None:
        return
    for field, factor, name, kind in ALL:
        yield f"# TYPE {name} {kind}"
        yield f"{name} {stats[field] * factor}"
    for field, factor, name, kind in WORKER:
        yield f"# TYPE {name} {kind}"
        for worker in stats["workers"]:
            worker["busy"] = int(worker["status"] == "busy")
            yield f'{name}{{worker_id="{worker["id"]}"}} {worker[field] * factor}'
