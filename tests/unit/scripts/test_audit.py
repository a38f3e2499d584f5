"""Of an audit only what was asked and answered counts."""

import subprocess
from typing import Any

import pytest

from scripts import audit

FINE = {"name": "fine", "version": "1.0", "vulns": []}
BAD = {
    "name": "bad",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2.1"], "description": ""}],
}
UNKNOWN = {"name": "stranger", "skip_reason": "Dependency not found on PyPI and could not be audited: stranger (1.0)"}


def judge(*packages: dict[str, Any], **exceptions: str) -> audit.Verdict:
    return audit.judge({"dependencies": packages}, {name.replace("_", "-"): why for name, why in exceptions.items()})


def test_packages_without_a_known_vulnerability_are_clean():
    assert judge(FINE).clean
    assert audit.tell("lock", judge(FINE)) == "audit: lock: 1 packages, no known vulnerability"


@pytest.mark.parametrize("packages", [[], [UNKNOWN], [FINE, UNKNOWN]])
def test_what_the_database_knows_nothing_of_is_not_clean(packages: list[dict[str, Any]]):
    verdict = judge(*packages)

    assert not verdict.clean
    assert "NOT AUDITED" in audit.tell("lock", verdict)
    assert "no known" not in audit.tell("lock", verdict)


def test_a_vulnerability_is_named_with_its_cure():
    assert not judge(FINE, BAD).clean
    assert audit.tell("lock", judge(FINE, BAD)) == "audit: lock: bad 2.0: PYSEC-1, fixed in: 2.1"


@pytest.mark.parametrize("known_as", ["PYSEC_1", "CVE_1"])
def test_an_exception_that_is_written_down_is_excused_under_each_of_its_names(known_as: str):
    verdict = judge(BAD, **{known_as: "we never call it"})

    assert verdict.clean
    assert verdict.excused == {known_as.replace("_", "-")}
    assert not judge(BAD, CVE_2="another").clean


def test_every_exception_says_why():
    assert all(reason.strip() for reason in audit.EXCEPTIONS.values())


def test_where_the_index_gives_no_answer_the_reason_and_what_can_be_done_are_told(monkeypatch, capsys):
    said = "WARNING: x\npip_audit._service.interface.ConnectionError: Could not connect to PyPI's vulnerability feed\n"
    ran = subprocess.CompletedProcess([], 1, stdout="", stderr=said)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ran)

    assert audit.main() == 1

    told = capsys.readouterr().err
    assert "NOT AUDITED, the database could not be asked (pip_audit._service.interface.ConnectionError: Could" in told
    assert told.count("HTTPS_PROXY") == 1
