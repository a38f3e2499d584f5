"""The functions of the service, in the roles that the template gives them."""

from collections.abc import Iterator

import pytest

from tests.support import policy
from tests.support.service import Service, running
from tests.support.template import REGION, compile_template, read_template


@pytest.fixture(scope="session")
def roles() -> dict[str, policy.Role]:
    """Function of the template (`Ingest`, ...) -> what its role allows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.delenv("AWS_PROFILE", raising=False)
        return policy.roles(compile_template(read_template()))


@pytest.fixture
def service(roles: dict[str, policy.Role], monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with running(roles, monkeypatch) as started:
        yield started
