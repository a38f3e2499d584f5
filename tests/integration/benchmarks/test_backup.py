"""The benchmark of backups runs, and counts what it does."""

import pytest

from benchmarks import backup


def test_the_table_shows_backups_and_restores_in_parallel_and_one_after_the_other(capsys: pytest.CaptureFixture[str]):
    assert backup.main(["--objects", "20", "--delay", "0", "--threads", "4"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "20 objects, 0 ms for each S3 request"
    assert len(lines) == 4 + 8


def test_each_row_tells_its_requests():
    rows = {(row.work, row.threads): row.requests for row in backup.run(20, 0, 4)}

    assert len(rows) == 8
    for threads in (4, 1):
        made, unchanged = rows["backup", threads], rows["backup, nothing changed", threads]
        assert (made["COPY"], made["PUT"], made["LIST"]) == (20, 3, 2)
        assert (unchanged["COPY"], unchanged["PUT"]) == (0, 2)
        assert rows["restore", threads]["COPY"] >= 15
        assert rows["restore under another id", threads]["PUT"] >= 15
