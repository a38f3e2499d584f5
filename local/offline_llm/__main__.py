"""Run the offline LLM: `python -m local.offline_llm --port 8899`."""

import argparse
import logging
import sys

from local import terminal
from local.offline_llm import server as offline_llm
from local.offline_llm.api import MODEL
from local.stopping import StopRequest, on_signals


def main() -> int:
    """Serve until SIGTERM or Ctrl-C; prints one line when ready. Returns the exit status."""
    terminal.protect()
    parser = argparse.ArgumentParser(
        prog="python -m local.offline_llm",
        description="An OpenAI-compatible server: it folds notes by fixed rules (no language model), and embeds texts.",
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 (the default) takes a free one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        server = offline_llm.bind(options.host, options.port)
    except OSError as error:
        print(f"offline LLM: cannot listen on {options.host}:{options.port}: {error.strerror}", file=sys.stderr)
        return 1
    stop = StopRequest()
    on_signals(stop.ask)
    server.start()
    print(f"offline LLM ready: rule-based stand-in, model {MODEL}, at {offline_llm.base_url(server)}", flush=True)
    stop.wait()
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
