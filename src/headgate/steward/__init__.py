"""The application: every question and every change of anyone comes through here.

The kernel decides and hands out permits; each part acts under a permit, journals and audits. Comes in: a permit (so
the question was asked) and plain values. Goes out: records and frozen values. Knows nothing of HTTP.
"""

from headgate.catalogs import Registry
from headgate.steward.catalogs import Catalogs
from headgate.steward.kernel import Kernel
from headgate.steward.metalakes import Metalakes
from headgate.steward.owners import Owners
from headgate.steward.partitions import Partitions
from headgate.steward.permits import Permit
from headgate.steward.principals import Principals
from headgate.steward.questions import Questions
from headgate.steward.roles import Roles
from headgate.steward.schemas import Schemas
from headgate.steward.statistics import Statistics
from headgate.steward.tables import Tables
from headgate.store import Store

__all__ = ["Permit", "Steward"]


class Steward:
    """All parts of the application over one store."""

    def __init__(
        self, store: Store, *, service_admins: frozenset[str] = frozenset(), warehouse: str | None = None
    ) -> None:
        self.kernel = Kernel(store, service_admins)
        self.metalakes = Metalakes(self.kernel)
        self.catalogs = Catalogs(self.kernel, Registry(store, warehouse))
        self.schemas = Schemas(self.kernel, self.catalogs)
        self.tables = Tables(self.kernel, self.catalogs)
        self.partitions = Partitions(self.tables)
        self.statistics = Statistics(self.kernel)
        self.principals = Principals(self.kernel)
        self.roles = Roles(self.kernel)
        self.owners = Owners(self.kernel)
        self.questions = Questions(self.kernel)
