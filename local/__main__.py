"""`python -m local`: the whole service on this machine until Ctrl-C."""

import contextlib
import logging
import os
import sys
import time
from typing import Any

from local import command_line, embeddings, stopping, terminal
from local.config import WRONG_VARIABLE, Config, ConfigError, read_config
from local.data_dir import DataDirError, DataDirInUseError
from local.functions.logs import keep_small
from local.functions.template import TemplateError
from local.runtime import Runtime
from local.stopping import StopRequest
from local.workers import Workers

IN_USE = 4
"""The exit status where another service uses the folder. The command line then waits for that service."""


def main() -> int:
    """Run until SIGINT or SIGTERM; returns the exit status."""
    terminal.protect()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stderr)
    began = time.monotonic()
    stopping.interrupt_on_signals()
    try:
        config = read_config()
        runtime = Workers(config) if config.workers > 1 else Runtime(config)
    except KeyboardInterrupt:
        return 1
    except ConfigError as error:
        _complain(str(error))
        return WRONG_VARIABLE
    except DataDirInUseError as error:
        _complain(str(error))
        return IN_USE
    except (DataDirError, TemplateError) as error:
        return _complain(str(error))
    except OSError as error:
        where = f"{config.host}:{config.port}"
        return _complain(f"Cannot listen on {where}: {error.strerror}. Set PORT to another port (0: any free one).")
    runtime.data.lock_until_exit()
    stop = StopRequest()
    try:
        endpoints = runtime.start()
        stop.on_signals()
        ready = _describe(config, endpoints, time.monotonic() - began)
        print(command_line.in_its_words(ready, os.environ), flush=True)
        while not (stop.wait(0.2) or runtime.data.is_to_stop()):
            runtime.look()
            if config.log_file:
                keep_small(config.log_file)
    except OSError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return 1
    finally:
        # A second Ctrl-C ends it at once; the children notice by themselves.
        stopping.leave_to_the_system()
        with contextlib.suppress(OSError):  # nobody may be left to read it
            print("Stopping.", flush=True)
        runtime.stop()
    return 0


def _describe(config: Config, endpoints: dict[str, Any], seconds: float) -> str:
    if endpoints["llm_is_offline_stand_in"]:
        llm = (
            f"{endpoints['llm']}  (offline stand-in: fixed rules, no language model; set LLMAAS_API_URL for a real one)"
        )
    else:
        llm = endpoints["llm"]
    if endpoints["admin_key_file"]:
        key = f'{endpoints["admin_key_file"]}  (export TOKEN=$(cat "{endpoints["admin_key_file"]}"))'
    else:
        key = "the one of ADMIN_BOOTSTRAP_KEY, or of ADMIN_BOOTSTRAP_KEY_SHA256"
    lines = [
        f"Live Memory is ready ({seconds:.1f} s{f', {config.workers} workers' if config.workers > 1 else ''}).",
        f"  API        {endpoints['api']}/v1",
        f"  Agents     {endpoints['api']}/mcp  (docs/mcp.md)",
        f"  Store      {endpoints['s3']}  (bucket {endpoints['bucket']}{', embedded' if config.embedded else ''})",
        f"  LLM        {llm}",
        f"  Embeddings {embeddings.describe(endpoints)}",
        f"  Admin key  {key}",
        f"  Data       {config.data}  (logs in {config.data / ('logs' if config.workers == 1 else 'workers')})",
        f'Try:  curl -H "Authorization: Bearer $TOKEN" {endpoints["api"]}/v1/whoami',
        "Stop with Ctrl-C.",
    ]
    return "\n".join(lines)


def _complain(sentence: str) -> int:
    print(command_line.in_its_words(sentence, os.environ), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
