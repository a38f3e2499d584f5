"""The HTTP face of the own model: chat completions as OpenAI's API has them, for the service alone.

Consolidations are asked of the program. All else is answered by the fixed rules of the offline LLM, unless the user
wants it otherwise (`--llm-for all`). Questions call tools, which the program does not get: they always go to the rules.
"""

import hmac
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.files import new_secret
from local.front.httpd import Request, Response, Server, answer_json
from local.offline_llm import chat
from local.offline_llm.api import ApiError, completion
from local.offline_llm.prompt import text_of
from local.own_model import claude_code, self_check
from local.own_model.choice import OwnModelChoice
from local.own_model.claude_code import SYSTEM_FILE, ClaudeAnswer, LimitReached, failed
from local.own_model.single_process import ProcessFailed, SingleProcess

MOST_SECONDS = 600.0
MAX_BODY_BYTES = 32 * 1024 * 1024


class OwnModel:
    """Answers requests in the form of OpenAI's API. Safe for threads."""

    def __init__(self, chosen: OwnModelChoice, outer: Mapping[str, str], record: Path, key: str) -> None:
        """`outer`: the user's variables. `record`: the file that names the running process. `key`: of the requests."""
        self._chosen, self._outer, self._key = chosen, outer, key
        self._process = SingleProcess(record)
        self._turn = threading.Lock()
        self._checked: object = None
        self._problem: ApiError | None = None

    def answer(self, request: Request) -> Response:
        """Answer one request; every failure becomes the error object that OpenAI clients expect."""
        try:
            if not hmac.compare_digest(
                (request.header("Authorization") or "").encode(), f"Bearer {self._key}".encode()
            ):
                raise ApiError(401, "This model is for its service alone.")
            return answer_json(200, self._route(request))
        except LimitReached as error:
            return answer_json(429, error.body(), (("Retry-After", f"{max(error.until - time.time(), 1):.0f}"),))
        except ApiError as error:
            return answer_json(error.status, error.body())

    def look(self) -> None:
        """Find out what keeps the program from answering: `GET /v1/models` tells it from now on."""
        with self._turn:
            try:
                self._process.end_former()
                self._check()
            except ProcessFailed as error:
                self._problem = failed(str(error))
            except ApiError as error:
                self._problem = error

    def close(self) -> None:
        """End the process that runs; none is started from now on."""
        self._process.close()

    def _route(self, request: Request) -> dict[str, Any]:
        if request.path == "/v1/models":
            if self._problem and not _is_over(self._problem):
                raise self._problem
            name = self._chosen.model(self._outer.get("LLMAAS_MODEL", ""))
            return {"object": "list", "data": [{"id": name, "object": "model", "owned_by": claude_code.NAME}]}
        body = json.loads(request.body)
        if body.get("tools") or not (self._chosen.for_all or chat.is_consolidation(body["messages"])):
            return chat.complete_chat(body)
        seconds = min(float(request.header("X-Stainless-Read-Timeout") or MOST_SECONDS), MOST_SECONDS)
        until = time.monotonic() + seconds
        if not self._turn.acquire(timeout=seconds):
            raise failed("is at work on another question")
        try:
            return self._complete(body, until - time.monotonic())
        except ApiError as error:
            self._problem = error
            raise
        finally:
            self._turn.release()

    def _complete(self, body: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        if isinstance(self._problem, LimitReached) and not _is_over(self._problem):
            raise self._problem
        self._check()
        system, prompt = _flattened(body["messages"])
        _, _, model = str(body.get("model")).partition("/")
        limit = body.get("max_tokens")
        more = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(limit)} if limit else {}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / SYSTEM_FILE).write_text(system, "utf-8")
            said = self._ask(prompt, folder, more, seconds, ["--model", model] if model else [])
        self._problem = None
        message, tokens = {"content": said.text}, (said.prompt_tokens, said.completion_tokens)
        return completion(str(body.get("model")), message, said.finish, *tokens, cost=said.cost)

    def _check(self) -> None:
        """Look whether the program is there, and once for each version whether it keeps to its prompt."""
        program = self._chosen.program
        claude_code.check_managed(self._outer.get("HOME", ""))
        try:
            state = program.stat()
        except OSError as error:
            raise failed(f"is not installed at {program}: `livemem serve --llm claude` looks for it again") from error
        version = (program.resolve(), state.st_mtime_ns, state.st_size)
        if self._checked == version:
            return

        def ask(prompt: str, folder: Path, more: Mapping[str, str]) -> str:
            return self._ask(prompt, folder, more, self_check.SECONDS).text

        if self_check.leaks(ask):
            raise failed("of this version may send more than the notes, so it is not used")
        self._checked, self._problem = version, None

    def _ask(
        self, prompt: str, folder: Path, more: Mapping[str, str], seconds: float, flags: Sequence[str] = ()
    ) -> ClaudeAnswer:
        program = self._chosen.program
        command = [str(program), *claude_code.FLAGS, *flags]
        variables = claude_code.environment(self._outer, program, **more)
        try:
            # A prompt that began with a slash would be a command.
            return claude_code.read(
                *self._process.run(command, f"The request:\n\n{prompt}".encode(), folder, variables, seconds)
            )
        except ProcessFailed as error:
            raise failed(str(error)) from error
        except OSError as error:
            raise failed(f"could not be started ({error.strerror})") from error


def _is_over(problem: ApiError) -> bool:
    return isinstance(problem, LimitReached) and problem.until <= time.time()


def _flattened(messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The system's text, and all else as one prompt: a command line takes no conversation."""
    system = [text_of(message) for message in messages if message.get("role") == "system"]
    rest = [message for message in messages if message.get("role") != "system"]
    if len(rest) == 1:
        return "\n\n".join(system), text_of(rest[0])
    heads = {"assistant": "# Your answer before", "user": "# Request"}
    turns = [f"{heads.get(str(one.get('role')), '')}\n\n{text_of(one)}" for one in rest]
    return "\n\n".join(system), "\n\n".join(turns)


@contextmanager
def serving(chosen: OwnModelChoice, outer: Mapping[str, str], record: Path) -> Iterator[tuple[str, str]]:
    """The address and the key of the model, for as long as the block lasts. Raises OSError."""
    key = new_secret()
    own = OwnModel(chosen, outer, record, key)
    server = Server("127.0.0.1", 0, own.answer, max_body=MAX_BODY_BYTES)
    server.start()
    threading.Thread(target=own.look, name="own-model", daemon=True).start()
    try:
        yield f"{server.url}/v1", key
    finally:
        own.close()
        server.stop()
