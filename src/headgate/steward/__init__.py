"""The application: every question and every change of anyone comes through here.

The kernel decides and hands out permits; each part acts under a permit, journals and audits. Comes in: a permit (so
the question was asked) and plain values. Goes out: records and frozen values. Knows nothing of HTTP.
"""

from collections.abc import Mapping
from pathlib import Path

from headgate.catalogs.openings import Openings
from headgate.catalogs.registry import Registry
from headgate.planning import ManifestIndex
from headgate.steward.access.memberships import Memberships
from headgate.steward.access.owners import Owners
from headgate.steward.access.principals import Principals
from headgate.steward.access.questions import Questions
from headgate.steward.access.roles import Roles
from headgate.steward.access.tokens import Tokens
from headgate.steward.kernel import Kernel, NotSeenYet, Ports
from headgate.steward.metadata.catalogs import Catalogs
from headgate.steward.metadata.documents import Documents
from headgate.steward.metadata.kept.filesets import Filesets
from headgate.steward.metadata.kept.functions import Functions
from headgate.steward.metadata.kept.job_templates import JobTemplates
from headgate.steward.metadata.kept.models import Models
from headgate.steward.metadata.kept.topics import Topics
from headgate.steward.metadata.metalakes import Metalakes
from headgate.steward.metadata.placing import Placing
from headgate.steward.metadata.probing import Probing
from headgate.steward.metadata.schemas import Schemas
from headgate.steward.metadata.shapes import Shapes
from headgate.steward.metadata.statistics import Statistics
from headgate.steward.metadata.tables import Tables
from headgate.steward.metadata.views import Views
from headgate.steward.permits import Permit
from headgate.steward.policies.applying import Applying
from headgate.steward.policies.authoring import Authoring
from headgate.steward.policies.gravitino import Policies
from headgate.steward.policies.guard import Guard
from headgate.steward.policies.inspection import Inspection
from headgate.steward.policies.labels import Fields
from headgate.steward.policies.mask_keys import MaskKeys
from headgate.steward.policies.rewinding import Rewinding
from headgate.steward.policies.tags import Tags
from headgate.steward.reads import description
from headgate.steward.reads.copies.care import CopyCare
from headgate.steward.reads.copies.governed import Governed
from headgate.steward.reads.copies.workshop import Workshop
from headgate.steward.reads.credentials import Credentials
from headgate.steward.reads.enforcement import Enforcement
from headgate.steward.reads.history import History
from headgate.steward.reads.lenses import Lenses
from headgate.steward.reads.loading import Loading
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.planning.answering import Answering
from headgate.steward.reads.planning.partitions import Partitions
from headgate.steward.reads.planning.scans import Scans
from headgate.steward.reads.vending import Vending
from headgate.steward.reads.waiting import Waiting
from headgate.steward.repeats import Repeats
from headgate.steward.syncs import Syncs
from headgate.store import Store
from headgate.sync.connections import Connection

__all__ = ["NotSeenYet", "Permit", "Steward", "open_store"]


def open_store(url: str) -> Store:
    """The store at an address, if this version can work with it; whatever cannot answer denies."""
    store = Store(url)
    store.check()
    return store


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
        # Whoever names a warehouse opens it; all else stays shut unless it is listed.
        opened = (openings or Openings()).including(warehouse)
        self.kernel = Kernel(store, service_admins)

        self._assemble_metadata(warehouse, opened)
        self._assemble_reads(index_folder, opened)
        self._assemble_access()
        self._assemble_policies()
        self.repeats = Repeats(self.kernel)
        self.syncs = Syncs(self.kernel, self.shapes, connections or {})
        self.kernel.ports = Ports(
            look_outside=self.catalogs.outside.look,
            partly=self.lenses.partly,
            kept_here=self.shapes.kept_here,
            see=self.shapes.see,
            guard=Guard(self.shapes).check,
        )

    def _assemble_metadata(self, warehouse: str | None, opened: Openings) -> None:
        """The tree of objects, and the systems behind it."""
        kernel = self.kernel
        self.metalakes = Metalakes(kernel)
        self.catalogs = Catalogs(kernel, Registry(kernel.store, warehouse, opened))
        self.probing = Probing(kernel, self.catalogs)
        self.schemas = Schemas(kernel, self.catalogs)
        self.shapes = Shapes(self.catalogs)
        self.placing = Placing(kernel, warehouse)
        self.lenses = Lenses(kernel, self.shapes)
        self.tables = Tables(kernel, self.catalogs, self.lenses, self.placing)
        self.documents = Documents(kernel, self.tables, self.shapes, self._changed)
        self.views = Views(self.documents)
        self.statistics = Statistics(kernel, self.lenses)
        self.filesets = Filesets(self.catalogs, self.placing, warehouse)
        self.topics = Topics(self.catalogs)
        self.models = Models(self.catalogs)
        self.functions = Functions(self.catalogs)
        self.job_templates = JobTemplates(kernel)

    def _assemble_reads(self, index_folder: Path | None, opened: Openings) -> None:
        """What callers get of tables."""
        kernel = self.kernel
        self.governed = Governed(kernel.store, ManifestIndex(folder=index_folder))
        self.reads = TableReads(kernel.store, self.tables, self.lenses, self.shapes, Enforcement(kernel))
        self.waiting = Waiting(kernel)
        self.loading = Loading(kernel, self.reads, self.governed, self.waiting)
        self.answering = Answering(self.governed)
        self.scans = Scans(kernel, self.reads, self.answering, self.waiting)
        self.partitions = Partitions(self.tables, self.reads, self.governed, self.waiting)
        self.vending = Vending(kernel, self.reads, self.answering, opened)
        self.credentials = Credentials(self.catalogs, self.tables, self.filesets, self.vending)
        self.workshop = Workshop(kernel, self.reads, self.catalogs.registry, opened)
        self.care = CopyCare(kernel, self.reads, self.governed)
        self.history = History(kernel)

    def _assemble_access(self) -> None:
        """Who may do what."""
        kernel = self.kernel
        self.principals = Principals(kernel)
        self.memberships = Memberships(kernel, self.principals)
        self.roles = Roles(kernel)
        self.owners = Owners(kernel)
        self.tokens = Tokens(kernel)
        self.questions = Questions(kernel)

    def _assemble_policies(self) -> None:
        """What is seen of a table, and that nobody widens it for themselves."""
        kernel = self.kernel
        self.tags = Tags(kernel, self._columns)
        self.mask_keys = MaskKeys(kernel)
        self.authoring = Authoring(kernel, self.shapes)
        self.inspection = Inspection(kernel, self.authoring, self.shapes)
        self.applying = Applying(kernel, self.authoring, self.inspection, self.care.renew)
        self.rewinding = Rewinding(kernel, self.authoring)
        self.policies = Policies(kernel, self._columns, self.authoring)

    def close(self) -> None:
        """Write what is still to be written, and stop."""
        self.scans.close()
        self.care.close()
        self.kernel.close()
        self.catalogs.registry.close()

    def _changed(self, table: int) -> None:
        """A table was committed to: the lenses that were used lately get their copies."""
        self.care.changed(table)

    def _columns(self, permit: Permit) -> dict[str, tuple[Fields, ...]]:
        """The columns of a table that the caller sees, nested ones by dotted name, for what is assigned to columns."""
        whole, seen = self.tables.whole(permit)
        table = description.table(seen, whole)
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
        # Columns of the table that had the name before: what is said of one that has no heir denies until it is taken off.
        former = (
            {".".join(path): ((id,),) for path, id in seen.shape.unplaced_names} if seen.lens.whole else {}
        )
        # A column whose own name holds a dot goes before a nested one that is spelled the same.
        return {**former, **nested, **top}
