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



def test_variables_choose_everything_and_nothing_is_needed():
    config = read_config({})
    assert (config.host, config.port, config.bucket, config.s3_url) == ("127.0.0.1", 3000, "live-memory", None)
    config = read_config({"PORT": "0", "LIVEMEM_DATA_DIR": "x", "S3_ENDPOINT_URL": "", "LIVEMEM_SWEEP_SECONDS": "2.5"})
    assert (config.port, config.data, config.s3_url, config.sweep_seconds) == (0, Path.cwd() / "x", None, 2.5)


@pytest.mark.parametrize(
    "values",
    [
        {"PORT": "x"},
        {"PORT": "70000"},
        {"LIVEMEM_SWEEP_SECONDS": "0"},
        {"LIVEMEM_SWEEP_SECONDS": "soon"},
        {"LIVEMEM_INVOKE_FROM": "lan"},
    ],
)
def test_a_wrong_variable_is_named(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        read_config(values)
