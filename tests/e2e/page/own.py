"""A service of a test's own: it can be ended and started again, and its LLM can be told to refuse."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from local.front.httpd import Request, Response, Server, answer_json
from local.offline_llm.server import MAX_BODY_BYTES, OfflineLlm
from tests.e2e.stack import Stack, free_ports, started
from tests.support.world import tidied

TIDIED = b"# The file (JSON object"
"""In the question of a tidy run alone."""


class Model:
    """The offline LLM, which refuses every call while `refuses` is set. Its tidy runs take every second item away."""

    def __init__(self) -> None:
        self.refuses = False
        self._offline = OfflineLlm()
        self._server = Server("127.0.0.1", 0, self._answer, max_body=MAX_BODY_BYTES)
        self._server.start()

    @property
    def url(self) -> str:
        return f"{self._server.url}/v1"

    def stop(self) -> None:
        self._server.stop()

    def _answer(self, request: Request) -> Response:
        if self.refuses:
            return answer_json(400, {"error": {"message": "no"}})
        if TIDIED in request.body:
            message = {"role": "assistant", "content": tidied(json.loads(request.body)["messages"])}
            return answer_json(200, {"choices": [{"message": message, "finish_reason": "stop"}]})
        return self._offline.answer(request)


@dataclass
class Own:
    """The service: always at the same address and with the same data."""

    data: Path
    model: Model = field(default_factory=Model)
    stack: Stack | None = None
    url: str = ""
    token: str = ""
    port: int = field(default_factory=lambda: free_ports(1))

    def start(self) -> None:
        (self.data / "endpoints.json").unlink(missing_ok=True)
        self.stack = Stack(
            self.data,
            PORT=str(self.port),
            LLMAAS_API_URL=self.model.url,
            # Not the offline LLM by its name, which never tidies.
            LLMAAS_MODEL="shortens",
            EMBEDDINGS_API_URL="off",
            CONSOLIDATION_COOLDOWN_SECONDS="120",
            UPLOADS_PER_TOKEN_PER_DAY="1",
        )
        running = started(self.data, self.stack.process)
        self.url, self.token = running.url, running.token

    def stop(self) -> None:
        if self.stack is None:
            return
        stack, self.stack = self.stack, None
        wrong = stack.stop()
        assert not wrong, wrong

    def end_pause(self, space: str) -> None:
        """As if the last run of the space that was started by hand were long ago."""
        (claim,) = self.data.glob(f"s3/*/{space}/**/by_hand.json")
        os.utime(claim, (0, 0))
