"""`python -m local.sam`: the service on SAM CLI, Docker and MinIO until Ctrl-C."""

import sys
import time
from typing import Any

from local import embeddings, stopping, terminal
from local.config import WRONG_VARIABLE, ConfigError
from local.data_dir import DataDirError
from local.functions.template import TemplateError
from local.sam.config import SamConfig, read_config
from local.sam.minio import ACCESS_KEY
from local.sam.servers import StackError
from local.sam.stack import Stack
from local.stopping import StopRequest

# Nothing was started: a part is missing.
_CANNOT_RUN = 3


def main() -> int:
    """Run until SIGINT or SIGTERM; returns the exit status."""
    terminal.protect()
    began = time.monotonic()
    stopping.interrupt_on_signals()
    try:
        config = read_config()
        stack = Stack(config, lambda line: print(f"  {line}", flush=True))
    except KeyboardInterrupt:
        return 1
    except ConfigError as error:
        _complain(str(error))
        return WRONG_VARIABLE
    except (DataDirError, StackError, TemplateError) as error:
        _complain(str(error))
        return _CANNOT_RUN
    stop = StopRequest()
    failure = None
    try:
        endpoints = stack.start()
        stop.on_signals()
        print(_describe(config, endpoints, time.monotonic() - began), flush=True)
        while failure is None and not stop.wait(0.5):
            failure = stack.find_failure()
    except StackError as error:
        failure = str(error)
    except KeyboardInterrupt:
        failure = "Interrupted."
    finally:
        # A second Ctrl-C ends it at once; the leashes notice by themselves.
        stopping.leave_to_the_system()
        print("Stopping.", flush=True)
        stack.stop()
    return _complain(failure) if failure else 0


def _describe(config: SamConfig, endpoints: dict[str, Any], seconds: float) -> str:
    llm = endpoints["llm"]
    if endpoints["llm_is_offline_stand_in"]:
        llm += "  (offline stand-in: fixed rules, no language model; set LLMAAS_API_URL for a real one)"
    key = "the one of ADMIN_BOOTSTRAP_KEY, or of ADMIN_BOOTSTRAP_KEY_SHA256"
    if endpoints["admin_key_file"]:
        key = f'{endpoints["admin_key_file"]}  (export TOKEN=$(cat "{endpoints["admin_key_file"]}"))'
    lines = [
        f"Live Memory is ready on sam local and MinIO ({seconds:.0f} s).",
        f"  API        {endpoints['api']}/v1",
        f"  Agents     {endpoints['api']}/mcp  (docs/mcp.md)",
        f"  Lambda     {endpoints['lambda']}",
        f"  S3         {endpoints['s3']}  (bucket {endpoints['bucket']})",
        f"  S3 keys    {ACCESS_KEY}, {config.data / 'minio.key'}",
        f"  LLM        {llm}",
        f"  Embeddings {embeddings.describe(endpoints)}",
        f"  Admin key  {key}",
        f"  Logs       {endpoints['logs']}",
        f'Try:  curl -H "Authorization: Bearer $TOKEN" {endpoints["api"]}/v1/whoami',
        "Schedules do not run by themselves here: of every 15 minutes, and of every day",
        f"  curl -d @events/sweep-schedule.json {endpoints['lambda']}/2015-03-31/functions/SweepFunction/invocations",
        f"  curl -d @events/sweep-all.json {endpoints['lambda']}/2015-03-31/functions/SweepFunction/invocations",
        "Stop with Ctrl-C.",
    ]
    return "\n".join(lines)


def _complain(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
