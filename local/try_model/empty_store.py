"""An empty store for the questions of a trial: the embedded S3 in a folder that ends with it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from livemem.settings import Settings
from livemem.store.objects import Store, open_store
from local.files import read_secret
from local.front.httpd import Server
from local.s3 import ACCESS_KEY
from local.s3.application import MAX_OBJECT_BYTES, S3Application
from local.s3.backend import MotoBackend
from local.s3.disk import Disk
from local.s3.events import InvokePoster, Notifier
from local.s3.signatures import Signatures

BUCKET = "trial"
REGION = "us-east-1"


@contextmanager
def empty_store(settings: Settings) -> Iterator[Store]:
    """A store of its own, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="livemem-trial-") as name:
        folder = Path(name)
        secret = read_secret(folder / "s3.key")
        notifier = Notifier([], folder / "s3-events", InvokePoster(""))
        application = S3Application(MotoBackend(), Disk(folder / "objects"), notifier, Signatures(ACCESS_KEY, secret))
        application.ensure_bucket(BUCKET, REGION)
        server = Server("127.0.0.1", 0, application.answer, max_body=MAX_OBJECT_BYTES)
        server.start()
        own = {
            "s3_endpoint_url": server.url,
            "s3_bucket_name": BUCKET,
            "s3_region_name": REGION,
            "s3_access_key_id": ACCESS_KEY,
            "s3_secret_access_key": secret,
            "s3_signature": "v4",
        }
        try:
            yield open_store(settings.model_copy(update=own))
        finally:
            server.stop()
