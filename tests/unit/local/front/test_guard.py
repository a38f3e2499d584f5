import pytest

from local.config import read_config
from local.front.guard import is_from_web_page, is_in_networks, names_this_server
from local.front.httpd import Request
from tests.support.cases import each


def is_foreign(headers: dict[str, str], *names: str, server: str = "127.0.0.1") -> bool:
    return is_from_web_page(Request("POST", "/", tuple(headers.items()), server=server), names)


@each(
    "host",
    ["127.0.0.1:3000", "127.0.0.1", "127.8.8.8:1", "localhost", "LOCALHOST:3000", "[::1]:3000", "[::1]", ""],
)
def test_this_machine_is_called_by_loopback_names_and_addresses(host):
    assert not is_foreign({"Host": host})


def test_a_client_that_names_no_host_is_no_browser():
    assert not is_foreign({})


@each(
    "host",
    [
        "evil.example:3000",
        "evil.local:3000",
        "evil.internal",
        "evil.localhost",
        "localhost.",
        "minio:9000",
        "evil",
        "host.docker.internal.evil.example",
        "127.0.0.1.evil.example",
        "192.168.1.5:3000",
        "0.0.0.0:3000",
        "[fe80::1]",
        "[::]",
        "2130706433",
        "a@b:c",
        "localhost:3000, evil.example",
    ],
)
def test_no_other_name_is_ours_whatever_it_ends_in(host):
    assert is_foreign({"Host": host}, "0.0.0.0", "::")


def test_the_name_that_the_server_was_bound_to_is_its_own():
    assert not is_foreign({"Host": "Box.lan:3000"}, "box.lan")
    assert is_foreign({"Host": "box.lan:3000"})


def test_the_address_at_which_a_request_arrived_is_the_servers_own():
    assert not is_foreign({"Host": "172.17.0.1:3000"}, server="172.17.0.1")
    assert not is_foreign({"Host": "172.17.0.1:3000"}, server="::ffff:172.17.0.1")
    assert is_foreign({"Host": "172.17.0.1:3000"}, server="172.18.0.1")


@pytest.mark.parametrize(
    "name", [{"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]
)
def test_a_page_of_the_browser_is_recognised_by_what_the_browser_adds(name):
    assert is_foreign({"Host": "localhost"} | name)


def test_what_a_page_can_say_of_a_proxy_does_not_change_the_name():
    assert not names_this_server(Request("GET", "/", (("Host", "evil.example"), ("X-Forwarded-Host", "localhost"))))
    assert names_this_server(Request("GET", "/", (("Host", "localhost"), ("X-Forwarded-Host", "evil.example"))))


def test_a_page_of_the_server_itself_names_the_server():
    assert names_this_server(Request("POST", "/", (("Host", "[::1]:3000"), ("Origin", "http://[::1]:3000"))))


@each(
    ("address", "allowed"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("172.17.0.2", True),
        ("172.18.0.2", False),
        ("192.168.1.5", False),
        ("fe80::1%eth0", False),
    ],
)
def test_only_this_machine_and_named_networks_may_invoke(address, allowed):
    networks = read_config({"LIVEMEM_INVOKE_FROM": "172.17.0.0/16, 10.0.0.0/8"}).invoke_from
    assert is_in_networks(address, networks) is allowed
