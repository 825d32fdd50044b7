"""The application: every question and every change of anyone comes through here.

The kernel decides and hands out permits; each part acts under a permit, journals and audits. Comes in: a permit (so
the question was asked) and plain values. Goes out: records and frozen values. Knows nothing of HTTP.
"""

from collections.abc import Mapping
from pathlib import Path

from headgate.catalogs.openings import Openings
from headgate.catalogs.registry import Registry
from headgate.decide import Op
from headgate.model.objects import ObjectType
from headgate.planning import ManifestIndex
from headgate.steward.catalogs import Catalogs
from headgate.steward.credentials import Credentials
from headgate.steward.enforcement import Enforcement
from headgate.steward.filesets import Filesets
from headgate.steward.functions import Functions
from headgate.steward.governance import Governance
from headgate.steward.governed import Governed
from headgate.steward.history import History
from headgate.steward.iceberg import Documents
from headgate.steward.jobs import JobTemplates
from headgate.steward.kernel import Kernel
from headgate.steward.labels import Fields
from headgate.steward.leaves import Leaves
from headgate.steward.lens_care import LensCare
from headgate.steward.lenses import Lenses
from headgate.steward.mask_keys import MaskKeys
from headgate.steward.metalakes import Metalakes
from headgate.steward.models import Models
from headgate.steward.outlook import Outlook
from headgate.steward.owners import Owners
from headgate.steward.partitions import Partitions
from headgate.steward.permits import Permit
from headgate.steward.placing import Placing
from headgate.steward.policies import Policies
from headgate.steward.principals import Principals
from headgate.steward.questions import Questions
from headgate.steward.reads import Reads
from headgate.steward.roles import Roles
from headgate.steward.scans import Scans
from headgate.steward.schemas import Schemas
from headgate.steward.shapes import Shapes
from headgate.steward.sights import Sights
from headgate.steward.statistics import Statistics
from headgate.steward.syncs import Syncs
from headgate.steward.tables import Tables
from headgate.steward.tags import Tags
from headgate.steward.tokens import Tokens
from headgate.steward.vending import Vending
from headgate.steward.views import Views
from headgate.steward.widening import Widening
from headgate.steward.workshop import Workshop
from headgate.store import Store
from headgate.sync.connections import Connection

__all__ = ["Permit", "Steward"]


class Steward:
    """All parts of the application over one store."""

    def __init__(
        self,
        store: Store,
        *,
        service_admins: frozenset[str] = frozenset(),
        warehouse: str | None = None,
        openings: Openings | None = None,
        index_folder: Path | None = None,
        connections: Mapping[str, Connection] | None = None,
    ) -> None:
        self.kernel = Kernel(store, service_admins)
        self.metalakes = Metalakes(self.kernel)
        self.tokens = Tokens(self.kernel)
        # Whoever names a warehouse opens it; all else stays shut unless it is listed.
        opened = (openings or Openings()).including(warehouse)
        self.catalogs = Catalogs(self.kernel, Registry(store, warehouse, opened))
        self.schemas = Schemas(self.kernel, self.catalogs)
        self.shapes = Shapes(self.catalogs)
        self.kernel.widening = Widening(self.shapes).check
        self.lenses = Lenses(self.kernel, self.shapes)
        self.placing = Placing(self.kernel, warehouse)
        self.tables = Tables(self.kernel, self.catalogs, self.lenses, self.placing)
        self.governed = Governed(store, ManifestIndex(folder=index_folder))
        self.sights = Sights(store, self.shapes)
        self.reads = Reads(self.kernel, self.lenses, self.sights, self.governed, Enforcement(self.kernel))
        self.iceberg = Documents(self.kernel, self.tables, self.reads)
        self.scans = Scans(self.iceberg)
        self.workshop = Workshop(self.kernel, self.sights)
        self.care = LensCare(self.kernel, self.sights, self.governed)
        self.iceberg.changed = self.care.changed
        self.vending = Vending(self.iceberg)
        self.partitions = Partitions(self.tables, self.reads)
        self.statistics = Statistics(self.kernel, self.lenses)
        self.principals = Principals(self.kernel)
        self.roles = Roles(self.kernel)
        self.owners = Owners(self.kernel)
        self.questions = Questions(self.kernel)
        self.history = History(self.kernel)
        self.tags = Tags(self.kernel, self._columns)
        self.mask_keys = MaskKeys(self.kernel)
        self.governance = Governance(self.kernel, self.shapes)
        self.outlook = Outlook(self.kernel, self.governance, self.shapes)
        self.policies = Policies(self.kernel, self._columns, self.governance)
        self.filesets = Filesets(self.catalogs, self.placing, warehouse)
        self.credentials = Credentials(self.catalogs, self.tables, self.filesets, self.vending)
        self.topics = Leaves(self.catalogs, ObjectType.TOPIC, Op.LIST_TOPICS)
        self.models = Models(self.catalogs)
        self.views = Views(self.iceberg)
        self.functions = Functions(self.catalogs)
        self.job_templates = JobTemplates(self.kernel)
        self.syncs = Syncs(self.kernel, self.shapes, connections or {})

    def close(self) -> None:
        """Write what is still to be written, and stop."""
        self.scans.close()
        self.care.close()
        self.kernel.close()
        self.catalogs.registry.close()

    def _columns(self, permit: Permit) -> dict[str, tuple[Fields, ...]]:
        """The columns of a table that the caller sees, nested ones by dotted name, for what is assigned to columns."""
        table = self.tables.load(permit).table
        seen = self.lenses.of(permit, table.metadata_location)
        hidden = seen.within(seen.lens.hidden)
        heirs = seen.shape.heirs

        def fields(id: int) -> Fields:
            return (id, *sorted(heirs.get(id, ()), reverse=True))

        top = {name: (fields(id),) for name, id in table.fields.items()}
        nested = {
            ".".join(at.path): tuple(map(fields, at.ids))
            for at in seen.shape.schema.walk()
            if len(at.path) > 1 and not at.inside and at.field.id not in hidden
        }
        # A column whose own name holds a dot goes before a nested one that is spelled the same.
        return {**nested, **top}
