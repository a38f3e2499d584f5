"""The client without httpx answers and fails as the other one does, against a server of their own."""

import json
import socket
import threading
from contextlib import suppress

import pytest

from live_memory import Client, LiveMemoryError
from live_memory._plain import PlainClient, fits
from local.front.httpd import Response, Server

NAMES = ("authorization", "accept", "content-type", "user-agent", "traceparent")
TOKEN = "lm_SecretOfAnn"
SPACE = {"space_id": "demo"}


@pytest.fixture
def breaks_off():
    """A service that reads requests and closes the connection without an answer."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        with suppress(OSError):
            while True:
                connection = listener.accept()[0]
                connection.recv(65_536)
                connection.close()

    threading.Thread(target=run, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def outcome(client, call):
    try:
        return call(client)
    except LiveMemoryError as problem:
        fields = [(one.field, one.message) for one in problem.fields]
        return (problem.status, problem.code, problem.detail, fields, problem.request_id, problem.retry_after)
    finally:
        client.close()


CALLS = {
    "JSON": lambda client: client.call("get_space", SPACE),
    "Markdown": lambda client: client.markdown("get_start", {**SPACE, "q": "où?", "max_chars": 8000}),
    "items": lambda client: client.call(
        "append_turn",
        {**SPACE, "conversation_id": "c", "items": [{"message_id": "m", "user_message": "Ça va ?"}]},
    ),
}
TYPED = (("content-type", "application/json"),)
ANSWERS = {
    "JSON": Response(200, TYPED, b'{"a": "\xc3\xa9"}'),
    "Markdown": Response(200, (("content-type", "text/markdown; charset=utf-8"),), "# Été\n".encode()),
    "empty": Response(200),
    "a page": Response(200, (("content-type", "text/html"),), b"<html>Sign in</html>"),
    "a problem": Response(
        422,
        (*TYPED, ("retry-after", "7")),
        json.dumps(
            {"code": "invalid_request", "detail": "no", "errors": [{"field": "q", "message": "x"}], "request_id": "r"}
        ).encode(),
    ),
    "a redirect": Response(307, (("location", "https://evil.example.org/"),)),
    "a gateway": Response(503, (("apigw-requestid", "G-1"),)),
}


def test_both_clients_send_the_trace_of_their_environment_and_nothing_else_that_is_there(serve, monkeypatch):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = []
    url = serve(lambda request: sent.append(request.joined_headers.get("traceparent")) or ANSWERS["JSON"])
    for value in (trace, f"{trace}\r\nX-Evil: 1", "", "é", trace.upper()):
        monkeypatch.setenv("TRACEPARENT", value)
        for client in (PlainClient(url, TOKEN, timeout=5), Client(url, TOKEN, retries=0)):
            outcome(client, CALLS["JSON"])
    assert sent == [trace, trace, *[None] * 8]


def test_both_clients_send_the_same_and_make_the_same_of_every_answer(serve, monkeypatch):
    monkeypatch.setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    differing = []
    for what, call in CALLS.items():
        for came, answer in ANSWERS.items():
            asked = []
            url = serve(lambda request, asked=asked, answer=answer: asked.append(request) or answer)
            plain = outcome(PlainClient(url, TOKEN, timeout=5), call)
            usual = outcome(Client(url, TOKEN, retries=0), call)
            sent = [
                (
                    one.method,
                    one.target,
                    one.body,
                    [one.header(name) for name in NAMES],
                )
                for one in asked
            ]
            if plain != usual or len(sent) != 2 or sent[0] != sent[1]:
                differing.append((what, came, plain, usual, sent))
    assert differing == []


def test_a_service_that_is_not_there_or_breaks_off_is_the_same_error_without_the_token(breaks_off):
    dead = Server("127.0.0.1", 0, lambda _: Response(200), max_body=1)
    dead.start()
    dead.stop(grace_seconds=0)

    for gone, code in ((dead.url, "no_connection"), (breaks_off, "no_answer")):
        plain = outcome(PlainClient(gone, TOKEN, timeout=5), CALLS["JSON"])
        usual = outcome(Client(gone, TOKEN, retries=0), CALLS["JSON"])
        assert plain[:2] == usual[:2] == (None, code)
        assert TOKEN not in str(plain)
    assert f"to {dead.url}" in outcome(PlainClient(dead.url, TOKEN, timeout=5), CALLS["JSON"])[2]


def test_requests_share_a_connection_and_one_that_was_closed_since_is_opened_again(serve):
    client = PlainClient(serve(lambda _: ANSWERS["JSON"]), TOKEN, timeout=5)
    client.call("get_space", SPACE)
    first = client._connection.sock
    client.call("get_space", SPACE)
    assert client._connection.sock is first
    first.shutdown(2)
    assert client.call("get_space", SPACE) == {"a": "é"}
    client.close()


def test_where_a_proxy_may_be_needed_it_does_not_fit():
    remote = "https://memory.example.org"
    assert fits(remote, {}, "linux")
    assert not fits(remote, {"HTTPS_PROXY": "http://proxy:3128"}, "linux")
    assert not fits(remote, {"all_proxy": "socks5://proxy"}, "linux")
    assert fits(remote, {"https_proxy": ""}, "linux")
    # There the system may name a proxy.
    assert not fits(remote, {}, "darwin")
    assert fits("http://127.0.0.1:3000", {"http_proxy": "http://proxy:3128"}, "darwin")
