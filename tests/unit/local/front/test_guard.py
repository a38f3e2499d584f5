import pytest

from local.config import read_config
from local.front.guard import is_from_web_page, is_in_networks
from local.front.httpd import Request


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({"Host": "127.0.0.1:3000"}, False),
        ({"Host": "localhost"}, False),
        ({"Host": "[::1]:3000"}, False),
        ({"Host": "host.docker.internal:3000"}, False),
        ({"Host": "minio:9000"}, False),
        ({}, False),
        ({"Host": "evil.example:3000"}, True),
        ({"Host": "127.0.0.1.evil.example"}, True),
        ({"Host": "a@b:c"}, True),
        ({"Host": "localhost", "Origin": "null"}, True),
        ({"Host": "localhost", "Sec-Fetch-Site": "cross-site"}, True),
    ],
)
def test_requests_of_web_pages_are_recognised(headers, foreign):
    assert is_from_web_page(Request("POST", "/", tuple(headers.items()))) is foreign


@pytest.mark.parametrize(
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
