import boto3
import pytest

from tests.integration.local.support import s3_server


@pytest.fixture(scope="session")
def shared_s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3")) as url:
        yield url


@pytest.fixture(scope="session")
def s3(shared_s3):
    return boto3.client(
        "s3",
        endpoint_url=shared_s3,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
