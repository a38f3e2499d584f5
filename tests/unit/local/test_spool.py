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



def test_a_spool_gives_back_what_was_not_finished_in_order(tmp_path):
    spool = Spool(tmp_path)
    entries = [spool.add({"n": n}) for n in range(5)]
    spool.remove(entries[1])
    spool.remove(entries[1])
    assert [e.content["n"] for e in Spool(tmp_path).load()] == [0, 2, 3, 4]


def test_a_spool_sets_aside_what_it_cannot_read(tmp_path, caplog):
    (tmp_path / "1.json").write_text("{")
    assert Spool(tmp_path).load() == []
    assert [p.name for p in tmp_path.iterdir()] == ["1.unreadable"]
    assert "set aside" in caplog.text
