"""A steady load of Keystone: tokens are issued and validated, those from before too; every failure is counted.

Each request has a connection of its own, so that it is the Service which chooses who answers. Once a second a line says
how many requests there were until now, how many of them failed, and of each failure that is new what it was. Asked for
`once`, one token is issued instead.
"""

import collections
import http.client
import json
import os
import sys
import threading
import time

HOST = ("keystone.openstack.svc", 5000)
CLIENTS = 2
# Seconds: whoever waits longer counts as refused.
PATIENCE = 10
PAUSE = 0.15

lock = threading.Lock()
done = 0
failed = 0
news = []
# The first and the latest: what was issued before an event is still asked about after it.
first = []
latest = collections.deque(maxlen=50)


def ask(what, method, path, headers=None, body=None):
    global done, failed
    answer, fault = None, None
    began = time.monotonic()
    try:
        connection = http.client.HTTPConnection(*HOST, timeout=PATIENCE)
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers or {})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            fault = f"{answer.status} {text[:300]!r}"
    except (OSError, http.client.HTTPException) as error:
        fault = repr(error)
    with lock:
        done += 1
        if fault:
            failed += 1
            news.append(f"{what} after {time.monotonic() - began:.2f} s: {fault}")
    return None if fault else answer


def issue():
    user = {"name": "admin", "domain": {"id": "default"}, "password": os.environ["PASSWORD"]}
    scope = {"project": {"name": "admin", "domain": {"id": "default"}}}
    identity = {"methods": ["password"], "password": {"user": user}}
    body = {"auth": {"identity": identity, "scope": scope}}
    answer = ask("issue", "POST", "/v3/auth/tokens", {"Content-Type": "application/json"}, body)
    return answer and answer.getheader("X-Subject-Token")


def validate(what, token, asker):
    ask(what, "GET", "/v3/auth/tokens", {"X-Auth-Token": asker, "X-Subject-Token": token})


def client():
    while True:
        token = issue()
        if token:
            if len(first) < 20:
                first.append(token)
            latest.append(token)
            turn = done
            validate("validate a new token", token, token)
            validate("validate an old token", first[turn % len(first)], token)
            validate("validate by an old token", latest[turn % len(latest)], first[turn % len(first)])
        time.sleep(PAUSE)


if "once" in sys.argv:
    sys.exit(0 if issue() else str(news))
for _ in range(CLIENTS):
    threading.Thread(target=client, daemon=True).start()
while True:
    time.sleep(1)
    with lock:
        said, news = news, []
        print(json.dumps({"requests": done, "failed": failed, "failures": said}), flush=True)
