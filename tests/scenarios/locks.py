"""Locks as Cinder's programs do, at one or more members of a database, and fails if a lock doesn't do what it is for.

    locks.py everything
    locks.py hold NAME SECONDS HOST     holds a lock, and prints what became of it
    locks.py contend NAME TIMES HOST    takes a lock again and again, and prints how often another had it too
    locks.py gone NAME HOST             takes two locks whose table goes, and prints of each whether it is released, and whether it was lost
    locks.py block NAME HOST            takes a lock, is blocked before it learns so, and prints whether it has it, and another
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import uuid
from concurrent import futures

import c5c3_locks
from oslo_config import cfg
from tooz import coordination

HOSTS = os.environ["HOSTS"].split()


def named(name):
    """A lock of this pod alone."""
    return f"{socket.gethostname()}-{name}".encode()


def locks(host):
    """The locks at a member of the database, by the configuration that Cinder has."""
    user, password = os.environ["USERNAME"], urllib.parse.quote_plus(os.environ["PASSWORD"])
    url = f"mysql+pymysql://{user}:{password}@{host}/{os.environ['DATABASE']}?charset=utf8mb4"
    os.environ["OS_DATABASE__CONNECTION"] = url
    cfg.CONF([], project="locks", default_config_files=[], default_config_dirs=[])
    found = coordination.get_coordinator("rows://", b"scenario")
    found.start(start_heart=True)
    return found


def hold(name, seconds, host):
    found = locks(host)
    with found.get_lock(named(name)) as lock:
        # As Cinder does when it is to end, before its work has.
        found.stop()
        print("held", flush=True)
        time.sleep(float(seconds))
    print("lost" if lock.lost else "released")


def contend(name, times, host):
    found, mark, overlaps = locks(host), f"/tmp/{name}", 0
    for _ in range(int(times)):
        with found.get_lock(named(name)):
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                overlaps += 1
            else:
                time.sleep(0.002)
                os.unlink(mark)
    print(overlaps)


def block(name, host):
    found, clock, blocked = locks(host), c5c3_locks.clock, []
    take, other = found.take, found.get_lock(named(name))

    def take_slowly(row, token):
        taken = take(row, token)
        if not blocked:
            blocked.append(True)
            past = "UPDATE c5c3_locks SET expires = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND WHERE name = %s"
            c5c3_locks.execute(found._engine, past, row)
            c5c3_locks.clock = lambda: clock() + c5c3_locks.LEASE
            assert other.acquire(blocking=False)
        return taken

    found.take = take_slowly
    print(found.get_lock(named(name)).acquire(blocking=False), other.is_still_owner())


def gone(name, host):
    """Has a table of its own, which is dropped while it holds a lock."""
    table = f"locks_{uuid.uuid4().hex}"
    for statement in ("CREATE", "INSERT", "TAKE", "RENEW", "RELEASE", "CLEAN"):
        setattr(c5c3_locks, statement, getattr(c5c3_locks, statement).replace("c5c3_locks", table))
    found = locks(host)
    lock, other = found.get_lock(named(name)), found.get_lock(named(f"{name}-too"))
    assert lock.acquire() and other.acquire()
    for held in (lock, other):
        c5c3_locks.execute(found._engine, f"DROP TABLE {table}")
        if held is lock:
            held.renew(found._engine, held._token)
        print(held.release(), held.lost)
    assert lock.acquire(blocking=False) and lock.release()
    c5c3_locks.execute(found._engine, f"DROP TABLE {table}")


def start(*arguments):
    command = [sys.executable, __file__, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def holder(name, seconds):
    found = start("hold", name, seconds, HOSTS[0])
    said = found.stdout.readline()
    assert said == "held\n", said
    return found


def rest(child):
    """What a program says from now on."""
    said, _ = child.communicate(timeout=300)
    assert child.returncode == 0, child.returncode
    return said


def taken(found, name):
    """Waits for a lock, and says for how long."""
    begun, lock = time.monotonic(), found.get_lock(named(name))
    assert lock.acquire(blocking=400), f"{name} stays locked"
    return time.monotonic() - begun, lock


def no_two_hold_one_lock(_):
    children = [start("contend", "one", "50", HOSTS[n % len(HOSTS)]) for n in range(4)]
    overlaps = [rest(child).strip() for child in children]
    assert overlaps == ["0"] * 4, overlaps


def a_lock_outlasts_its_lease_while_its_holder_lives(found):
    child = holder("living", str(c5c3_locks.LEASE + 30))
    assert not found.get_lock(named("living")).acquire(blocking=c5c3_locks.LEASE + 10)
    assert rest(child) == "released\n"
    _, lock = taken(found, "living")
    assert lock.release()


def a_lock_is_free_a_lease_after_its_holder_died(found):
    child = holder("killed", "600")
    child.kill()
    child.wait()
    waited, lock = taken(found, "killed")
    assert waited > c5c3_locks.LEASE - 15, waited
    assert lock.release()


def a_holder_that_was_suspended_knows_that_it_lost_its_lock(found):
    child = holder("suspended", "1")
    child.send_signal(signal.SIGSTOP)
    waited, lock = taken(found, "suspended")
    assert waited > c5c3_locks.LEASE - 15, waited
    child.send_signal(signal.SIGCONT)
    assert rest(child) == "lost\n"
    # The former holder's release isn't this one's.
    assert lock.is_still_owner() and lock.release()


def an_acquisition_that_was_blocked_looks_again(_):
    said = rest(start("block", "blocked", HOSTS[0]))
    assert said == "False True\n", said


def a_lock_whose_table_is_gone_is_lost(_):
    said = rest(start("gone", "gone", HOSTS[0]))
    assert said == "False True\nFalse True\n", said


def a_renewal_shortens_no_lease_and_ends_what_a_wrong_clock_wrote(found):
    lease = c5c3_locks.LEASE
    for ahead, least, most in ((lease + 60, lease + 30, lease + 60), (86400, lease, 2 * lease)):
        lock = found.get_lock(named("ahead"))
        assert lock.acquire(blocking=False)
        later = f"UPDATE c5c3_locks SET expires = UTC_TIMESTAMP(6) + INTERVAL {ahead} SECOND WHERE name = %s"
        c5c3_locks.execute(found._engine, later, lock.name)
        lock.renew(found._engine, lock._token)
        with found._engine.connect() as connection:
            left = "SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), expires) FROM c5c3_locks WHERE name = %s"
            left = connection.exec_driver_sql(left, (lock.name,)).scalar()
        assert lock.release()
        assert least <= left <= most, left


def names_differ_by_every_byte(found):
    spelled = [named("name"), named("Name"), named("name "), named("na\\'\"me"), named("n" * 300), named("n" * 301)]
    held = [found.get_lock(name) for name in spelled]
    assert all([lock.acquire(blocking=False) for lock in held])
    again = [found.get_lock(name).acquire(blocking=False) for name in spelled]
    assert not any(again), again
    assert all([lock.release() for lock in held])


def connections_to_a_member_that_refuses_are_replaced(_):
    engine = c5c3_locks.connect(1)

    def connected():
        with engine.connect() as connection:
            return connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar()

    first = connected()
    for refusal, replaced in ((1213, False), (1047, True)):
        signal = f"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {refusal}, MESSAGE_TEXT = 'refused'"
        try:
            c5c3_locks.execute(engine, signal)
        except c5c3_locks.REPEATED as error:
            assert c5c3_locks.code(error) == refusal, error
        assert (connected() != first) == replaced, refusal


def everything():
    cases = [
        no_two_hold_one_lock,
        an_acquisition_that_was_blocked_looks_again,
        a_lock_whose_table_is_gone_is_lost,
        a_renewal_shortens_no_lease_and_ends_what_a_wrong_clock_wrote,
        names_differ_by_every_byte,
        connections_to_a_member_that_refuses_are_replaced,
        a_lock_outlasts_its_lease_while_its_holder_lives,
        a_lock_is_free_a_lease_after_its_holder_died,
        a_holder_that_was_suspended_knows_that_it_lost_its_lock,
    ]
    found = locks(HOSTS[-1])
    with futures.ThreadPoolExecutor(len(cases)) as pool:
        for case, result in [(case, pool.submit(case, found)) for case in cases]:
            result.result()
            print(case.__name__, flush=True)


if __name__ == "__main__":
    tasks = {"everything": everything, "hold": hold, "contend": contend, "block": block, "gone": gone}
    tasks[sys.argv[1]](*sys.argv[2:])
