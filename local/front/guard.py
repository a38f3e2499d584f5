"""Keeps web pages away from the doors that ask for no token: the Invoke API and the embedded S3 server.

Both listen on the loopback interface, which every page in the developer's browser can reach as well. A page's requests
carry an Origin header; a page that made its own host name point here (DNS rebinding) shows that name in Host.
"""

import ipaddress
import re

from local.front.httpd import Request

Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]

_HOST = re.compile(r"^(?P<name>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(:\d{1,5})?$")


def is_from_web_page(request: Request) -> bool:
    """Tell whether a browser sent this for a page, which never has business here."""
    if request.header("Origin") is not None or request.header("Sec-Fetch-Site") in {"cross-site", "same-site"}:
        return True
    found = _HOST.match(request.header("Host") or "localhost")
    return found is None or not _is_local_name(found["name"].strip("[]").lower())


def _is_local_name(name: str) -> bool:
    """An address, a name without a dot (a container's) or one under a suffix that no public zone has."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "." not in name or name.endswith((".localhost", ".internal", ".local"))
    return True


def is_in_networks(address: str, networks: Networks) -> bool:
    """Tell whether a client's address is of this machine (loopback) or in one of the networks."""
    client = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(client, ipaddress.IPv6Address) and client.ipv4_mapped:
        client = client.ipv4_mapped
    return client.is_loopback or any(client in network for network in networks)
