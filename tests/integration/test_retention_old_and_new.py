"""Retention by itself removes what garbage collection removes of the same spaces."""

import pytest

from livemem.spaces import lifecycle
from tests.support.functions import request
from tests.support.mcp import started
from tests.support.world import BOOTSTRAP_KEY, World

DAY = 86_400


def test_retention_removes_what_garbage_collection_removes(monkeypatch: pytest.MonkeyPatch):
    world = World()
    for space_id in ("a", "b", "gone"):
        world.create_space(space_id)
        for _ in range(3):
            world.note("x", space_id=space_id)
            world.back_up(space_id)
            world.clock.move(40 * DAY)
    lifecycle.delete(world.process, "gone", "gone")
    world.inner.put_object(Bucket="b", Key="_backups/a/2020-01-01T00-00-00/_manifest.json", Body=b"{")
    for dry_run in (True, False):
        before, after = world.fork(), world.fork()
        sent = {"dry_run": dry_run, "keep_last": 1, "days": 1}
        old = started(monkeypatch, before).http(
            "archives", request("POST", "/v1/admin/retention", token=BOOTSTRAP_KEY, body=sent)
        )[1]
        sent = {"dry_run": dry_run, "keep_last": 1, "backup_days": 1, "max_age_days": 3_650}
        new = started(monkeypatch, after).http(
            "archives", request("POST", "/v1/admin/gc", token=BOOTSTRAP_KEY, body=sent)
        )[1]
        assert new["backups_removed"] == 6
        removed = {space["space_id"]: space["removed"] for space in old["reports"]}
        assert {space["space_id"]: space["backups"] for space in new["spaces"]} == removed
        assert [space["unreadable"] for space in new["spaces"]] == [space["unreadable"] for space in old["reports"]]
        kept = [{key for key in twin.inner.objects if key.startswith("_backups/")} for twin in (before, after)]
        assert kept[0] == kept[1]
