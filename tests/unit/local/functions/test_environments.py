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



def test_a_failure_is_one_line():
    assert Outcome(b'{"errorType": "ValueError", "errorMessage": "no"}', failed=True).describe() == "ValueError: no"
    assert Outcome(b"not json", failed=True).describe() == "not json"
    assert Outcome(b"[1]", failed=True).describe() == "[1]"
