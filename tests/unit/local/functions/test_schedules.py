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



def test_a_scheduled_event_has_the_shape_of_eventbridge():
    now = datetime(2026, 11, 21, 4, 5, 6, tzinfo=UTC)
    event = build_scheduled_event(Schedule("Often", 900), now)
    assert (event["source"], event["detail-type"], event["time"]) == (
        "aws.events",
        "Scheduled Event",
        "2026-11-21T04:05:06Z",
    )
    assert event["resources"] == ["arn:aws:events:us-east-1:123456789012:rule/Often"]
    assert build_scheduled_event(Schedule("Often", 900, "aws.scheduler"), now)["source"] == "aws.scheduler"
    assert build_scheduled_event(Schedule("Often", 900, payload='{"a": 1}'), now) == {"a": 1}
