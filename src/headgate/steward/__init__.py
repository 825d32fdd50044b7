"""The application: every question and every change of anyone comes through here.

The kernel decides and hands out permits; each part acts under a permit, journals and audits. Comes in: a permit (so
the question was asked) and plain values. Goes out: records and frozen values. Knows nothing of HTTP.
"""

from headgate.steward.kernel import Kernel
from headgate.steward.metalakes import Metalakes
from headgate.steward.permits import Permit
from headgate.steward.tokens import Tokens
from headgate.store import Store

__all__ = ["Permit", "Steward"]


class Steward:
    """All parts of the application over one store."""

    def __init__(self, store: Store, *, service_admins: frozenset[str] = frozenset()) -> None:
        self.kernel = Kernel(store, service_admins)
        self.metalakes = Metalakes(self.kernel)
        self.tokens = Tokens(self.kernel)
