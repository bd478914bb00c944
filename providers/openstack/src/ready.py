"""Whether this service reaches its database: what its pods' readiness probe asks, by way of uwsgi.

Each process loads it before the first request, so what a service does then is done here: a warm.py beside this file.
"""

import glob
import logging
import os
import runpy
import sys

import sqlalchemy
import uwsgi
from oslo_config import cfg

FOLDER = os.path.dirname(os.path.abspath(__file__))
SECTIONS = ("placement_database", "database")
# Seconds; a probe waits for five.
PATIENCE = 3


def engine():
    """Reaches the database that the configuration says."""
    config = cfg.ConfigOpts()
    for section in SECTIONS:
        config.register_opt(cfg.StrOpt("connection", secret=True), section)
    files = sorted(glob.glob(os.path.join(FOLDER, "*.conf")))
    config([], project="ready", default_config_files=files, default_config_dirs=[])
    urls = [url for url in (config[section].connection for section in SECTIONS) if url]
    patience = {"connect_timeout": PATIENCE, "read_timeout": PATIENCE, "write_timeout": PATIENCE}
    return sqlalchemy.create_engine(
        urls[0], pool_size=1, max_overflow=0, pool_timeout=PATIENCE, pool_recycle=280, connect_args=patience
    )


def warm():
    try:
        runpy.run_path(os.path.join(FOLDER, "warm.py"))
    except FileNotFoundError:
        pass
    except Exception:
        # It serves without, too.
        logging.exception("cannot be warmed up")


# uwsgi loads the service's own module first. Where that failed, this file must fail too: uwsgi exits only without any application.
MODULE = uwsgi.opt["module"].decode().partition(":")[0]
if MODULE not in sys.modules:
    raise ImportError(f"{MODULE} can't be loaded")

warm()
database = engine()


def application(_, respond):
    text = [("Content-Type", "text/plain")]
    try:
        with database.connect() as connection:
            connection.execute(sqlalchemy.text("SELECT 1"))
    except sqlalchemy.exc.SQLAlchemyError as error:
        # Its first line is what the server or the network says: no secret.
        logging.warning("the database can't be reached: %s", str(error).splitlines()[0])
        respond("503 Service Unavailable", text)
        return [b"the database can't be reached\n"]
    respond("200 OK", text)
    return [b"ready\n"]
