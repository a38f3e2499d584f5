import contextlib

import pytest

from tests.integration.local.support import S3Process


@pytest.fixture(scope="session")
def shared_s3(tmp_path_factory):
    server = S3Process(tmp_path_factory.mktemp("s3"))
    with contextlib.closing(server):
        yield server


@pytest.fixture(scope="session")
def s3(shared_s3):
    return shared_s3.client()
