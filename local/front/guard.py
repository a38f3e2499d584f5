"""Keeps web pages away from the doors that are for this machine alone.

They listen on the loopback interface, which every page in the developer's browser can reach as well. A page that made
its own host name point here (DNS rebinding) shows that name in Host, so no door answers it. The Invoke API
asks for no token, so it answers no page at all: its requests carry an Origin header.
"""

import ipaddress
import re
from collections.abc import Collection
from functools import lru_cache

from local.front.httpd import Request

Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]

DOCKER_HOST = "host.docker.internal"
"""What containers call this machine, by Docker Desktop's own doing or by `--add-host` as in sam/stack.py."""

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")
_HOST = re.compile(r"^(?P<name>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(:\d{1,5})?$")


def is_from_web_page(request: Request, names: Collection[str] = ()) -> bool:
    """Tell whether a browser sent this for a page, which never has business here.

    `names` are host names, in lower case, by which this server is called besides `localhost` and addresses.
    """
    if request.header("Origin") is not None or request.header("Sec-Fetch-Site") in {"cross-site", "same-site"}:
        return True
    return not names_this_server(request, names)


def names_this_server(request: Request, names: Collection[str] = ()) -> bool:
    """Tell whether the request is for a name of this server, with `names` as above.

    Its names are loopback addresses, the address at which the request arrived, and `names`. What a proxy says
    (`X-Forwarded-Host`) does not count: a page can say it too. Nor does any other name, with any ending: somebody who
    answers for it in the browser's network can point it here.
    """
    if not (found := _HOST.match(request.header("Host") or "localhost")):
        return False
    name = found["name"].strip("[]").lower()
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name in names
    return address.is_loopback or address == _read_address(request.server)


def is_forwarded(request: Request) -> bool:
    """Tell whether a proxy says that it passes somebody else's request on, whose address is then not the client's."""
    return any(request.header(name) is not None for name in _FORWARDED)


def is_in_networks(address: str, networks: Networks = ()) -> bool:
    """Tell whether a client's address is of this machine (loopback) or in one of the networks."""
    client = _read_address(address)
    return client.is_loopback or any(client in network for network in networks)


@lru_cache(64)
def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(text.partition("%")[0])
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address
