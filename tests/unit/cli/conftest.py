"""A desk with a home of its own."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest
from typer import testing

from live_memory.cli import code_version
from tests.support.cli_harness import CliHarness


@pytest.fixture(scope="session", autouse=True)
def built_once() -> Iterator[None]:
    """A runner puts the program's commands together for each that is given: four fifths of the time. Each server of
    MCP reads all certificates.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx, "create_ssl_context", cache(httpx.create_ssl_context))
        patch.setattr(testing, "_get_command", cache(testing._get_command))  # type: ignore[attr-defined]
        yield


@pytest.fixture(autouse=True)
def unknown_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run in a repository too, whose branch is none of theirs: git is too late for them."""
    monkeypatch.setattr(code_version, "SECONDS", -1)


@pytest.fixture
def desk(tmp_path: Path) -> CliHarness:
    return CliHarness(tmp_path)
