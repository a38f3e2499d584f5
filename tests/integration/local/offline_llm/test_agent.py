"""The service's own client and the offline LLM as an agent, over HTTP."""

import json

from livemem.ask import tools as offers
from livemem.llm import tool_calling
from livemem.llm.tool_calling import Thread
from livemem.settings import Settings
from local.front.httpd import Server
from local.offline_llm.server import base_url


def test_the_services_client_gets_calls_of_tools_and_then_an_answer_from_their_results(server: Server) -> None:
    converse = tool_calling.connect(Settings(llmaas_api_url=base_url(server), llmaas_model="offline-rules"))
    offered = offers.offered(may_write=True, only_respond=False)
    thread: Thread = [{"role": "user", "content": "Who looks after the ferry?"}]

    first = converse(thread, offered, 500, 10)
    result = {"results": [{"id": "m1", "text": "Ines looks after the ferry."}]}
    thread += [
        tool_calling.as_message(first),
        {"role": "tool", "tool_call_id": first.calls[0].id, "content": json.dumps(result)},
    ]
    second = converse(thread, offered, 500, 10, required=True)

    assert [one.name for one in first.calls] == ["search_memories"]
    assert first.usage["prompt_tokens"] > 0
    assert json.loads(second.calls[0].arguments) == {
        "expression": "neutral",
        "message": "No language model: fixed rules. Lines that fit: Ines looks after the ferry.",
        "sources": ["m1"],
    }
