"""A process that makes tokens in a bucket: `python -m tests.support.token_maker URL COUNT NAME`, all at once."""

import sys
from concurrent.futures import ThreadPoolExecutor

from livemem.access import secret, tokens
from livemem.access.principal import BOOTSTRAP_NAME, PERMISSIONS, Principal
from livemem.llm import client as llm
from livemem.llm import tool_calling
from livemem.process import Process
from livemem.settings import Settings
from livemem.store.clients import open_store


def main(url: str, count: str, name: str) -> None:
    """Make `count` tokens, each in a thread with caches of its own, as Lambda environments have them."""
    settings = Settings(
        s3_bucket_name="live-memory",
        s3_endpoint_url=url,
        s3_region_name="us-east-1",
        s3_access_key_id="key",
        s3_secret_access_key="secret",
    )
    caller = Principal(BOOTSTRAP_NAME, frozenset(PERMISSIONS), frozenset(), bootstrap=True)
    store = open_store(settings)

    def make(number: int) -> None:
        process = Process(
            store,
            settings,
            llm.connect(settings),
            tool_calling.connect(settings),
            enqueue=print,
            new_suffix=str,
        )
        wanted = tokens.TokenRequest(f"{name}-{number}", ["read"])
        tokens.create(process, caller, secret.new(), wanted)

    with ThreadPoolExecutor(int(count)) as crew:
        list(crew.map(make, range(int(count))))


if __name__ == "__main__":
    main(*sys.argv[1:])
