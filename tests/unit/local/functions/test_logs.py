import json

from local.functions.logs import ROTATE_BYTES, FunctionLog


def test_a_log_that_has_grown_makes_way(tmp_path):
    (tmp_path / "F.log").write_bytes(b"x" * (ROTATE_BYTES + 1))
    log = FunctionLog(tmp_path, "F")
    log.write_report("platform.report", {"a": 1})
    assert json.loads(log.path.read_text())["record"] == {"a": 1}
    assert (tmp_path / "F.log.1").exists()


def test_a_line_that_a_full_disk_refuses_is_lost_and_the_next_one_is_written_when_there_is_space(tmp_path):
    log = FunctionLog(tmp_path, "F")
    log.path.symlink_to("/dev/full")
    for _ in range(3):
        log.write_report("platform.report", {"a": 1})

    log.path.unlink()
    log.write_report("platform.report", {"a": 2})

    assert json.loads(log.path.read_text())["record"] == {"a": 2}


def test_a_log_that_grows_too_large_while_it_is_written_is_emptied_and_the_older_lines_are_kept(tmp_path):
    log = FunctionLog(tmp_path, "F")
    with log.path.open("ab") as environment:
        environment.write(b"x" * ROTATE_BYTES)
        environment.flush()
        log.write_report("platform.report", {})
        environment.write(b"later\n")

    assert log.path.read_bytes() == b"later\n"
    assert (tmp_path / "F.log.1").read_bytes().startswith(b"x" * 100)
