"""An archive is downloaded whole, verified and under its name, or not at all."""

import gzip
import os
import random
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from live_memory.cli import texts
from tests.support.cli_harness import CliHarness

ARCHIVE = gzip.compress(random.Random(1).randbytes(200_000), mtime=0)
WORKING = {"job": "demo.export.b", "kind": "export", "status": "running", "space_id": "demo"}


def ready(*sizes: int) -> dict[str, Any]:
    """The job that made archives of these sizes."""
    archives = [{"url": f"https://store/{place}?secret=1", "bytes": size} for place, size in enumerate(sizes)]
    return {**WORKING, "status": "done", "result": {"archives": archives, "objects": 42, "left_out": 0}}


READY = ready(len(ARCHIVE))

Handler = Callable[[httpx.Request], httpx.Response]


class Sent(httpx.SyncByteStream):
    """Some bytes, and then perhaps a connection that breaks."""

    def __init__(self, body: bytes, *, breaks: bool) -> None:
        self.body = body
        self.breaks = breaks

    def __iter__(self) -> Any:
        yield self.body
        if self.breaks:
            raise httpx.ReadError("reset")


class Store:
    """A store that honours ranges, and breaks each connection after so many bytes."""

    def __init__(self, *cuts: int, body: bytes = ARCHIVE, etag: str = '"1"') -> None:
        self.cuts = list(cuts)
        self.body = body
        self.etag = etag
        self.begun: list[int] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        begin = 0
        if "range" in request.headers:
            if request.headers["if-match"] != self.etag:
                return httpx.Response(412)
            begin = int(request.headers["range"].removeprefix("bytes=").removesuffix("-"))
        self.begun.append(begin)
        rest = self.body[begin:]
        headers = {"etag": self.etag}
        breaks = bool(self.cuts)
        stream = Sent(rest[: self.cuts.pop(0)] if breaks else rest, breaks=breaks)
        return httpx.Response(206 if begin else 200, headers=headers, stream=stream)


def fetch(desk: CliHarness, store: Handler, *options: str, archive: Any = READY):
    first, *later = archive if isinstance(archive, list) else [archive]
    desk.answers, desk.store = {"create_export": first, "get_job": later or first}, store
    return desk.say("export", "-o", str(desk.home / "demo.tar.gz"), *options)


def files(desk: CliHarness) -> list[str]:
    return sorted(one.name for one in desk.home.iterdir())


def test_an_archive_is_waited_for_downloaded_and_readable_by_its_owner_alone(desk: CliHarness):
    said = fetch(desk, Store(), archive=[WORKING, WORKING, READY])
    assert said.code == 0
    file = desk.home / "demo.tar.gz"
    assert file.read_bytes() == ARCHIVE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert files(desk) == ["demo.tar.gz"]
    assert "secret" not in said.out + said.err


def test_the_progress_says_how_much_of_the_whole_archive_is_there(desk: CliHarness):
    said = fetch(desk, Store(50_000))
    assert said.code == 0
    assert f"downloading {texts.size(50_000)} of {texts.size(len(ARCHIVE))}" in said.err


def test_several_archives_are_files_beside_each_other(desk: CliHarness):
    said = fetch(desk, Store(), "--json", archive=[WORKING, ready(*[len(ARCHIVE)] * 3)])
    assert files(desk) == ["demo.2.tar.gz", "demo.3.tar.gz", "demo.tar.gz"]
    assert said.json["size"] == 3 * len(ARCHIVE)
    # None of them replaces a file.
    (desk.home / "demo.tar.gz").unlink()
    assert fetch(desk, Store(), archive=ready(5, 5)).code == 5


def test_an_export_that_fails_is_told(desk: CliHarness):
    failed = {**WORKING, "status": "failed", "error": {"code": "backup_damaged", "detail": "An object is missing."}}
    said = fetch(desk, Store(), archive=[WORKING, failed])
    assert (said.code, "An object is missing." in said.err, files(desk)) == (1, True, [])


def test_json_tells_where_it_is(desk: CliHarness):
    said = fetch(desk, Store(), "--json")
    assert said.json == {"files": [f"{desk.home}/demo.tar.gz"], "size": len(ARCHIVE), "objects": 42, "space_id": "demo"}
    assert said.err == ""


@given(cuts=st.lists(st.integers(1, 60_000), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_download_that_breaks_is_taken_up_where_it_broke(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]):
    desk = CliHarness(tmp_path_factory.mktemp("home"))
    store = Store(*cuts)
    assert fetch(desk, store).code == 0
    assert (desk.home / "demo.tar.gz").read_bytes() == ARCHIVE
    assert store.begun == [sum(cuts[:index]) for index in range(len(cuts) + 1)]


def test_what_never_comes_leaves_nothing_behind(desk: CliHarness):
    said = fetch(desk, Store(*[0] * 50))
    assert said.code == 6
    assert files(desk) == []
    assert "secret" not in said.err


def test_another_archive_is_never_put_behind_the_beginning_of_this_one(desk: CliHarness):
    store = Store(1000)
    other = gzip.compress(b"other", mtime=0)

    def change() -> None:
        store.body, store.etag = other, '"2"'

    desk.on_sleep = change
    assert fetch(desk, store, archive=[READY, ready(len(other))]).code == 0
    assert (desk.home / "demo.tar.gz").read_bytes() == other


def test_a_url_that_has_expired_is_asked_for_anew(desk: CliHarness):
    store, count = Store(5000), iter(range(9))

    def sometimes(request: httpx.Request) -> httpx.Response:
        return httpx.Response(403) if next(count) == 1 else store(request)

    assert fetch(desk, sometimes).code == 0
    assert [name for name, _ in desk.asked] == ["create_export", "get_job"]
    assert (desk.home / "demo.tar.gz").read_bytes() == ARCHIVE


def test_a_url_that_never_works_is_given_up(desk: CliHarness):
    assert fetch(desk, lambda _: httpx.Response(403)).code == 6
    assert files(desk) == []


FLIPPED = bytes([*ARCHIVE[:5000], ARCHIVE[5000] ^ 1, *ARCHIVE[5001:]])


@pytest.mark.parametrize(
    "body",
    [FLIPPED, ARCHIVE[:-1], ARCHIVE + b"x", ARCHIVE + ARCHIVE, b"<html>", b""],
    ids=["a bit", "cut off", "a byte more", "twice", "a page", "nothing"],
)
def test_a_damaged_archive_is_not_kept(desk: CliHarness, body: bytes):
    said = fetch(desk, Store(body=body), archive=ready(len(body)))
    assert said.code == 1
    assert "damaged" in said.err
    assert files(desk) == []


def test_a_size_that_is_not_what_the_service_said_is_not_taken(desk: CliHarness):
    assert fetch(desk, Store(), archive=ready(len(ARCHIVE) + 1)).code == 6
    assert files(desk) == []


def test_a_file_that_is_there_stays_unless_forced(desk: CliHarness):
    file = desk.home / "demo.tar.gz"
    file.write_text("mine")
    assert fetch(desk, Store()).code == 5
    assert (file.read_text(), desk.asked) == ("mine", [])

    assert fetch(desk, Store(body=b"x"), "--force").code in {1, 6}
    assert file.read_text() == "mine"

    assert fetch(desk, Store(), "--force").code == 0
    assert file.read_bytes() == ARCHIVE


def test_a_file_that_appears_meanwhile_stays(desk: CliHarness):
    file = desk.home / "demo.tar.gz"
    store = Store()

    def meanwhile(request: httpx.Request) -> httpx.Response:
        file.write_text("mine")
        return store(request)

    assert fetch(desk, meanwhile).code == 5
    assert file.read_text() == "mine"
    assert files(desk) == ["demo.tar.gz"]


def test_an_interrupted_download_leaves_nothing_behind(desk: CliHarness):
    def stop() -> None:
        raise KeyboardInterrupt

    desk.on_sleep = stop
    assert fetch(desk, Store(1000)).code != 0
    assert files(desk) == []


def test_a_folder_that_is_not_there_is_told_before_anything_is_asked(desk: CliHarness, tmp_path: Path):
    said = desk.say("export", "-o", str(tmp_path / "nowhere" / "x.tar.gz"))
    assert (said.code, desk.asked) == (2, [])


def test_a_device_or_folder_is_never_replaced(desk: CliHarness, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        said = desk.say("export", "-o", str(tmp_path / name), "--force")
        assert (said.code, desk.asked) == (2, [])
        assert "is not a file" in said.err
    assert (tmp_path / "pipe").is_fifo()
