"""Models that are built when they are first needed are built by one thread: another one would meet half of a model."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic_core import core_schema

from livemem.store.stored_documents import StoredDocument

MANY_ANSWERS_AT_ONCE = """
import threading, httpx, pydantic
from livemem.llm import api
from livemem.llm.client import LlmError

THREADS, builders = 8, set()
together = threading.Barrier(THREADS)
build = pydantic.BaseModel.model_rebuild.__func__

def heard(cls, **how):
    if not cls.__pydantic_complete__:
        builders.add(threading.get_ident())
    return build(cls, **how)

pydantic.BaseModel.model_rebuild = classmethod(heard)

def answer(request):
    together.wait(30)
    return httpx.Response(200, json=api_answer)

api_answer = {
    "id": "x", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
target = api.LlmApi("llm", "LLM", "LLMAAS", LlmError, "http://nowhere.invalid/v1", "none")

def request(client):
    http = httpx.Client(transport=httpx.MockTransport(answer))
    return client.with_options(http_client=http).chat.completions.create(model="m", messages=[])

def ask():
    read.append(api.call(target, "none", 60, request, lambda completion: completion.choices[0].message.content))

read = []
threads = [threading.Thread(target=ask) for _ in range(THREADS)]
[one.start() for one in threads]
[one.join() for one in threads]
print(len(read), len(builders))
"""


@pytest.mark.process
def test_the_sdks_models_are_built_by_one_thread_before_answers_are_read_side_by_side():
    done = subprocess.run(
        [sys.executable, "-c", MANY_ANSWERS_AT_ONCE],
        env={"PYTHONPATH": "layers/livemem"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["8", "1"], done.stderr


def test_a_document_is_built_by_one_thread_at_a_time():
    at_work, most, second = [], [], threading.Event()

    class Slow:
        @classmethod
        def __get_pydantic_core_schema__(cls, source, handler):
            at_work.append(cls)
            most.append(len(at_work))
            # Whoever else builds it comes in here meanwhile.
            second.set() if len(at_work) > 1 else second.wait(0.5)
            at_work.remove(cls)
            return core_schema.any_schema()

    class Fresh(StoredDocument):
        part: Slow

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: Fresh.from_bytes(b'{"part": 1}'), range(2)))
    assert max(most) == 1
