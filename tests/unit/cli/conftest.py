"""A desk with a home of its own."""

from pathlib import Path

import pytest

from tests.support.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
