import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.config import ConfigError, read_config
from local.data_dir import DataDir, DataDirError
from local.front.guard import is_from_web_page, is_in_networks
from local.front.httpd import Request
from local.functions.environments import Outcome
from local.functions.logs import ROTATE_BYTES, FunctionLog
from local.functions.schedules import build_scheduled_event
from local.functions.template import Function, Schedule
from local.functions.variables import build_environment, function_arn
from local.s3.locks import ReadWriteLock
from local.spool import Spool



def run_together(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def test_readers_share_a_lock():
    lock, barrier = ReadWriteLock(), threading.Barrier(3)

    def read():
        with lock.read():
            barrier.wait(5)  # passes only when all three are inside

    run_together(read, read, read)
    assert not barrier.broken


def test_a_writer_is_alone():
    lock, inside, most = ReadWriteLock(), [], []

    def use(hold):
        for _ in range(50):
            with hold():
                inside.append(hold)
                most.append(list(inside))
                inside.remove(hold)

    run_together(*[lambda: use(lock.write)] * 2, *[lambda: use(lock.read)] * 2)
    assert len(most) == 200
    assert all(len(held) == 1 for held in most if lock.write in held)
