"""Tables: made, loaded, changed and dropped in the catalog they live in, under the permits of their object."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from headgate.catalogs.iceberg.validity import READ_BY
from headgate.catalogs.interface import (
    IcebergCatalog,
    Staged,
    TableCatalog,
    TablePlace,
    holds_documents,
    holds_tables,
    keeps_tables,
)
from headgate.decide import Op, visible
from headgate.model import tables as t
from headgate.model.changes import ObjectGone, ObjectPut
from headgate.model.errors import (
    AlreadyExists,
    HeadgateError,
    IllegalArgument,
    NameTaken,
    NotFound,
    OutcomeUnknown,
    Unsupported,
)
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType, checked_name, clip
from headgate.model.principals import Audit
from headgate.model.properties import check_read
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.catalogs import Catalogs
from headgate.steward.metadata.placing import Placing, in_changes, in_definition
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.reads import description
from headgate.steward.reads.lenses import Lenses, ShapedLens
from headgate.store import Write, objects
from headgate.vending.providers import PROPERTY, check_providers


class KeptTable(msgspec.Struct, frozen=True):
    """A table as its catalog has it, with its makers as Headgate knows them."""

    table: t.LoadedTable
    audit: Audit


class Tables:
    def __init__(self, kernel: Kernel, catalogs: Catalogs, lenses: Lenses, placing: Placing) -> None:
        self.kernel = kernel
        self.placing = placing
        self.catalogs = catalogs
        self.lenses = lenses

    @act(Op.LIST_TABLES)
    def list(self, permit: Permit) -> list[ObjectRef]:
        """Those in the schema that the caller may see, by name."""
        self.adapter(permit)
        authority = self.catalogs.seen(permit)
        nodes = authority.children_of(permit.node.id, ObjectType.TABLE)
        shown = visible(authority, permit.caller, Op.LIST_TABLES, nodes)
        return [permit.ref.child(ObjectType.TABLE, name) for name in sorted(node.name for node in shown)]

    @act(Op.CREATE_TABLE)
    def create(self, permit: Permit, definition: t.TableDefinition) -> KeptTable:
        """Make a table in the schema of the permit; who makes it becomes its owner."""
        name = checked_name(definition.name, "table")
        adapter = self.adapter(permit)
        self._check_properties(permit, adapter, definition.properties)
        free(permit, ObjectType.TABLE, name)
        # Of an Iceberg table no property says where it lies.
        location = definition.properties.get("location") if _may_be_hive(adapter) else None
        at = place_in(permit, name)
        chosen = in_definition({"properties": definition.properties, "location": location})
        more = self.placing.named(permit, adapter, at, chosen) if holds_documents(adapter) else ()
        staged = adapter.create_table(at, definition)
        with Abandoned(staged) as until, self.kernel.change(permit, *more) as tx:
            until.decided_by = tx
            untaken(tx, permit.node.id, ObjectType.TABLE, name)
            record = created(tx, permit, ObjectType.TABLE, name)
            staged.commit(tx, record.id)
        return KeptTable(staged.result, record.audit)

    @act(Op.LOAD_TABLE)
    def load(self, permit: Permit) -> KeptTable:
        """A table as the caller sees it: hidden columns are not there."""
        return self.described(permit)

    def described(self, permit: Permit) -> KeptTable:
        """As `load`, for other acts under permits of their own."""
        with self.kernel.store.read() as read:
            record = objects.present(read, permit.node.id)
        whole, by = self.whole(permit)
        return KeptTable(description.table(by, whole), record.audit)

    def whole(self, permit: Permit) -> tuple[t.LoadedTable, ShapedLens]:
        """A whole table, and what the caller sees of it.

        INVARIANT: both by one document, also where another server may answer with another one the next time.
        """
        adapter, at = self.adapter(permit), place_of(permit)
        if keeps_tables(adapter):
            found = adapter.described(at)
            return found.table, self.lenses.over(permit, found.columns)
        whole = adapter.load_table(at)
        return whole, self.lenses.of(permit, whole.metadata_location)

    @act(Op.ALTER_TABLE, also=(Op.DROP_TABLE, Op.CREATE_TABLE))
    def alter(
        self, permit: Permit, changes: tuple[t.TableChange, ...], into: tuple[Permit, Permit] | None = None
    ) -> KeptTable:
        """Change a table, all changes or none.

        A table goes to another schema only with two more permits: to drop it here and to create it there. Otherwise
        the owner of the other schema would gain a table by moving it.
        """
        with self.kernel.store.read() as read:
            before = objects.present(read, permit.node.id)
        name = _new_name(permit, changes, into)
        put = {change.property: change.value for change in changes if isinstance(change, t.SetTableProperty)}
        self._check_properties(permit, self.adapter(permit), put)
        place = TablePlace(_segments(permit.ref.parent), permit.ref.name, before.id)
        adapter = self.adapter(permit)
        chosen = in_changes(changes)
        more = self.placing.named(permit, adapter, place, chosen) if holds_documents(adapter) else ()
        if name is not None:
            # Asked before the system behind the catalog renames it, and again by the change itself.
            parent = before.parent if into is None else into[1].node.id
            self.kernel.foresee(permit, ObjectPut(before.id, parent, ObjectType.TABLE, name))
        with self.kernel.writing(permit, outside=adapter.outside):
            staged = adapter.alter_table(place, changes)
        permits = (permit, *more) if into is None else (permit, *into, *more)
        with (
            self.kernel.writing(permit, outside=adapter.outside),
            Abandoned(staged) as until,
            self.kernel.change(*permits, telling=lambda _: _record_changes(changes)) as tx,
        ):
            until.decided_by = tx
            staged.commit(tx, before.id)
            target = None if into is None else into[1].node.id
            if name is not None:
                untaken(tx, before.parent if target is None else target, ObjectType.TABLE, name)
            objects.alter(tx, before, parent=target, name=name)
            record = objects.present(tx, before.id)
        definition = msgspec.structs.replace(staged.result.definition, name=record.name)
        altered = msgspec.structs.replace(staged.result, definition=definition)
        # A caller who sees all of the table before the change may see less of it now, such as a column that gets a hidden name.
        # Another server knows it by its new name only.
        seen = self.lenses.of(self._now(permit) if adapter.outside else permit)
        return KeptTable(description.table(seen, altered), record.audit)

    def _now(self, permit: Permit) -> Permit:
        """The permit of a change that was made, for the table where it lies since, under the name that it has there."""
        authority = self.kernel.authority()
        node = authority.objects.get(permit.node.id) or permit.node
        caller = authority.caller(permit.identity, node.metalake)
        return msgspec.structs.replace(
            permit, node=node, ref=authority.ref(node), caller=caller, authority=authority
        )

    @act(Op.DROP_TABLE)
    def drop(self, permit: Permit, *, purge: bool) -> None:
        """Forget a table; purging deletes its files as well."""
        # Asked before the system behind the catalog drops it, and again by the change itself.
        self.kernel.foresee(permit, ObjectGone(permit.node.id))
        staged = self.adapter(permit).drop_table(place_of(permit), purge=purge)
        with Abandoned(staged) as until, self.kernel.change(permit) as tx:
            until.decided_by = tx
            staged.commit(tx, permit.node.id)
            objects.drop(tx, permit.node.id)
        staged.finish()

    def field_id(self, permit: Permit, column: str) -> int:
        """The id of a column of the permit's table, which outlives a rename."""
        found = self.described(permit).table.fields.get(column)
        if found is None:
            raise NotFound(f"column '{clip(column)}' does not exist", about=ObjectType.COLUMN)
        return found

    def _check_properties(self, permit: Permit, adapter: TableCatalog, properties: dict[str, str]) -> None:
        check_read("hive table" if _may_be_hive(adapter) else "table", properties)
        self.check_providers(permit, properties)

    def check_providers(self, permit: Permit, properties: Mapping[str, object]) -> None:
        """Refuse a way to give out credentials that is not built, whichever door names it."""
        named = properties.get(PROPERTY)
        if named is not None:
            check_providers(str(named), self.catalogs.of(permit).properties)

    def adapter(self, permit: Permit) -> TableCatalog:
        """The catalog that holds the table or the schema of a permit, if it holds tables at all."""
        adapter = self.catalogs.adapter(permit)
        if not holds_tables(adapter):
            raise Unsupported(
                f"catalog '{clip(permit.ref.path[0])}' holds no tables", hint="use a relational catalog"
            )
        return adapter

    def documents_of(self, permit: Permit) -> IcebergCatalog:
        """The catalog of a permit, if its tables are Iceberg documents."""
        adapter = self.adapter(permit)
        if not holds_documents(adapter):
            raise Unsupported(
                "this catalog does not hold Iceberg tables",
                hint="use a catalog of provider lakehouse-iceberg",
            )
        return adapter


def _may_be_hive(adapter: TableCatalog) -> bool:
    return keeps_tables(adapter) and adapter.hive


class Abandoned:
    """Takes a staged change back if the transaction around its commit fails, once that has let go of the store.

    INVARIANT: never what may have been committed: where the database failed while it committed, what was written stays.
    What stays, here or in another system, is told as such: a client that took it for undone would delete its files.
    """

    def __init__(self, *staged: Staged[Any]) -> None:
        self.staged = staged
        self.decided_by: Write | None = None
        """The transaction that commits it."""

    def __enter__(self) -> "Abandoned":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        unknown: OutcomeUnknown | None = None
        if self.decided_by is not None and self.decided_by.ending:
            unknown = OutcomeUnknown(
                "whether the change was made is not known: the store was told to keep it and did not answer",
                hint="read it again before you try again",
            )
        else:
            for staged in reversed(self.staged):
                try:
                    staged.abandon()
                except OutcomeUnknown as kept:
                    unknown = OutcomeUnknown(f"{kept.message}: {_reason(error)}", hint=kept.hint)
        if unknown is not None:
            raise unknown from error


def _reason(error: BaseException) -> str:
    return error.message if isinstance(error, HeadgateError) else "something failed"


def _segments(schema: ObjectRef) -> tuple[str, ...]:
    return tuple(schema.name.split(SCHEMA_SEPARATOR))


def place_in(permit: Permit, name: str, type: ObjectType = ObjectType.TABLE) -> TablePlace:
    """Where a new table or view goes, in the schema of a permit."""
    return TablePlace(_segments(permit.ref), name, type=type)


def place_of(permit: Permit) -> TablePlace:
    """Where the table or view of a permit is."""
    return TablePlace(_segments(permit.ref.parent), permit.ref.name, permit.node.id, permit.ref.type)


_OTHER: Final = {ObjectType.TABLE: ObjectType.VIEW, ObjectType.VIEW: ObjectType.TABLE}
"""What has its names in common with what: engines look tables and views up by the same name."""


def free(permit: Permit, type: ObjectType, name: str) -> None:
    """Say early that the name of a new table or view is taken or impossible; `untaken` makes sure in the change."""
    checked_name(name, type.value)
    for each in (type, _OTHER[type]):
        if permit.authority.child(permit.node.id, each, name) is not None:
            kind = AlreadyExists if each is type else NameTaken
            raise kind(f"{each} '{clip(name)}' already exists", about=each, ref=permit.ref.child(each, name))


def untaken(tx: Write, schema: int, type: ObjectType, name: str) -> None:
    """Refuse a name that a view has, for a table, and the other way round; its own type is for the store to refuse."""
    other = _OTHER[type]
    if objects.find(tx, schema, other, name) is not None:
        raise NameTaken(f"{other} '{clip(name)}' already exists", about=other)


def _record_changes(changes: tuple[t.TableChange, ...]) -> dict[str, object]:
    """What the audit trail shall know: the kinds of changes, and properties that change what readers read."""
    named = {
        change.property
        for change in changes
        if isinstance(change, t.SetTableProperty | t.RemoveTableProperty)
    }
    kinds = sorted({str(change.__struct_config__.tag) for change in changes})
    return {"updates": kinds, "reads_as": sorted(READ_BY & named) or None}


def _new_name(
    permit: Permit, changes: tuple[t.TableChange, ...], into: tuple[Permit, Permit] | None
) -> str | None:
    renames = [change for change in changes if isinstance(change, t.RenameTable)]
    if not renames:
        return None
    last = renames[-1]
    here = permit.ref.parent
    moved = last.new_schema_name not in (None, "", here.name)
    # INVARIANT: the permit to make the table is for the schema that it ends in.
    asked = None if into is None else into[1].ref.name
    if asked != (last.new_schema_name if moved else None):
        raise IllegalArgument("a table moves once in a list of updates", hint="send the moves one by one")
    return checked_name(last.new_name, "table")
