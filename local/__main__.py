"""`python -m local`: the whole service on this machine until Ctrl-C."""

import contextlib
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from local import command_line, models, stopping, terminal
from local.config import Config, ConfigError, read_config
from local.data_dir import DataDirError
from local.functions.logs import keep_small
from local.functions.template import TemplateError
from local.runtime import Runtime
from local.stopping import StopRequest
from local.workers import Workers


def main() -> int:
    """Run until SIGINT or SIGTERM; returns the exit status."""
    return serve(read_config, _make, _describe)


def serve(
    read: Callable[[], Config], make: Callable[[Config], Any], describe: Callable[[Config, dict[str, Any], str], str]
) -> int:
    """Run a service until SIGINT or SIGTERM; returns the exit status.

    A service has `data`, `start` (gives its endpoints), `look` (both raise OSError), `stop`. `describe` gets how long.
    """
    terminal.protect()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stderr)
    began = time.monotonic()
    stopping.on_signals(stopping.interrupt)
    try:
        config = read()
        service = make(config)
    except KeyboardInterrupt:
        return 1
    except (ConfigError, DataDirError, TemplateError, OSError) as error:
        return _complain(error, getattr(error, "status", 1))
    service.data.lock_until_exit()
    stop = StopRequest()
    try:
        endpoints = service.start()
        stopping.on_signals(stop.ask)
        ready = describe(config, endpoints, f"{time.monotonic() - began:.1f} s")
        print(command_line.in_its_words(ready, os.environ), flush=True)
        while not (stop.wait(0.2) or service.data.is_to_stop()):
            service.look()
            if config.log_file:
                keep_small(config.log_file)
    except OSError as error:
        return _complain(error)
    except KeyboardInterrupt:
        return 1
    finally:
        # A second Ctrl-C ends it at once; other processes notice by themselves.
        stopping.on_signals(signal.SIG_DFL)
        with contextlib.suppress(OSError):  # nobody may be left to read it
            print("Stopping.", flush=True)
        service.stop()
        gc.freeze()  # what the process held is not looked through while it ends
    return 0


def ready_text(title: str, config: Config, endpoints: Mapping[str, Any], more: Mapping[str, str]) -> str:
    """What the terminal shows when a service is ready."""
    key = "the one of ADMIN_BOOTSTRAP_KEY, or of ADMIN_BOOTSTRAP_KEY_SHA256"
    if endpoints["admin_key_file"]:
        key = f'{endpoints["admin_key_file"]}  (export TOKEN=$(cat "{endpoints["admin_key_file"]}"))'
    rows = {
        "API": f"{endpoints['api']}/v1",
        "Agents": f"{endpoints['api']}/mcp  (docs/mcp.md)",
        **more,
        **models.describe(endpoints),
        "Admin key": key,
        "Data": f"{config.data}  (logs in {config.data / ('logs' if config.workers == 1 else 'workers')})",
    }
    lines = [f"Live Memory is ready {title}.", *(f"  {name:10} {value}" for name, value in rows.items())]
    return "\n".join([*lines, f'Try:  curl -H "Authorization: Bearer $TOKEN" {endpoints["api"]}/v1/whoami'])


def _make(config: Config) -> Runtime | Workers:
    try:
        return Workers(config) if config.workers > 1 else Runtime(config)
    except OSError as error:
        why = f"{config.host}:{config.port}: {error.strerror}"
        raise OSError(f"Cannot listen on {why}. Set PORT to another port (0: any free one).") from error


def _describe(config: Config, endpoints: dict[str, Any], took: str) -> str:
    store = f"{endpoints['s3']}  (bucket {endpoints['bucket']}{', embedded' if config.embedded else ''})"
    title = f"({took}{f', {config.workers} workers' if config.workers > 1 else ''})"
    return f"{ready_text(title, config, endpoints, {'Store': store})}\nStop with Ctrl-C."


def _complain(error: Exception, status: int = 1) -> int:
    print(command_line.in_its_words(str(error), os.environ), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
