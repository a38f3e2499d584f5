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



def test_a_log_that_has_grown_makes_way(tmp_path):
    (tmp_path / "F.log").write_bytes(b"x" * (ROTATE_BYTES + 1))
    log = FunctionLog(tmp_path, "F")
    log.write_report("platform.report", {"a": 1})
    assert json.loads(log.path.read_text())["record"] == {"a": 1}
    assert (tmp_path / "F.log.1").exists()
