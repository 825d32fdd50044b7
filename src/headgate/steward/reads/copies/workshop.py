"""The workshop: work on governed copies as a worker finds it, takes it and hands it back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.interface import holds_documents
from headgate.catalogs.locations import GOVERNED, more_places
from headgate.catalogs.openings import Openings
from headgate.catalogs.registry import CatalogDefinition, Registry
from headgate.lenses.copies import CopySource, GovernedCopy
from headgate.model.errors import ConnectionFailed, HeadgateError, IllegalArgument, NotFound
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity
from headgate.pipelines.job import MaterialiseJob
from headgate.pipelines.needs import SparkWork
from headgate.steward.kernel import Kernel
from headgate.steward.reads.copies.governed import recently
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.table_read import GovernedRead
from headgate.store import ledger, probes
from headgate.store.reads.ledger import Fault

log = structlog.get_logger("headgate.worker")

MOST_FILES: Final = 500
"""How many copies one Spark job makes."""


@dataclass(frozen=True)
class Order:
    """Copies that a worker has leased, and the job that makes them."""

    batch: ledger.Batch
    job: MaterialiseJob
    storage: Storage
    table: str


@dataclass(frozen=True)
class ProbeOrder:
    """A storage that a worker is to try, and a folder of its own to try it in."""

    id: str
    storage: Storage
    folder: str


class Workshop:
    def __init__(self, kernel: Kernel, reads: TableReads, registry: Registry, openings: Openings) -> None:
        self.kernel = kernel
        self.reads = reads
        self.registry = registry
        self.work = SparkWork(jobs=True, tables=openings.places)
        """What any order may ask of Spark: no table lies outside the places that the operator opened."""

    def take(self, worker: str) -> Order | None:
        """Lease what waits the longest, if anything does."""
        batch = ledger.take(self.kernel.store, worker, MOST_FILES)
        if batch is None:
            return None
        try:
            read, table = self._read(batch)
        except HeadgateError as error:
            log.warning("work cannot begin", table=batch.object, reason=str(error))
            ledger.failed(self.kernel.store, batch, redact(error), Fault.AROUND)
            return None
        except Exception as error:
            # A document that nobody thought of: it must not end the worker, which others need.
            log.error("work cannot be read", table=batch.object, reason=type(error).__name__)
            reason = f"the table's metadata cannot be worked with ({type(error).__name__})"
            ledger.failed(self.kernel.store, batch, reason, Fault.AROUND)
            return None
        if read is None:
            # Whoever still has that view asks again, and then it is theirs that counts.
            ledger.void(self.kernel.store, batch)
            return None
        sources = tuple(msgspec.json.decode(one.source, type=CopySource) for one in batch.wanted)
        job = MaterialiseJob(
            read.metadata,
            batch.snapshot,
            sources,
            read.rendered,
            read.folder,
            read.staging,
            read.arrangement,
            read.adapter.storage.settings,
        )
        return Order(batch, job, read.adapter.storage, table)

    def beat(self, order: Order) -> bool:
        """Say that the work goes on; False if another worker took it over."""
        return ledger.beat(self.kernel.store, order.batch)

    def made(self, order: Order, copies: Sequence[GovernedCopy]) -> int:
        """Record what was made; files of copies that another worker recorded first are deleted. Answers how many count."""
        bodies = [(copy.key, msgspec.json.encode(copy)) for copy in copies]
        recorded = ledger.made(self.kernel.store, order.batch, bodies)
        for copy in copies:
            for file in () if copy.key in recorded else copy.files:
                try:
                    order.storage.delete(file.location)
                except ConnectionFailed:
                    # It stays as a file that nothing names; garbage collection finds it.
                    continue
        return len(recorded)

    def failed(self, order: Order, reason: str, fault: Fault) -> None:
        """Say why the work could not be done."""
        ledger.failed(self.kernel.store, order.batch, reason, fault)

    def take_probe(self, worker: str) -> ProbeOrder | None:
        """Take the storage that somebody waits to hear of, if anybody does."""
        probe = probes.take(self.kernel.store, worker)
        if probe is None:
            return None
        try:
            definition = msgspec.json.decode(probe.definition, type=CatalogDefinition)
            # INVARIANT: opened anew by this process, which asks what its own operator opened.
            adapter = self.registry.open(definition)
            if not holds_documents(adapter):
                raise IllegalArgument("the catalog holds no Iceberg tables")
            base = next(iter((*adapter.own_places(), *more_places(definition.properties))))
        except HeadgateError as error:
            probes.answer(self.kernel.store, probe.id, f"at the worker, {error}")
            return None
        # Beside the copies of all catalogs: PyArrow marks the folder above one that it deletes, and marks are not to gather.
        above = base.partition(f"/{GOVERNED}/")[0]
        return ProbeOrder(probe.id, adapter.storage, f"{above}/{GOVERNED}/probe-{probe.id}")

    def probed(self, order: ProbeOrder, outcome: str) -> None:
        """Say how it went: nothing if it went well."""
        probes.answer(self.kernel.store, order.id, outcome)

    def expects_work(self) -> bool:
        """Whether somebody had a restricted view lately, so that it pays to be ready."""
        return bool(ledger.views(self.kernel.store, since=recently()))

    def _read(self, batch: ledger.Batch) -> tuple[GovernedRead | None, str]:
        """The view that the batch is for, worked out anew from who had it last.

        INVARIANT: nothing is copied through a view that the policies of this moment give to nobody who asked for it.
        """
        authority = self.kernel.authority()
        node = authority.objects.get(batch.object)
        record = ledger.view(self.kernel.store, batch.object, batch.view)
        if node is None or node.type is not ObjectType.TABLE or record is None:
            return None, ""
        name = ".".join(authority.objects[id].name for id, _ in node.chain)
        identity = msgspec.json.decode(record.identity, type=Identity)
        read = self.reads.as_seen_by(authority, node, identity, batch.document)
        return (read if read is not None and read.copy_id == batch.view else None), name


def redact(error: HeadgateError) -> str:
    """Why work failed, as readers may hear it: not where files lie, as their names may hold values of the table."""
    if isinstance(error, NotFound | ConnectionFailed):
        return f"files of the table cannot be reached ({type(error).__name__})"
    return str(error)
