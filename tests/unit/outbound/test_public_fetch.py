"""A document is fetched from a public server that has its name, or not at all: on real sockets with real TLS."""

import itertools

import pytest

from livemem.outbound import public_fetch
from livemem.outbound.public_fetch import NotFetched
from tests.support import llm_server
from tests.support.cases import each
from tests.support.llm_server import answer, compressed, endless, redirect
from tests.support.sites import HOST, PUBLIC, URL, site
from tests.unit.outbound.test_public_address import FORBIDDEN

BODY = b'{"client_id": "x"}'


def test_a_document_is_fetched_from_the_address_that_was_resolved():
    with site(answer(BODY)) as there:
        assert there.fetch() == BODY

    assert there.wires.called == [(PUBLIC, 443)]
    [asked] = there.server.asked
    assert (asked.method, asked.path, asked.headers["host"]) == ("GET", "/client.json", HOST)
    assert asked.headers.keys() == {"host", "accept", "accept-encoding", "user-agent"}


def test_a_name_that_means_another_address_a_moment_later_is_resolved_once():
    with site(answer(BODY)) as there:
        there.addresses = [[PUBLIC], ["127.0.0.1"]]
        assert there.fetch() == BODY

    assert there.resolved == [HOST]
    assert there.wires.called == [(PUBLIC, 443)]


@each("address", [one for all_of in FORBIDDEN.values() for one in all_of])
def test_nothing_is_sent_to(address):
    with site(answer(BODY)) as there:
        for addresses in ([address], [PUBLIC, address], [address, PUBLIC]):
            there.addresses = [addresses]
            with pytest.raises(NotFetched, match="public"):
                there.fetch()
    assert there.wires.called == []


@each("host", ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"])
def test_a_number_that_the_system_reads_as_an_address_is_checked_as_that_address(host):
    with site(answer(BODY)) as there:
        there.resolve = public_fetch.resolved
        with pytest.raises(NotFetched):
            there.fetch(f"https://{host}/client.json")

    assert there.wires.called == []


def test_a_name_that_nobody_knows_is_an_honest_refusal():
    def unknown(host):
        raise OSError

    with site() as there:
        there.resolve = unknown
        with pytest.raises(NotFetched, match="name is not known"):
            there.fetch()


def test_another_address_of_the_name_is_tried_where_the_first_is_dead():
    with site(answer(BODY)) as there:
        there.addresses = [["2606:4700::1111", PUBLIC]]
        there.wires.dead = ["2606:4700::1111"]
        assert there.fetch() == BODY


def test_a_server_without_a_certificate_for_the_name_gets_no_request():
    with site(answer(BODY), named="other.example") as there, pytest.raises(NotFetched, match="certificate"):
        there.fetch()

    assert there.server.asked == []


@each(
    ("step", "why"),
    [
        (redirect("https://127.0.0.1/"), "redirects"),
        (redirect("https://client.example/other", 301), "redirects"),
        (answer(BODY, 300), "redirects"),
        (answer(BODY, 400), "answers 400"),
        (answer(BODY, 404), "404"),
        (answer(BODY, 500), "500"),
        (answer(BODY, 201), "201"),
        (answer(BODY, content_type="text/html"), "not JSON"),
        (answer(BODY, content_type="text/json"), "not JSON"),
        (answer(BODY, content_type=""), "not JSON"),
        (answer(b"x" * 5_121), "more than 5120 bytes"),
        (compressed(BODY), "compressed"),
        (llm_server.hang_up, "as a web server does"),
        (llm_server.hang_up_half_way, "as a web server does"),
        (llm_server.not_http, "as a web server does"),
    ],
)
def test_an_answer_that_is_no_document_is_an_honest_refusal(step, why):
    with site(step) as there, pytest.raises(NotFetched, match=why):
        there.fetch()

    assert len(there.server.asked) == 1


@each("kind", ["application/json", "Application/JSON; charset=utf-8", "application/cimd+json"])
def test_json_is_json_however_its_type_is_written(kind):
    with site(answer(BODY, content_type=kind)) as there:
        assert there.fetch() == BODY


def test_a_document_of_exactly_the_bound_is_taken():
    with site(answer(b"x" * 5_120)) as there:
        assert len(there.fetch()) == 5_120


def test_of_an_answer_without_end_hardly_anything_is_read():
    with site() as there:
        there.server.script.append(endless(there.server, most=64 * 1024 * 1024))
        with pytest.raises(NotFetched, match="more than"):
            there.fetch()

    assert there.server.sent < 16 * 1024 * 1024


def test_headers_without_end_are_not_read_to_their_end():
    def headers(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(100_000):
            handler.wfile.write(b"X-%d: %s\r\n" % (number, b"x" * 1_000))

    with site(headers) as there, pytest.raises(NotFetched):
        there.fetch()


def test_beginnings_of_answers_without_end_are_not_read_to_their_end():
    def early(handler):
        for _ in range(1_000_000):
            handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")

    with site(early) as there, pytest.raises(NotFetched):
        there.fetch()


def test_a_server_that_says_nothing_is_given_up():
    with site() as there:
        there.server.script.append(llm_server.silent(there.server))
        there.seconds = 0.2
        with pytest.raises(NotFetched, match="did not answer within"):
            there.fetch()


def test_a_server_that_never_begins_tls_is_given_up():
    with llm_server.serving() as plain, site() as there:
        there.wires.port = int(plain.url.split(":")[2].partition("/")[0])
        there.seconds = 0.2
        with pytest.raises(NotFetched):
            there.fetch()


def test_a_server_that_sends_a_byte_at_a_time_is_given_up_when_the_time_for_all_is_over():
    with site() as there:
        there.server.script.append(llm_server.trickling(there.server, seconds=1))
        # A clock that shows a tenth of a second more whenever it is read: no single read is slow.
        ticks = itertools.count()
        there.timer = lambda: next(ticks) / 10
        with pytest.raises(NotFetched, match="within 3 seconds"):
            there.fetch()


def test_a_resolver_that_hangs_is_given_up():
    with site() as there:
        there.resolve = lambda host: [PUBLIC] if there.server.over.wait() else []
        there.seconds = 0.1
        with pytest.raises(NotFetched, match="did not answer within"):
            there.fetch()


@each(
    "url",
    [
        "http://client.example/client.json",
        "https://client.example:8443/client.json",
        "https://user@client.example/client.json",
        "https:///client.json",
        "https://[::1/client.json",
        "https://client.example:99999/",
        "https://clïent.example/client.json",
        "https://client.example/\r\nHost: other",
        "file:///etc/passwd",
        "gopher://client.example/",
    ],
)
def test_nobody_is_asked_for(url):
    with site(answer(BODY)) as there, pytest.raises(NotFetched):
        there.fetch(url)

    assert there.server.asked == []


def test_no_proxy_of_the_environment_is_used(monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, llm_server.unused_url())

    with site(answer(BODY)) as there:
        assert there.fetch(URL) == BODY
