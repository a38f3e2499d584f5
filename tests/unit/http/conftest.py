from collections.abc import Iterator

import pytest

from tests.support.functions import forget
from tests.support.world import BOOTSTRAP_KEY


@pytest.fixture(scope="module")
def unreachable() -> Iterator[None]:
    """The functions with a store that can't be reached: whoever asks it gets a 503."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_MAX_ATTEMPTS": "1",
            "S3_BUCKET_NAME": "live-memory",
            "S3_ENDPOINT_URL": "http://127.0.0.1:9",
            "S3_REGION_NAME": "eu-west-1",
            "ADMIN_BOOTSTRAP_KEY": BOOTSTRAP_KEY,
            "CONSOLIDATE_FUNCTION_NAME": "live-memory-consolidate",
            "AWS_ENDPOINT_URL_LAMBDA": "http://127.0.0.1:9",
            "POWERTOOLS_METRICS_NAMESPACE": "LiveMemory",
        }.items():
            patch.setenv(name, value)
        forget()
        yield
    forget()
