import contextlib
import http.client
import json
import socket
import threading

import pytest

from local.front.http_api import MAX_BODY_BYTES, HttpApi
from local.front.httpd import IDLE_SECONDS, Request, Response, Server
from local.front.lambda_api import LambdaApi
from local.functions.async_queue import AsyncQueue
from local.functions.pools import Deadlines
from local.functions.template import Route, Template
from tests.integration.local.support import build_pool, wait_until
from tests.support.cases import each

SOURCE = """
import sys, time

def handler(event, context):
    if "routeKey" not in event:
        if event.get("fail"):
            raise ValueError("asked for")
        if event.get("touch"):
            open(event["touch"], "w").close()
        return {"invoked": event}
    path = event["rawPath"]
    if path == "/echo":
        return event
    if path == "/slow":
        time.sleep(5)
    if path == "/raise":
        raise ValueError("secret detail")
    if path == "/exit":
        sys.exit(1)
    if path == "/malformed":
        return {"statusCode": "x"}
    if path == "/header":
        return {"statusCode": 200, "headers": {"X-Evil": "a\\r\\nSet-Cookie: b"}}
    if path == "/binary":
        return {"statusCode": 200, "headers": {"content-type": "image/png"}, "isBase64Encoded": True, "body": "AP8="}
    if path == "/empty":
        return {"statusCode": 204}
    return {"statusCode": 201, "headers": {"X-A": "1"}, "cookies": ["a=1", "b=2"], "body": "é"}
"""


@pytest.fixture(scope="module")
def front(tmp_path_factory):
    root = tmp_path_factory.mktemp("front")
    routes = tuple(Route(m, p) for m, p in (("GET", "/{any+}"), ("POST", "/{any+}"), ("HEAD", "/echo")))
    pool = build_pool(root, SOURCE, "FrontFunction", routes=routes)
    pool.load()
    pools = {"FrontFunction": pool}
    queue = AsyncQueue(pools, root / "queue", root / "dead", Deadlines().after, (0.01,))
    lambda_api = LambdaApi(Template((pool.function,)), pools, queue)
    http_api = HttpApi((pool.function,), pools, integration_seconds=2.5)

    def answer(request: Request) -> Response:
        return (lambda_api if lambda_api.owns(request) else http_api).answer(request)

    server = Server("127.0.0.1", 0, answer, max_body=MAX_BODY_BYTES)
    server.start()
    yield server
    server.stop()
    pool.close()


def ask(front, method, target, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, target, body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def send_raw(front, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", front.port), timeout=10) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
        return answer


def test_requests_reach_the_handler_and_its_answer_comes_back(front):
    status, headers, body = ask(
        front, "POST", "/echo?a=1&a=2", json.dumps({"x": 1}), {"Content-Type": "application/json"}
    )
    event = json.loads(body)
    assert status == 200
    assert (event["routeKey"], event["pathParameters"]) == ("POST /{any+}", {"any": "echo"})
    assert (event["body"], event["queryStringParameters"]) == ('{"x": 1}', {"a": "1,2"})
    assert headers["apigw-requestid"] == event["requestContext"]["requestId"]
    status, headers, body = ask(front, "GET", "/other")
    assert (status, headers["x-a"], headers.get_all("set-cookie"), body.decode()) == (201, "1", ["a=1", "b=2"], "é")
    assert ask(front, "GET", "/binary")[2] == b"\x00\xff"
    assert ask(front, "GET", "/empty")[0] == 204


@pytest.mark.parametrize(
    ("method", "target", "status", "message"),
    [
        ("GET", "/", 404, "Not Found"),
        ("DELETE", "/echo", 404, "Not Found"),
        ("OPTIONS", "/echo", 404, "Not Found"),
        ("BREW", "/echo", 404, "Not Found"),
        ("GET", "/raise", 500, "Internal Server Error"),
        ("GET", "/exit", 500, "Internal Server Error"),
        ("GET", "/malformed", 500, "Internal Server Error"),
        ("GET", "/header", 500, "Internal Server Error"),
        ("GET", "/slow", 503, "Service Unavailable"),
    ],
)
def test_failures_are_answered_as_api_gateway_does(front, method, target, status, message):
    found, headers, body = ask(front, method, target)
    assert (found, json.loads(body)) == (status, {"message": message})
    assert headers["content-type"] == "application/json"
    assert b"secret" not in body


def test_head_has_no_body(front):
    status, headers, body = ask(front, "HEAD", "/echo")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 100
    assert ask(front, "HEAD", "/other")[0] == 404


def test_a_connection_serves_many_requests(front):
    connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=20)
    with contextlib.closing(connection):
        for number in range(5):
            connection.request("GET", f"/echo?n={number}")
            response = connection.getresponse()
            assert json.loads(response.read())["rawQueryString"] == f"n={number}"
        connection.request("GET", "/raise")
        assert connection.getresponse().read()
        connection.request("GET", "/other")
        assert connection.getresponse().status == 201


def test_a_chunked_body_arrives_whole(front):
    status, _, body = ask(front, "POST", "/echo", iter([b'{"a"', b": 1}"]), {"Content-Type": "application/json"})
    assert (status, json.loads(body)["body"]) == (200, '{"a": 1}')


def test_a_body_beyond_the_limit_is_refused_and_the_client_can_read_why(front):
    status, _, body = ask(front, "POST", "/echo", b"x" * (MAX_BODY_BYTES + 1))
    assert (status, json.loads(body)) == (413, {"message": "Request Entity Too Large"})
    answer = send_raw(
        front, b"POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 413")
    chunk = b"800000\r\n" + b"x" * 0x800000 + b"\r\n"
    answer = send_raw(front, b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 2)
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_client_that_waits_for_100_continue_gets_it(front):
    head = b"POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", front.port), timeout=10) as sock:
        sock.sendall(head)
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"{}")
        assert sock.recv(100).startswith(b"HTTP/1.1 200 OK")


@each(
    ("data", "status"),
    [
        (b"\x00\x01\x02\r\n\r\n", b"400"),
        (b"GET\r\n\r\n", b"400"),
        (b"GET /echo HTTP/9.9\r\nHost: a\r\n\r\n", b"400"),
        (b"GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
        (b"GET http://evil.example/echo HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
        (b"CONNECT /echo HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
        (b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 140_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"431"),
        (b"GET /echo HTTP/1.1\r\nHost: a\r\nA: " + b"b" * 140_000 + b"\r\n\r\n", b"431"),
        (b"GET /echo HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 30_000 + b"\r\n", b"431"),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n", b"400"),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", b"400"),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", b"400"),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nshort", b"400"),
    ],
)
def test_broken_requests_are_refused_in_json(front, data, status):
    head, _, body = send_raw(front, data).partition(b"\r\n\r\n")
    assert head.split()[1] == status
    assert "message" in json.loads(body)
    assert ask(front, "GET", "/other")[0] == 201


HIDDEN = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /echo HTTP/1.1\r\nHost: a\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        b"Foo Bar: x\r\nContent-Length: %d\r\n",
        b"Content-Length : %d\r\n",
        b"Content-Length\t: %d\r\n",
        b"Content Length: %d\r\n",
        b"X\r\nContent-Length: %d\r\n",
        b": x\r\nContent-Length: %d\r\n",
        b"Content-Length: 0, %d\r\n",
        b"Content-Length: 0x%x\r\n",
        b"Content-Length: 0\r\nContent-Length: %d\r\n",
    ],
)
def test_a_body_whose_length_cannot_be_trusted_is_never_read_as_the_next_request(front, headers):
    answer = send_raw(front, POST + headers % len(HIDDEN) + b"\r\n" + HIDDEN)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"smuggled" not in answer


@pytest.mark.parametrize("name", [b"Transfer-Encoding ", b"Transfer Encoding", b"Transfer-Encoding\x0b"])
def test_a_chunked_body_that_is_not_clearly_one_is_never_read_as_the_next_request(front, name):
    answer = send_raw(front, POST + name + b": chunked\r\n\r\n0\r\n\r\n" + HIDDEN)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@each("size", [1_010, 1_020, 1_023, 1_024, 1_025, 1_030, 2_000, 60_000])
def test_the_extension_of_a_chunk_is_no_part_of_the_body_however_long_it_is(front, size):
    body = b"2;" + b"x" * size + b"\r\n{}\r\n0\r\n\r\n"
    answer = send_raw(front, POST + b"Transfer-Encoding: chunked\r\n\r\n" + body + HIDDEN)
    first, _, second = answer.partition(b"HTTP/1.1 201 ")
    assert first.startswith(b"HTTP/1.1 200 ")
    assert json.loads(first.partition(b"\r\n\r\n")[2])["body"] == "{}"
    assert second.count(b"HTTP/1.1 ") == 0  # the request behind it, and nothing else


@each(
    ("data", "status"),
    [
        (b"2;" + b"x" * 200_000 + b"\r\n{}\r\n0\r\n\r\n", b"431"),
        (b"0\r\n" + b"A: b\r\n" * 60_000 + b"\r\n", b"431"),
        (b"2\r\n{}0\r\n\r\n", b"400"),
        (b"2\r\n{}XX0\r\n\r\n", b"400"),
        (b"-2\r\n{}\r\n0\r\n\r\n", b"400"),
        (b"fffffffffffffffffffff\r\n", b"400"),
    ],
)
def test_chunks_without_a_bound_or_an_end_are_refused(front, data, status):
    answer = send_raw(front, POST + b"Transfer-Encoding: chunked\r\n\r\n" + data + HIDDEN)
    assert answer.split()[1] == status
    assert answer.count(b"HTTP/1.1 ") == 1


def test_requests_in_one_packet_are_answered_in_their_order(front):
    answer = send_raw(front, b"".join(b"GET /echo?n=%d HTTP/1.1\r\nHost: a\r\n\r\n" % n for n in range(3)))
    bodies = [part.partition(b"\r\n\r\n")[2] for part in answer.split(b"HTTP/1.1 200 OK")[1:]]
    assert [json.loads(body)["rawQueryString"] for body in bodies] == ["n=0", "n=1", "n=2"]


def test_a_request_of_http_1_1_names_its_host(front):
    assert send_raw(front, b"GET /echo HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert send_raw(front, b"GET /echo HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_odd_targets_are_taken_as_api_gateway_takes_them(front):
    assert ask(front, "GET", "/%ff%00%2e%2e")[0] == 201


def invoke(front, name, body, kind="RequestResponse", **headers):
    headers["X-Amz-Invocation-Type"] = kind
    return ask(front, "POST", f"/2015-03-31/functions/{name}/invocations", body, headers)


def test_the_invoke_api_runs_a_function(front):
    for name in (
        "FrontFunction",
        "frontfunction",
        "arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Afunction%3AFrontFunction",
    ):
        status, _, body = invoke(front, name, b'{"a": 1}')
        assert (status, json.loads(body)) == (200, {"invoked": {"a": 1}})
    status, headers, body = invoke(front, "FrontFunction", b'{"fail": true}')
    assert (status, headers["X-Amz-Function-Error"]) == (200, "Unhandled")
    assert json.loads(body)["errorMessage"] == "asked for"


def test_containers_may_invoke_by_the_name_that_docker_gives_this_machine(front):
    assert invoke(front, "FrontFunction", b"{}", Host="host.docker.internal:3000")[0] == 200


def test_the_invoke_api_takes_events_for_later(front, tmp_path):
    touched = tmp_path / "touched"
    status, _, body = invoke(front, "FrontFunction", json.dumps({"touch": str(touched)}), "Event")
    assert (status, body) == (202, b"")
    wait_until(touched.exists)


def test_boto3_can_invoke(front):
    import boto3

    client = boto3.client(
        "lambda", endpoint_url=front.url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    answer = client.invoke(FunctionName="FrontFunction", Payload=b'{"a": 2}')
    assert json.loads(answer["Payload"].read()) == {"invoked": {"a": 2}}
    assert client.invoke(FunctionName="FrontFunction", InvocationType="Event")["StatusCode"] == 202
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.invoke(FunctionName="Nothing")


@pytest.mark.parametrize(
    ("name", "body", "kind", "headers", "status"),
    [
        ("Nothing", b"{}", "Event", {}, 404),
        ("FrontFunction", b"{", "Event", {}, 400),
        ("FrontFunction", b"{}", "Sometimes", {}, 400),
        ("FrontFunction", b"{}", "Event", {"Origin": "https://evil.example"}, 403),
        ("FrontFunction", b"{}", "Event", {"Host": "evil.example"}, 403),
        ("FrontFunction", b"{}", "Event", {"X-Forwarded-For": "203.0.113.7"}, 403),
        ("FrontFunction", b"{}", "Event", {"Via": "1.1 proxy"}, 403),
        ("FrontFunction", b"{}", "Event", {"Host": "evil.internal"}, 403),
        ("FrontFunction", b"{}", "Event", {"Host": "evil"}, 403),
    ],
)
def test_the_invoke_api_refuses(front, name, body, kind, headers, status):
    found, answer_headers, _ = invoke(front, name, body, kind, **headers)
    assert found == status
    assert answer_headers["x-amzn-ErrorType"]


def test_a_server_that_stops_lets_running_requests_end():
    begun, release = threading.Event(), threading.Event()

    def answer(request: Request) -> Response:
        begun.set()
        release.wait(10)
        return Response(200, (), b"done")

    server = Server("127.0.0.1", 0, answer, max_body=10)
    server.start()
    found = []
    client = threading.Thread(target=lambda: found.append(ask(server, "GET", "/")))
    client.start()
    assert begun.wait(10)
    threading.Timer(0.1, release.set).start()
    server.stop(grace_seconds=10)
    client.join(10)
    assert found[0][2] == b"done"
    assert IDLE_SECONDS > 60  # longer than the keep-alive of any client that matters
