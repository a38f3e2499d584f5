import contextlib
import itertools
import json
from pathlib import Path

import pytest

from local.front.httpd import Request, Response, Server
from local.functions.environments import Nursery
from local.functions.pools import FunctionPool
from tests.integration.local.support import MANY, MANY_BUCKET, S3Process, build_pool

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
def told() -> list[Request]:
    """What the shared server posted to the Invoke API."""
    return []


@pytest.fixture(scope="session")
def shared_s3(start_s3, tmp_path_factory, told):
    data = tmp_path_factory.mktemp("s3")
    many = data / "s3" / MANY_BUCKET / "space" / "live"
    many.mkdir(parents=True)
    for number in range(MANY):
        (many / f"{number:04d}.md").touch()
    subscriptions = json.dumps([{"function": "Counter", "name": "Written", "prefix": "told/", "suffix": ".md"}])
    invoke_api = Server("127.0.0.1", 0, lambda request: told.append(request) or Response(202), max_body=10**6)
    invoke_api.start()
    yield start_s3(data, "--subscriptions", subscriptions, "--invoke-url", invoke_api.url)
    invoke_api.stop()


@pytest.fixture(scope="session")
def s3(shared_s3):
    return shared_s3.client()


@pytest.fixture
def bucket(s3) -> str:
    name = f"bucket-{next(_numbers)}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture(scope="session")
def nursery(tmp_path_factory):
    nursery = Nursery(tmp_path_factory.mktemp("nursery") / "scratch")
    nursery.start()
    yield nursery
    nursery.close()


@pytest.fixture
def make_pool(nursery, tmp_path):
    """Builds a pool for a function whose module is given as text."""
    with contextlib.ExitStack() as stack:

        def make(source: str, name: str = "TestFunction", limit: int = 4, **settings) -> FunctionPool:
            pool = build_pool(nursery, tmp_path, source, name, limit, **settings)
            stack.callback(pool.close)
            return pool

        yield make
