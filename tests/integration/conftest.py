"""The functions of the service, in the roles that the template gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support import policy
from tests.support.template import REGION, compile_template, read_template

if TYPE_CHECKING:
    from tests.support.service import Service


@pytest.fixture(scope="session")
def roles() -> dict[str, policy.Role]:
    """Function of the template (`Ingest`, ...) -> what its role allows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.delenv("AWS_PROFILE", raising=False)
        return policy.roles(compile_template(read_template()))


@pytest.fixture
def service(roles: dict[str, policy.Role], monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    # Not by the process that only hands out the tests.
    from tests.support.service import running

    with running(roles, monkeypatch) as started:
        yield started
