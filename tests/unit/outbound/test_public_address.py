"""Which addresses are public: of both families, and in each form in which another address can hide in one."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from livemem.outbound.public_fetch import is_public
from tests.support.cases import each

FORBIDDEN = {
    "this network": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254"],
    "carrier": ["100.64.0.1", "100.100.100.200", "100.127.255.255"],
    "loopback": ["127.0.0.1", "127.255.255.255", "::1"],
    "link-local": ["169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0", "2a00::1%eth0", "fec0::1"],
    "multicast": ["224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.255", "192.0.0.192", "192.88.99.1", "198.18.0.1", "5f00::1", "4000::1"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "the host of Azure": ["168.63.129.16"],
    "mapped and compatible": ["::ffff:127.0.0.1", "::ffff:93.184.216.34", "::127.0.0.1", "::ffff:0:10.0.0.1"],
    "NAT64": ["64:ff9b::7f00:1", "64:ff9b::5db8:d822", "64:ff9b:1::a00:1"],
    "6to4": ["2002:7f00:1::1", "2002:a00:1::", "2002:5db8:d822::1"],
    "Teredo and protocols": ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:20::1"],
    "no address": ["", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "[::1]", "1.2.3.4.", "1.2.3.4 "],
}


@each(("kind", "address"), [(kind, one) for kind, all_of in FORBIDDEN.items() for one in all_of])
def test_a_stranger_is_not_let_near(kind, address):
    assert not is_public(address)


@each(
    "address",
    ["93.184.216.34", "1.1.1.1", "172.32.0.1", "100.128.0.1", "223.255.255.255", "2606:4700::1", "2a00::1"],
)
def test_public_addresses_are(address):
    assert is_public(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_python_calls_private(address):
    if not address.is_global or address.is_multicast:
        assert not is_public(str(address)) or ipaddress.ip_address(address) in ipaddress.ip_network("2001::/16")
