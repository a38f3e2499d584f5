import json

from local.functions.logs import ROTATE_BYTES, FunctionLog


def test_a_log_that_has_grown_makes_way(tmp_path):
    (tmp_path / "F.log").write_bytes(b"x" * (ROTATE_BYTES + 1))
    log = FunctionLog(tmp_path, "F")
    log.write_report("platform.report", {"a": 1})
    assert json.loads(log.path.read_text())["record"] == {"a": 1}
    assert (tmp_path / "F.log.1").exists()
