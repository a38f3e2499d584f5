"""A stand-in LLM that counts: who asked, for which run, about which notes. It answers after a while.

It keeps the bank small, so that thousands of runs take no longer than the first ones: each answer replaces the one
section of one of a few files.
"""

import json
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.chaos.door import Answer, Call, Door
from benchmarks.chaos.logs import Log
from tests.support.world import read_prompt

MODEL = "stand-in"
FILES = 4
HEADING = "## Notes"
_JSON = (("Content-Type", "application/json"),)


@dataclass
class Asked:
    """One question: when (seconds since the beginning), and with which text the first of its notes begins."""

    at: float
    first: str


@dataclass
class LlmDoor:
    """The LLM's server."""

    log: Log
    seconds: tuple[float, float]
    """The least and the most that an answer takes."""
    random: random.Random
    asked: list[Asked] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.door = Door(self._answer)

    @property
    def url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"{self.door.url}/v1"

    def _answer(self, call: Call) -> Answer:
        if call.method == "GET":
            return Answer(200, _JSON, json.dumps({"object": "list", "data": [{"id": MODEL}]}).encode())
        prompt = read_prompt(json.loads(call.body)["messages"])
        asked = Asked(self.log.now(), prompt["notes"][0]["content"].partition(" ")[0] if prompt["notes"] else "")
        with self._lock:
            self.asked.append(asked)
            pause = self.random.uniform(*self.seconds)
        self.log.write(t=asked.at, notes=len(prompt["notes"]), first=asked.first, seconds=round(pause, 1))
        time.sleep(pause)
        return Answer(200, _JSON, json.dumps(_completion(fold(prompt), len(call.body))).encode())


def fold(prompt: dict[str, Any]) -> str:
    """The answer to a prompt: the notes become the only section of one of a few files."""
    numbers = [note["number"] for note in prompt["notes"]]
    lines = "\n".join(f"- {note['content'][:40]}" for note in prompt["notes"][-20:])
    name = f"notes-{len(prompt['notes'][0]['content']) % FILES}.md"
    present = prompt["bank"].get(name)
    reason = "Only the newest notes are kept here."
    file: dict[str, Any]
    if present is not None and present.count(f"\n{HEADING}\n") == 1:
        edit = {"op": "replace_section", "heading": HEADING, "content": lines, "notes": numbers, "reason": reason}
        file = {"filename": name, "action": "edited", "edits": [edit], "reason": reason}
    else:
        action = "created" if present is None else "updated"
        content = f"# Notes\n\n{HEADING}\n\n{lines}\n"
        file = {"filename": name, "action": action, "content": content, "notes": numbers, "reason": reason}
    return json.dumps({"bank_files": [file], "synthesis": f"{len(numbers)} notes.", "discarded": []})


def _completion(content: str, asked: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        # About what a model would count: health wonders about fewer.
        "usage": {"prompt_tokens": asked // 2, "completion_tokens": len(content) // 2, "total_tokens": asked},
    }
