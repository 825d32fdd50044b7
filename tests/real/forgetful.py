"""A server without the mitigation: it reads the revision of the store only now and then, as a cache with an age would.

Only the tests start it, to show that they notice.
"""

import time

from headgate.cli import main
from headgate.store import Store

AGE = 2.0

_revision = Store.revision
_known: dict[int, tuple[float, int]] = {}


def revision(self: Store) -> int:
    at, known = _known.get(id(self), (float("-inf"), 0))
    if time.monotonic() - at > AGE:
        known = _revision(self)
        _known[id(self)] = (time.monotonic(), known)
    return known


def serve() -> None:
    Store.revision = revision  # type: ignore[method-assign]
    main()
