"""`python -m local.sam`: the service on SAM CLI, Docker and MinIO until Ctrl-C."""

import sys
from typing import Any

from local.__main__ import ready_text, serve
from local.config import Config
from local.sam.config import read_config
from local.sam.minio import ACCESS_KEY
from local.sam.stack import Stack


def _describe(config: Config, endpoints: dict[str, Any], took: str) -> str:
    more = {
        "Lambda": endpoints["lambda"],
        "S3": f"{endpoints['s3']}  (bucket {endpoints['bucket']})",
        "S3 keys": f"{ACCESS_KEY}, {config.data / 'minio.key'}",
    }
    sweep = f"{endpoints['lambda']}/2015-03-31/functions/SweepFunction/invocations"
    return (
        f"{ready_text(f'on sam local and MinIO ({took})', config, endpoints, more)}\n"
        "Schedules do not run by themselves here: of every 15 minutes, and of every day\n"
        f"  curl -d @events/sweep-schedule.json {sweep}\n  curl -d @events/sweep-all.json {sweep}\nStop with Ctrl-C."
    )


if __name__ == "__main__":
    sys.exit(serve(read_config, Stack, _describe))
