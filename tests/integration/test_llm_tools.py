"""Calls of tools by the LLM, against a real HTTP server."""

from typing import Any

import pytest

from livemem.llm import tool_calling
from livemem.llm.client import LlmError
from livemem.llm.tool_calling import Call, Thread, Tool, ToolReply
from livemem.settings import Settings
from tests.support.cases import each
from tests.support.llm_server import answer, completion, hang_up, serving, silent, unused_url

MESSAGES: Thread = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who — 🦊?"}]
COUNTED = {"prompt_tokens": 11, "completion_tokens": 7}
SEARCH = Tool("search", "Looks.", {"type": "object", "properties": {"query": {"type": "string"}}})


def converse(
    url: str | None, *, messages: Thread = MESSAGES, required: bool = False, timeout: float = 10, **settings: Any
) -> ToolReply:
    found = Settings(**{"llmaas_api_url": url, "llmaas_api_key": "secret-key", "llmaas_model": "m-1"} | settings)
    return tool_calling.connect(found)(messages, [SEARCH], 500, timeout, required=required)


def message(*calls: Any, content: Any = None, reason: str = "tool_calls", **more: Any) -> dict[str, Any]:
    told = {"role": "assistant", "content": content, "tool_calls": list(calls), **more}
    return completion(message=told, finish_reason=reason)


def called(id_: Any = "a1", name: Any = "search", arguments: Any = '{"query": "fox"}') -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_an_answer_is_its_text_its_calls_and_the_providers_count_of_tokens():
    with serving(answer(message(called(), called("a2", arguments="{}"), content="Wait."))) as server:
        said = converse(server.url)

    assert said == ToolReply("Wait.", (Call("a1", "search", '{"query": "fox"}'), Call("a2", "search", "{}")), COUNTED)


def test_the_request_offers_the_tools_and_no_format_of_the_answer():
    with serving() as server:
        converse(server.url)

    assert server.asked[0].body == {
        "model": "m-1",
        "messages": MESSAGES,
        "max_tokens": 500,
        "temperature": 0.3,
        "tools": [
            {
                "type": "function",
                "function": {"name": "search", "description": "Looks.", "parameters": SEARCH.parameters},
            }
        ],
    }


def test_a_call_is_required_where_it_must_be_one():
    with serving() as server:
        converse(server.url, required=True)

    assert server.asked[0].body["tool_choice"] == "required"


def test_schemas_are_strict_where_the_provider_takes_schemas():
    with serving() as server:
        converse(server.url, llmaas_json_mode="schema")

    assert server.asked[0].body["tools"][0]["function"]["strict"] is True
    assert "response_format" not in server.asked[0].body


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_providers_end_an_answer_with_calls_for_either_reason(reason: str):
    with serving(answer(message(called(), reason=reason))) as server:
        assert len(converse(server.url).calls) == 1


def test_a_text_without_calls_is_an_answer_too():
    with serving(answer(completion("Just so."))) as server:
        assert converse(server.url) == ToolReply("Just so.", usage=COUNTED)


def test_calls_without_an_id_of_their_own_get_one():
    with serving(
        answer(
            message(called(""), called("b"), called("b"), called(None), called("x" * 201), called("call_6"), called(""))
        )
    ) as server:
        said = converse(server.url)

    assert [one.id for one in said.calls] == ["call_0", "b", "call_2", "call_3", "call_4", "call_6", "call_6x"]


@pytest.mark.parametrize(("given", "text"), [(None, "{}"), ({"query": "fox"}, '{"query": "fox"}'), ("", "")])
def test_arguments_are_a_text_whatever_the_provider_makes_of_them(given: Any, text: str):
    with serving(answer(message(called(arguments=given)))) as server:
        assert converse(server.url).calls[0].arguments == text


def test_what_is_no_text_comes_as_text():
    with serving(answer(message(called(arguments='{"query": "\ud800"}'), content="\udfff"))) as server:
        said = converse(server.url)

    assert (said.text, said.calls[0].arguments) == ("?", '{"query": "?"}')


def test_more_calls_than_anybody_wants_are_left_out():
    with serving(answer(message(*(called(f"a{place}") for place in range(100))))) as server:
        assert len(converse(server.url).calls) == 32


@each(
    ("body", "code"),
    [
        (message(content=" "), "llm_empty"),
        (completion(None), "llm_empty"),
        (completion(choices=[]), "llm_empty"),
        (message(called(), reason="length"), "llm_cut_off"),
        (message(called(), reason="content_filter"), "llm_cut_off"),
        (message(called(), refusal="I can't."), "llm_refused"),
        (message(called(name=None)), "llm_malformed"),
        (message({"id": "a", "type": "custom"}), "llm_malformed"),
        (message("search"), "llm_malformed"),
        ([1, 2], "llm_malformed"),
    ],
)
def test_what_is_no_answer_has_a_code_of_its_own(body: Any, code: str):
    with serving(answer(body)) as server, pytest.raises(LlmError) as raised:
        converse(server.url)

    assert raised.value.code == code
    assert len(server.asked) == 1


def test_what_a_cut_off_answer_has_cost_is_told():
    with serving(answer(message(called(), reason="length"))) as server, pytest.raises(LlmError) as raised:
        converse(server.url)

    assert raised.value.usage == {"prompt_tokens": 11, "completion_tokens": 7}


def test_failures_of_the_api_have_the_codes_that_they_have_for_every_question():
    refused = answer({"error": {"message": "tools are not supported"}}, 400)
    with serving(refused, hang_up) as server:
        with pytest.raises(LlmError) as first:
            converse(server.url)
        with pytest.raises(LlmError) as second:
            converse(server.url)
        server.script.append(silent(server))
        with pytest.raises(LlmError) as third:
            converse(server.url, timeout=0.05)

    assert [raised.value.code for raised in (first, second, third)] == [
        "llm_refused_request",
        "llm_unreachable",
        "llm_timeout",
    ]
    assert "tools are not supported" in first.value.detail


def test_without_an_address_nobody_is_asked():
    with pytest.raises(LlmError) as raised:
        converse(None)
    with pytest.raises(LlmError) as unreachable:
        converse(unused_url())

    assert (raised.value.code, unreachable.value.code) == ("llm_not_configured", "llm_unreachable")


def test_a_conversation_goes_on_with_what_was_called_and_what_came_of_it():
    said = ToolReply("Wait.", (Call("a1", "search", "{}"),))
    thread = [*MESSAGES, tool_calling.as_message(said), {"role": "tool", "tool_call_id": "a1", "content": "[]"}]
    with serving(answer(completion("Done."))) as server:
        converse(server.url, messages=thread)

    sent = server.asked[0].body["messages"]
    assert sent == thread
    assert sent[2]["tool_calls"] == [
        {"id": "a1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    ]


def test_what_no_tool_is_called_and_what_is_no_json_is_not_sent_back_to_the_provider():
    wrong = [("drop table; -- é", "{oops"), ("", "[1]"), ("n" * 80, "[" * 99_999), ("fine", '{"a": 1}')]
    said = ToolReply("", tuple(Call(f"c{place}", *one) for place, one in enumerate(wrong)))

    sent = [one["function"] for one in tool_calling.as_message(said)["tool_calls"]]

    assert [one["name"] for one in sent] == ["drop_table__--__", "unnamed", "n" * 64, "fine"]
    assert [one["arguments"] for one in sent] == ["{}", "{}", "{}", '{"a": 1}']


def test_a_prompt_of_which_only_a_part_was_read_is_told():
    thread: Thread = [
        {"role": "user", "content": "word " * 50},
        tool_calling.as_message(ToolReply("", (Call("a", "search", "{}"),))),
    ]
    with serving(answer(completion("Done."))) as server:
        assert converse(server.url, messages=thread).cut
