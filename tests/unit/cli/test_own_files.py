"""The program's own files, under several processes, hostile names and a system that holds a file for a moment."""

import os
import stat
import time
from pathlib import Path

import pytest

from live_memory.cli import own_files


@pytest.fixture
def naps(monkeypatch):
    """The pauses that were made; nobody waits."""
    made = []
    monkeypatch.setattr(time, "sleep", made.append)
    return made


@pytest.fixture
def held(monkeypatch):
    """Refuses to replace a file so many times, as Windows does while another process reads it."""

    def hold(times):
        real, left = Path.replace, [times]

        def replace(source, target):
            if left[0]:
                left[0] -= 1
                raise PermissionError(13, "in use")
            return real(source, target)

        monkeypatch.setattr(Path, "replace", replace)

    return hold


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_as_a_whole_byte_by_byte_and_is_for_its_owner_alone(tmp_path):
    file = tmp_path / "state" / "one.json"
    own_files.write(file, b"first\r\n\x1a\n")
    own_files.write(file, b"second\n", lasting=True)

    assert file.read_bytes() == b"second\n"
    assert names(file.parent) == ["one.json"]
    assert (stat.S_IMODE(file.parent.stat().st_mode), stat.S_IMODE(file.stat().st_mode)) == (0o700, 0o600)
    assert own_files.append(file, b"third\n") == 13


def test_a_file_that_is_held_for_a_moment_is_replaced_after_it(tmp_path, naps, held):
    held(own_files.REPLACE_TRIES)
    own_files.write(tmp_path / "a", b"new")

    assert (tmp_path / "a").read_bytes() == b"new"
    assert len(naps) == own_files.REPLACE_TRIES


def test_a_file_that_stays_held_keeps_its_text_and_nothing_is_left_beside_it(tmp_path, naps, held):
    (tmp_path / "a").write_bytes(b"old")
    held(own_files.REPLACE_TRIES + 1)

    with pytest.raises(PermissionError):
        own_files.write(tmp_path / "a", b"new")
    assert (names(tmp_path), (tmp_path / "a").read_bytes()) == (["a"], b"old")


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "pipe", "rb", opener=own_files.unblocked) as file:
        assert not file.read()


def test_one_has_the_lock_at_a_time_and_a_dead_one_does_not_keep_it(tmp_path):
    path = tmp_path / "locks" / "one.lock"
    with own_files.lock(path, 0) as first:
        with own_files.lock(path, 0) as second:
            assert (first, second) == (True, False)
        assert path.exists(), "who did not get it does not release it"
    assert not path.exists()

    path.touch()
    long_ago = time.time() - own_files.STALE_SECONDS - 1
    os.utime(path, (long_ago, long_ago))
    with own_files.lock(path, 0) as after:
        assert after


def test_a_lock_that_is_just_removed_is_waited_for_and_a_folder_that_refuses_it_is_said(tmp_path, monkeypatch, naps):
    real, refusals = os.open, [PermissionError(13, "being removed")]

    def opened(*given):
        if refusals:
            raise refusals.pop()
        return real(*given)

    monkeypatch.setattr(os, "open", opened)
    with own_files.lock(tmp_path / "a.lock", time.monotonic() + 60) as held:
        assert held
    assert naps == [own_files.PAUSE_SECONDS]

    refusals.append(PermissionError(13, "not allowed"))
    with pytest.raises(PermissionError), own_files.lock(tmp_path / "b.lock", 0):
        pass
