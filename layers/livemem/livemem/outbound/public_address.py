"""Which addresses of the internet a stranger may send this service to: those that are public, and no others.

Source: IANA's registries of special-purpose addresses, IPv4 and IPv6, and Azure's address of the host (WireServer).
Python's own `is_global` is not asked: its answers have changed with its versions.
"""

from ipaddress import IPv4Address, ip_address, ip_network

_NOT_PUBLIC = tuple(
    ip_network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
_PUBLIC = ip_network("2000::/3")
"""All that is given to networks of the internet in IPv6. NAT64, mapped, local, link-local and multicast are outside."""
_NOT_PUBLIC_THEREIN = tuple(
    ip_network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
"""Teredo and other protocols, documentation, 6to4, AS112."""


def is_public(address: str) -> bool:
    """Whether the address is one of a server on the internet. False for a text that is no address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in block for block in _NOT_PUBLIC)
    return parsed.scope_id is None and parsed in _PUBLIC and not any(parsed in block for block in _NOT_PUBLIC_THEREIN)
