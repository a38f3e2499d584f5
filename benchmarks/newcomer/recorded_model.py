"""A model whose answers were given once, by a reader of the prompts, behind OpenAI's API.

An answer is known by what its prompt is about: the words of the turns, or the notes and the names of the bank's files.
Prompts may change without making it unknown.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from local.front.httpd import Request, Response, Server, answer_json
from tests.support.talk import asked_for
from tests.support.world import read_prompt

MODEL = "recorded"


def place_of(messages: list[dict[str, str]]) -> str:
    """The name of the answer to a prompt."""
    folds = "# Live notes" in messages[1]["content"]
    if folds:
        read = read_prompt(messages)
        told = [[note["content"] for note in read["notes"]], sorted(read["bank"])]
    else:
        told = [[part.get("summary", [part.get("user"), part.get("assistant")]) for part in asked_for(messages)]]
    text = json.dumps([*told, len(messages)], ensure_ascii=False)
    return f"{'fold' if folds else 'summary'} {sha256(text.encode()).hexdigest()[:16]}"


class RecordedModel:
    """Answers what is known. What is not is `unknown`, by its name, and answered with 503."""

    def __init__(self, answers: Path) -> None:
        rows = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
        self._answers: Mapping[str, Any] = {row["place"]: row["answer"] for row in rows}
        self.unknown: dict[str, str] = {}
        self.calls = 0

    def answer(self, request: Request) -> Response:
        """Answer a request."""
        if request.path == "/v1/models":
            return answer_json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        messages = json.loads(request.body)["messages"]
        place = place_of(messages)
        self.calls += 1
        if place not in self._answers:
            self.unknown[place] = messages[1]["content"]
            return answer_json(503, {"error": {"message": f"No answer is recorded for {place}."}})
        message = {"role": "assistant", "content": json.dumps(self._answers[place], ensure_ascii=False)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {"id": place, "object": "chat.completion", "created": int(time.time()), "model": MODEL}
        return answer_json(200, {**whole, "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


@contextmanager
def serving(answers: Path) -> Iterator[tuple[RecordedModel, str]]:
    """The model, and its base URL on loopback, until the end of the block."""
    model = RecordedModel(answers)
    server = Server("127.0.0.1", 0, model.answer, max_body=1 << 24)
    server.start()
    try:
        yield model, f"{server.url}/v1"
    finally:
        server.stop()
