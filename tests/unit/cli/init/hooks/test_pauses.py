"""What was said while nothing was to be recorded is never sent, whatever is recorded later in the same session."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from live_memory.cli.init.hooks import pauses
from live_memory.cli.init.hooks.pauses import Pauses
from tests.support.cases import each
from tests.unit.cli.init.hooks.support import Machine, claude

BEGIN = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


def at(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=minute)


def set_clock(monkeypatch: pytest.MonkeyPatch, minute: int) -> None:
    monkeypatch.setattr(pauses, "_now", lambda: at(minute))


def line(role: str, text: str, minute: int) -> dict[str, object]:
    return {**claude(role, text), "timestamp": at(minute).isoformat().replace("+00:00", "Z")}


@each("folder", [Path("/home/ann/ferry"), Path("/home/ann"), None])
def test_words_of_a_pause_are_never_sent_and_those_around_it_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path | None
):
    machine = Machine(tmp_path / str(folder).replace("/", "_"))
    machine.folder.mkdir()
    off = Pauses(machine.folder / "state")
    path = machine.transcript(line("user", "Before?", 1), line("assistant", "Before.", 2))
    machine.hook("claude-code", "Stop", transcript_path=path)
    set_clock(monkeypatch, 3)
    off.begin("claude-code", folder)
    machine.transcript(line("user", "Private?", 4), line("assistant", "Private.", 5))
    set_clock(monkeypatch, 6)
    off.end("claude-code", folder)
    machine.transcript(line("user", "After?", 7), line("assistant", "After.", 8))

    machine.hook("claude-code", "SessionEnd", transcript_path=path)

    assert machine.memory.said == ["Before?", "Before.", "After?", "After."]
    assert machine.log == ["livemem hook: 2 messages of a time without recording are not sent"]


def test_a_pause_holds_for_its_client_and_folder_alone_and_may_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    off = Pauses(tmp_path)
    for minute, change in ((1, off.begin), (2, off.begin), (3, off.end), (5, off.begin)):
        set_clock(monkeypatch, minute)
        change("codex", Path("/home/ann/ferry"))

    (first, second) = off._all()

    assert [first.holds("codex", "/home/ann/ferry/src", at(minute)) for minute in (0, 1, 2, 3, 4)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert second.holds("codex", "/home/ann/ferry", at(60))
    assert not second.holds("cursor", "/home/ann/ferry", at(60))
    assert not second.holds("codex", "/home/ann/other", at(60))


@each(
    ("paused", "again", "lasts"),
    [
        ("/p", "/p", False), ("/p", "/p/inner", False), ("/p", None, False), (None, "/p", False), (None, None, False),
        ("/p/inner", "/p", True), ("/p", "/other", True),
    ],
)  # fmt: skip
def test_recording_again_ends_each_pause_that_would_hold_it_back(
    tmp_path: Path, paused: str | None, again: str | None, lasts: bool
):
    off = Pauses(tmp_path / f"{paused}-{again}".replace("/", "_"))
    off.begin("codex", Path(paused) if paused else None)
    off.begin("cursor", None)

    off.end("codex", Path(again) if again else None)

    assert [one.until is None for one in off._all()] == [lasts, True]


@each(
    "text",
    [
        "",
        "{",
        "[]",
        '{"pauses": 3}',
        '{"pauses": [{"client": "codex"}, 7, null]}',
        '{"pauses": [{"client": "codex", "folder": null, "since": "noon"}]}',
    ],
)
def test_a_damaged_file_stops_no_hook(tmp_path: Path, text: str):
    (tmp_path / "pauses.json").write_text(text)

    assert Pauses(tmp_path)._all() == []
    Pauses(tmp_path).begin("codex", None)
    assert len(Pauses(tmp_path)._all()) == 1


def test_old_pauses_are_forgotten_and_few_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pauses, "MOST", 20)
    off = Pauses(tmp_path)
    for number in range(pauses.MOST + 5):
        off.begin("codex", tmp_path / str(number))
    assert len(off._all()) == pauses.MOST
    off.end("codex", tmp_path / str(pauses.MOST))
    monkeypatch.setattr(pauses, "_now", lambda: datetime.now(UTC) + timedelta(days=pauses.DAYS + 1))
    off.begin("cursor", None)
    assert len(off._all()) == pauses.MOST
    assert not any(one.until for one in off._all())
