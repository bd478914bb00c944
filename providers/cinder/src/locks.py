"""Locks of Cinder as rows of its own database: a driver of tooz, which finds it by the entry point beside this file.

All members of Galera agree on a row, while GET_LOCK is known to one member only. Cinder names each lock by what it works on.

A row is a lease, by the database's clock alone. Its holder renews it, and relies on it for a shorter time by a clock of its own, which starts
before the row is written. Every statement names the token of the one acquisition that it is for, so it can be repeated when its answer is lost.
"""

import hashlib
import logging
import random
import socket
import threading
import time
import uuid

import sqlalchemy
import tooz
from oslo_config import cfg
from oslo_db import options
from pymysql import err
from sqlalchemy import exc
from tooz import coordination, locking, utils

LOG = logging.getLogger(__name__)

# Seconds from the last renewal until others may take a lock.
LEASE = 120
# Seconds for which its holder relies on it. The clocks of two members of the database may differ by the rest.
RELIED = 90
# Seconds between renewals.
RENEWAL = 20
# Seconds for which one answer of the database is waited for, and the database by those who don't wait for a lock.
PATIENCE = 10
# Seconds for which one statement waits for another's lock of a row, before PATIENCE ends.
ROW_WAIT = 5
# Seconds between attempts while the database can't be reached.
PAUSE = 2

OWNER = socket.gethostname().encode()[:255]
FRESH = f"UTC_TIMESTAMP(6) + INTERVAL {LEASE} SECOND"
# An earlier statement whose answer wasn't waited for may be executed after a later one: it must not shorten the lease. What is later still is
# of a clock that was wrong.
LONGER = f"LEAST(GREATEST(expires, {FRESH}), {FRESH} + INTERVAL {LEASE} SECOND)"
CREATE = """
CREATE TABLE IF NOT EXISTS c5c3_locks (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    owner VARBINARY(255) NOT NULL,
    token BINARY(16) NOT NULL,
    expires DATETIME(6) NOT NULL
) ENGINE=InnoDB
"""
INSERT = f"INSERT INTO c5c3_locks (name, owner, token, expires) VALUES (%s, %s, %s, {FRESH})"
TAKE = f"""
UPDATE c5c3_locks SET owner = %s, token = %s, expires = {LONGER}
WHERE name = %s AND (token = %s OR expires < UTC_TIMESTAMP(6))
"""
RENEW = f"UPDATE c5c3_locks SET expires = {LONGER} WHERE name = %s AND token = %s"
RELEASE = "DELETE FROM c5c3_locks WHERE name = %s AND token = %s"
# What members left that died, of locks that nobody has wanted since.
CLEAN = "DELETE FROM c5c3_locks WHERE expires < UTC_TIMESTAMP(6) - INTERVAL 1 DAY"

# The database can't be reached, or another transaction was first: 1213 and 1205, and 1020 since MariaDB 11.6.2.
REPEATED = (exc.OperationalError, exc.InternalError, exc.InterfaceError, exc.TimeoutError)
CONFLICTS = (1020, 1205, 1213)
NO_TABLE = 1146
NO_VARIABLE = 1193


def clock():
    """Seconds, including those in which the machine was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def code(error):
    return next(iter(getattr(getattr(error, "orig", None), "args", ())), None)


def explained(error):
    # Without SQLAlchemy's part, which repeats the statement.
    return getattr(error, "orig", None) or error


def prepare(connection, _):
    """Readies a new connection."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {ROW_WAIT}")
        try:
            # After a switch to another member, "no such row" must not mean "not there yet": waits for what others wrote before
            # SELECT (1), UPDATE and DELETE (2), INSERT (4).
            cursor.execute("SET SESSION wsrep_sync_wait = 7")
        except err.MySQLError as error:
            if error.args[0] != NO_VARIABLE:
                raise


def leave(context):
    """Replaces all connections after an error that isn't another transaction's: a member of Galera without a quorum (1047) and a primary that
    has become a replica (1290) keep theirs, while the database's address leads to another."""
    error = context.sqlalchemy_exception
    if isinstance(error, REPEATED) and code(error) not in CONFLICTS:
        context.is_disconnect = True


def connect(size):
    """The database that Cinder's configuration names, with connections of its own."""
    cfg.CONF.register_opts(options.database_opts, "database")
    patience = {"connect_timeout": PATIENCE, "read_timeout": PATIENCE, "write_timeout": PATIENCE}
    database = cfg.CONF.database
    engine = sqlalchemy.create_engine(
        sqlalchemy.engine.make_url(database.connection).update_query_string(database.connection_parameters, append=True),
        isolation_level="AUTOCOMMIT",
        pool_size=size,
        max_overflow=0,
        pool_timeout=PATIENCE,
        # Shorter than the idle timeout of proxies.
        pool_recycle=280,
        connect_args=patience,
    )
    sqlalchemy.event.listen(engine, "connect", prepare)
    sqlalchemy.event.listen(engine, "handle_error", leave)
    return engine


def execute(engine, statement, *parameters):
    """Executes a statement, and returns how many rows it is about. Creates the table where there is none, or no longer is."""
    with engine.connect() as connection:
        try:
            return connection.exec_driver_sql(statement, parameters).rowcount
        except exc.ProgrammingError as error:
            if code(error) != NO_TABLE:
                raise
        connection.exec_driver_sql(CREATE)
        return connection.exec_driver_sql(statement, parameters).rowcount


class Lock(locking.Lock):
    def __init__(self, name, driver):
        super().__init__(name)
        self._driver = driver
        self._called = name.decode(errors="replace")
        self._row = name if len(name) <= 255 else hashlib.sha256(name).hexdigest().encode()
        self._token = None
        self._until = 0.0
        self._gone = False

    @property
    def lost(self):
        """Whether another may have the lock since it was acquired."""
        return self._gone or (self._token is not None and clock() >= self._until)

    def is_still_owner(self):
        return self._token is not None and not self.lost

    def acquire(self, blocking=True, shared=False, timeout=None):
        if shared:
            raise tooz.NotImplemented
        blocking, timeout = utils.convert_blocking(blocking, timeout)
        token = uuid.uuid4().bytes
        limit = LEASE if blocking and timeout is None else max(timeout or 0, PATIENCE)
        begun = answered = clock()
        pause = 0.1
        while True:
            tried = clock()
            try:
                taken = self._driver.take(self._row, token)
            except REPEATED as error:
                if clock() - answered >= limit:
                    why = f"{self._called} can't be locked: {explained(error)}"
                    raise coordination.ToozConnectionError(why) from None
                pause_after(error)
                continue
            answered = clock()
            if taken and self._held(token, tried):
                return True
            if taken:
                LOG.warning("this process was blocked while it locked %s: it does so again", self._called)
                continue
            if not blocking or (timeout is not None and answered - begun >= timeout):
                return False
            time.sleep(random.uniform(pause / 2, pause))
            pause = min(2 * pause, 1.0)

    def _held(self, token, tried):
        """Relies on the row from now on, unless this process was blocked for so long that it may be another's already."""
        if clock() - tried >= RELIED:
            return False
        self._token, self._until, self._gone = token, tried + RELIED, False
        self._driver.hold(token, self)
        return True

    def renew(self, engine, token):
        """Renews the row; without it, the lock is lost."""
        tried = clock()
        if execute(engine, RENEW, self._row, token):
            self._until = tried + RELIED
        elif self._driver.forget(token):
            self._gone = True
            LOG.error("lock %s is lost: it wasn't renewed in time, and another may have it", self._called)

    def release(self):
        token, self._token = self._token, None
        if token is None:
            return False
        self._driver.forget(token)
        begun, until = clock(), self._until
        deleted, repeated = False, False
        while True:
            try:
                deleted = self._driver.drop(self._row, token)
                break
            except REPEATED as error:
                repeated = True
                if clock() >= until:
                    LOG.warning("lock %s can't be released, and lasts until its row expires: %s", self._called, explained(error))
                    break
                pause_after(error)
        # A row with this token was never another's. One that is gone was, unless an earlier attempt deleted it. That is no exception: Cinder
        # ignores those of most releases, and a volume that was created would lack what Cinder writes last.
        if not deleted and not self._gone and (begun >= until or not repeated):
            self._gone = True
            LOG.error("lock %s was lost before it was released: another may have had it, check what it is of", self._called)
        return deleted


def pause_after(error):
    if code(error) in CONFLICTS:
        LOG.debug("repeated: %s", explained(error))
        time.sleep(random.uniform(0, 0.1))
    else:
        LOG.warning("the database of locks can't be reached, it is tried again: %s", explained(error))
        time.sleep(random.uniform(PAUSE / 2, PAUSE))


class Driver(coordination.CoordinationDriver):
    CHARACTERISTICS = (
        coordination.Characteristics.DISTRIBUTED_ACROSS_THREADS,
        coordination.Characteristics.DISTRIBUTED_ACROSS_PROCESSES,
        coordination.Characteristics.DISTRIBUTED_ACROSS_HOSTS,
    )

    def __init__(self, member_id, parsed_url, options):
        super().__init__(member_id, parsed_url, options)
        self._engine = connect(4)
        # Renewals wait for no one who acquires.
        self._renewals = connect(1)
        self._mutex = threading.Lock()
        self._locks = {}
        self._renewer = None

    def get_lock(self, name):
        return Lock(name, self)

    def take(self, row, token):
        """Whether the row has this token now: there was none, or it has expired, or an earlier attempt wrote it."""
        try:
            execute(self._engine, INSERT, row, OWNER, token)
            return True
        except exc.IntegrityError:
            return execute(self._engine, TAKE, OWNER, token, row, token) == 1

    def drop(self, row, token):
        return execute(self._engine, RELEASE, row, token) == 1

    def hold(self, token, lock):
        """Renews a lock from now on. Cinder stops this driver before its last work ends, so the thread doesn't end with it."""
        with self._mutex:
            if self._renewer is None or not self._renewer.is_alive():
                self._renewer = threading.Thread(target=self._renew_forever, name="locks", daemon=True)
                self._renewer.start()
            self._locks[token] = lock

    def forget(self, token):
        """Renews a lock no more, and returns whether it was renewed."""
        with self._mutex:
            return self._locks.pop(token, None) is not None

    def _renew_forever(self):
        try:
            execute(self._renewals, CLEAN)
        except Exception as error:
            LOG.warning("rows of locks that nobody holds stay: %s", explained(error))
        pause = RENEWAL
        while True:
            time.sleep(pause)
            try:
                pause = self._renew()
            except Exception:
                LOG.exception("locks can't be renewed")
                pause = PAUSE

    def _renew(self):
        """Renews all locks, and returns the seconds until they should be again."""
        with self._mutex:
            locks = sorted(self._locks.items(), key=lambda item: item[1]._until)
        pause = RENEWAL
        for token, lock in locks:
            try:
                lock.renew(self._renewals, token)
            except REPEATED as error:
                pause = PAUSE
                if code(error) in CONFLICTS:
                    continue
                lost = [lock._called for _, lock in locks if lock.lost]
                why = explained(error)
                LOG.warning("%s locks can't be renewed, others may have %s: %s", len(locks), lost or "none", why)
                break
        return pause
