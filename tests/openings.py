"""What operators of test servers open: where tests put their files, and servers on this machine."""

import tempfile
from pathlib import Path

from headgate.catalogs.openings import LARGEST_DOCUMENT, Openings

LOOPBACK = ("127.0.0.1", "localhost")


def opened(
    *places: str | Path, hosts: tuple[str, ...] = LOOPBACK, largest_document: int = LARGEST_DOCUMENT
) -> Openings:
    return Openings.of([str(place) for place in places], hosts, largest_document)


TEMPORARY = opened(tempfile.gettempdir())
"""For what is made once for many tests, whose folders it does not know."""
