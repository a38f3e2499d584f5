"""The embedded S3 server as a program: `python -m local.s3 --data .local`."""

import argparse
import logging
from pathlib import Path

from local import terminal
from local.files import read_secret
from local.front.httpd import Server
from local.s3 import ACCESS_KEY, KEY_FILE
from local.s3.application import MAX_OBJECT_BYTES, S3Application
from local.s3.signatures import Signatures
from local.stopping import StopRequest
from local.store.client import FileStore


def main() -> None:
    """Serve until SIGTERM or SIGINT; prints one line when it is ready."""
    terminal.protect()
    parser = argparse.ArgumentParser(prog="python -m local.s3", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--data", type=Path, required=True, help="folder that keeps the objects")
    parser.add_argument("--access-key", default=ACCESS_KEY, help="the only one that the server knows")
    parser.add_argument("--key-file", type=Path, help="holds its secret key; made unless it exists (DATA/s3.key)")
    parser.add_argument("--bucket", help="created unless it exists")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="S3: %(message)s")

    arguments.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret_key = read_secret(arguments.key_file or arguments.data / KEY_FILE)
    store = FileStore(arguments.data)
    if arguments.bucket:
        store.create_bucket(Bucket=arguments.bucket)
    answer = S3Application(store, Signatures(arguments.access_key, secret_key)).answer
    server = Server(arguments.host, arguments.port, answer, max_body=MAX_OBJECT_BYTES)
    server.start()
    stop = StopRequest()
    stop.on_signals()
    print(f"S3 ready on {server.url}", flush=True)
    stop.wait()
    server.stop(grace_seconds=2.0)


if __name__ == "__main__":
    main()
