"""Many who make tokens at once, on one bucket behind HTTP, lose none."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from livemem.access import secret, tokens
from livemem.access.principal import BOOTSTRAP_NAME, PERMISSIONS, Principal
from livemem.llm import client as llm
from livemem.llm import tool_calling
from livemem.process import Process
from livemem.settings import Settings
from livemem.store.bucket import TOKENS
from livemem.store.clients import open_store
from local.store.client import FileStore
from tests.integration.local.support import s3_server

MAKERS = 10


def test_10_tokens_made_at_once_by_two_clients_are_10_in_the_registry(tmp_path: Path) -> None:
    FileStore(tmp_path).create_bucket(Bucket="live-memory")
    with s3_server(tmp_path) as url:
        access = {"s3_access_key_id": "key", "s3_secret_access_key": "secret", "s3_region_name": "us-east-1"}
        settings = Settings(s3_bucket_name="live-memory", s3_endpoint_url=url, **access)
        stores = [open_store(settings), open_store(settings)]
        caller = Principal(BOOTSTRAP_NAME, frozenset(PERMISSIONS), frozenset(), bootstrap=True)

        def make(number: int) -> None:
            # With caches of its own, as environments of Lambda have them.
            models = llm.connect(settings), tool_calling.connect(settings)
            process = Process(stores[number % 2], settings, *models, enqueue=print, new_suffix=str)
            tokens.create(process, caller, secret.new(), tokens.TokenRequest(f"agent-{number}", ["read"]))

        with ThreadPoolExecutor(MAKERS) as crew:
            list(crew.map(make, range(MAKERS)))
        registry = stores[0].get(TOKENS)

    assert registry
    made = json.loads(registry.body)["tokens"]
    assert {entry["name"] for entry in made} == {f"agent-{number}" for number in range(MAKERS)}
    assert len({entry["hash"] for entry in made}) == len(made) == MAKERS
