"""An empty store for the questions of a trial: the embedded one in a folder that ends with it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from livemem.store.objects import Store
from local.store.client import FileStore

BUCKET = "trial"


@contextmanager
def empty_store() -> Iterator[Store]:
    """A store of its own, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="livemem-trial-") as name:
        files: Any = FileStore(Path(name))
        files.create_bucket(Bucket=BUCKET)
        yield Store(BUCKET, files, files)
