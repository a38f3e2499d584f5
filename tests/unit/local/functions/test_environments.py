from local.functions.environments import Outcome


def test_a_failure_is_one_line():
    assert Outcome(b'{"errorType": "ValueError", "errorMessage": "no"}', failed=True).describe() == "ValueError: no"
    assert Outcome(b"not json", failed=True).describe() == "not json"
    assert Outcome(b"[1]", failed=True).describe() == "[1]"
