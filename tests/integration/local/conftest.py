import contextlib
import itertools
from pathlib import Path

import pytest

from tests.integration.local.support import MANY, MANY_BUCKET, S3Process

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def start_s3():
    with contextlib.ExitStack() as stack:

        def start(data: Path, *arguments: str) -> S3Process:
            server = S3Process(data, *arguments)
            stack.callback(server.kill)
            return server

        yield start


@pytest.fixture(scope="session")
def shared_s3(start_s3, tmp_path_factory):
    data = tmp_path_factory.mktemp("s3")
    many = data / "s3" / MANY_BUCKET / "space" / "live"
    many.mkdir(parents=True)
    for number in range(MANY):
        (many / f"{number:04d}.md").touch()
    return start_s3(data)


@pytest.fixture(scope="session")
def s3(shared_s3):
    return shared_s3.client()


@pytest.fixture
def bucket(s3) -> str:
    name = f"bucket-{next(_numbers)}"
    s3.create_bucket(Bucket=name)
    return name
