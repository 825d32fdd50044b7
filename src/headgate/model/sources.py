"""Sources: other servers that catalogs take their tables from, each in one spelling."""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

_USUAL: Final = (None, 80, 443)


def server_of(url: str) -> str:
    """The server behind an address: its host, and its port unless it is a usual one.

    The scheme and the path do not count: a server that answers under one answers under others too, and what it takes for
    the same path is not known here.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    try:
        port = parts.port
    except ValueError:
        # No address that is asked: catalogs with such a port are refused.
        return parts.netloc.lower()
    try:
        address = ipaddress.ip_address(host)
        host = f"[{address}]" if address.version == 6 else str(address)
    except ValueError:
        pass
    return host if port in _USUAL else f"{host}:{port}"
