"""Tables: ``/v1/{prefix}/namespaces/{namespace}/tables``, rename, register and transactions."""

import hashlib
from typing import Any, Final

import msgspec

from headgate.catalogs.interface import Document
from headgate.decide import Op
from headgate.doors.iceberg import access, wire
from headgate.doors.iceberg.access import circumstances_of, table, with_access
from headgate.doors.iceberg.once import Replay, done_before, once, permitted
from headgate.doors.routing import Answer, DoorCall, Routes
from headgate.model.errors import AlreadyExists, IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.steward import Permit
from headgate.steward.metadata.documents import Commit
from headgate.steward.reads.loading import Loaded

routes = Routes("/iceberg/v1/{prefix}")

Json = dict[str, Any]

_TABLE = "/namespaces/{namespace}/tables/{table}"


class CreateIcebergTable(msgspec.Struct, frozen=True, rename="kebab"):
    name: str
    schema: Json
    location: str | None = None
    partition_spec: Json | None = None
    write_order: Json | None = None
    stage_create: bool = False
    properties: dict[str, str] | None = None


class RegisterTable(msgspec.Struct, frozen=True, rename="kebab"):
    name: str
    metadata_location: str
    overwrite: bool = False


class CommitBody(msgspec.Struct, frozen=True):
    requirements: list[Json]
    updates: list[Json]
    identifier: Json | None = None


class Transaction(msgspec.Struct, frozen=True, rename="kebab"):
    table_changes: list[CommitBody]


class RenameIcebergTable(msgspec.Struct, frozen=True):
    source: Json
    destination: Json


def result(loaded: Document, config: dict[str, str] | None = None, restrictions: Json | None = None) -> Json:
    """A table as clients get it."""
    answer: Json = {"metadata": loaded.metadata, "config": config or {}}
    if restrictions is not None:
        answer["read-restrictions"] = restrictions
    return answer if loaded.location is None else {"metadata-location": loaded.location, **answer}


@routes.on(
    "GET", "/namespaces/{namespace}/tables", Op.LIST_TABLES, wire.namespace, query=("pageToken", "pageSize")
)
def list_tables(call: DoorCall) -> Any:
    """List the tables of a namespace that the caller may see."""
    found, token = wire.page(call, call.steward.tables.list(call.permit), lambda ref: ref.name)
    return wire.paged({"identifiers": [wire.identifier(ref) for ref in found]}, token)


def _made_again(call: DoorCall, done: bool) -> Any:
    """A table that was made is loaded. One that was staged is staged anew: nothing was kept of it, and a folder that
    may have become somebody's table by now is not handed out again."""
    if not done:
        return None
    if getattr(call.body, "stage_create", False):
        return _staged(call)
    return _loaded(call, wire.namespace(call).child(ObjectType.TABLE, call.body.name))


@routes.on("POST", "/namespaces/{namespace}/tables", Op.CREATE_TABLE, wire.namespace, body=CreateIcebergTable)
@with_access
@once(_made_again)
def create_table(call: DoorCall) -> Any:
    """Create a table, or say what it would be for a client that stages it."""
    body: CreateIcebergTable = call.body
    if body.stage_create:
        return _staged(call)
    return result(call.steward.documents.create(call.permit, ObjectType.TABLE, body.name, _definition(body)))


def _staged(call: DoorCall) -> Json:
    body: CreateIcebergTable = call.body
    return result(call.steward.documents.stage(call.permit, body.name, _definition(body)))


def _definition(body: CreateIcebergTable) -> Json:
    return {
        "schema": body.schema,
        "location": body.location,
        "partition-spec": body.partition_spec,
        "write-order": body.write_order,
        "properties": body.properties,
    }


def _loaded(call: DoorCall, ref: ObjectRef) -> Json:
    """A table as the caller may load it today, without access to its files."""
    loaded = call.steward.loading.load(call.ask(Op.LOAD_TABLE, ref), circumstances_of(call))
    return result(loaded.document, loaded.config, loaded.restrictions)


@routes.on("POST", "/namespaces/{namespace}/register", Op.CREATE_TABLE, wire.namespace, body=RegisterTable)
@with_access
@once(_made_again)
def register_table(call: DoorCall) -> Any:
    """Take over a table by its metadata file."""
    body: RegisterTable = call.body
    if body.overwrite:
        raise IllegalArgument(
            "overwrite is not supported when registering a table", hint="drop the table first"
        )
    registered = call.steward.documents.register(
        call.permit, ObjectType.TABLE, body.name, body.metadata_location
    )
    permit = call.ask(Op.LOAD_TABLE, wire.namespace(call).child(ObjectType.TABLE, body.name))
    return result(call.steward.loading.taken_over(permit, registered))


@routes.on("GET", _TABLE, Op.LOAD_TABLE, table, query=("snapshots", "referenced-by"))
def load_table(call: DoorCall) -> Any:
    """Load a table."""
    snapshots = call.query.get("snapshots") or "all"
    if snapshots not in ("all", "refs"):
        raise IllegalArgument("'snapshots' is all or refs")
    circumstances = circumstances_of(call)
    loaded = call.steward.loading.load(call.permit, circumstances)
    given = call.steward.vending.access(loaded.permit, circumstances, loaded.read)
    tag = _etag(loaded, call.permit, snapshots)
    # INVARIANT: an answer with credentials has no tag: one that did not change would leave its client with old ones.
    if not given and tag in [known.strip() for known in call.headers.get("if-none-match", "").split(",")]:
        return Answer(status=304, headers={"ETag": tag})
    document = loaded.document
    if snapshots == "refs":
        document = msgspec.structs.replace(document, metadata=_referenced(document.metadata))
    ref = call.permit.ref
    body = {
        **result(document, {**loaded.config, **access.config(given, ref)}, loaded.restrictions),
        **access.members(given, ref),
    }
    return Answer(body, headers=access.UNCACHED if given else {"ETag": tag})


@routes.on("HEAD", _TABLE, Op.LOAD_TABLE, table)
def table_exists(call: DoorCall) -> Any:
    """Tell whether a table exists."""
    return Answer(status=204)


def _committed_again(call: DoorCall, done: bool) -> Any:
    ref = table(call)
    _commit(call, ref, call.body)
    if not done:
        return None
    found = _loaded(call, ref)
    return {"metadata-location": found.get("metadata-location"), "metadata": found["metadata"]}


@routes.on("POST", _TABLE, Op.LOAD_SCHEMA, wire.namespace, body=CommitBody)
@once(_committed_again)
def commit_table(call: DoorCall) -> Any:
    """Commit updates to a table, or make the one that was staged."""
    loaded = call.steward.documents.commit([_commit(call, table(call), call.body)])[0]
    return {"metadata-location": loaded.location, "metadata": loaded.metadata}


@routes.on(
    "DELETE", _TABLE, Op.DROP_TABLE, table, query=("purgeRequested",), absent=done_before("drop_table")
)
@once(permitted)
def drop_table(call: DoorCall) -> Any:
    """Drop a table; with purgeRequested its files go too."""
    call.steward.tables.drop(call.permit, purge=call.flag("purgeRequested"))
    return Answer(status=204)


def rename_permits(call: DoorCall, type: ObjectType, *, done: bool = False) -> tuple[Permit, ...]:
    """What a rename takes: to alter the table or view, to put it where it goes, and to drop it where it was.

    The owner of the other schema would gain the table by moving it there, so moving it is also dropping it. If it is
    renamed already, it is asked about under its new name.
    """
    alter, drop, make = _RENAMING[type]
    source, target = renamed(call, type)
    moves = source.parent != target.parent
    at = target if done else source
    others = [call.ask(drop, at)] if moves else []
    here = call.ask(alter, at)
    there = call.ask(make if moves else Op.LOAD_SCHEMA, target.parent)
    return here, there, *others


_RENAMING: Final = {
    ObjectType.TABLE: (Op.ALTER_TABLE, Op.DROP_TABLE, Op.CREATE_TABLE),
    ObjectType.VIEW: (Op.ALTER_VIEW, Op.DROP_VIEW, Op.CREATE_VIEW),
}


def renamed_again(type: ObjectType) -> Replay:
    """The replay of a rename: its permits, and no body."""

    def ask(call: DoorCall, done: bool) -> None:
        rename_permits(call, type, done=done)

    return ask


@routes.on("POST", "/tables/rename", Op.LOAD_CATALOG, wire.catalog, body=RenameIcebergTable)
@once(renamed_again(ObjectType.TABLE))
def rename_table(call: DoorCall) -> Any:
    """Rename a table, also into another namespace."""
    rename(call, ObjectType.TABLE)
    return Answer(status=204)


def _commits(call: DoorCall) -> list[Commit]:
    body: Transaction = call.body
    commits, seen = [], set()
    for change in body.table_changes:
        ref = wire.named(wire.catalog(call), ObjectType.TABLE, change.identifier)
        if ref in seen:
            raise IllegalArgument(f"table '{ref.full_name}' stands in the transaction twice")
        seen.add(ref)
        commits.append(_commit(call, ref, change))
    return commits


def _transacted_again(call: DoorCall, done: bool) -> None:
    _commits(call)


@routes.on("POST", "/transactions/commit", Op.LOAD_CATALOG, wire.catalog, body=Transaction)
@once(_transacted_again)
def commit_transaction(call: DoorCall) -> Any:
    """Commit to several tables, all or none."""
    commits = _commits(call)
    if commits:
        call.steward.documents.commit(commits)
    return Answer(status=204)


def _commit(call: DoorCall, ref: ObjectRef, body: CommitBody) -> Commit:
    """A commit with its permit: to change the table, or to make it if that is what the client asserts."""
    if any(requirement.get("type") == "assert-create" for requirement in body.requirements):
        return Commit(call.ask(Op.CREATE_TABLE, ref.parent), ref.name, body.requirements, body.updates)
    return Commit(call.ask(Op.ALTER_TABLE, ref), None, body.requirements, body.updates)


def rename(call: DoorCall, type: ObjectType) -> None:
    """Rename, telling a name that is taken as clients expect it of a rename."""
    source, into, *others = rename_permits(call, type)
    target = renamed(call, type)[1]
    try:
        call.steward.documents.rename(source, into, target.name, *others)
    except AlreadyExists as taken:
        here, there = (".".join((*wire.levels(ref.path[1]), ref.name)) for ref in (source.ref, target))
        what = str(taken.about).capitalize()
        raise AlreadyExists(f"Cannot rename {clip(here)} to {clip(there)}. {what} already exists") from None


def renamed(call: DoorCall, type: ObjectType) -> tuple[ObjectRef, ObjectRef]:
    """The names before and after."""
    body: RenameIcebergTable = call.body
    catalog = wire.catalog(call)
    return wire.named(catalog, type, body.source), wire.named(catalog, type, body.destination)


def _etag(loaded: Loaded, permit: Permit, snapshots: str) -> str:
    """INVARIANT: covers everything the answer depends on, the caller included, so no cache serves one to another."""
    parts = (
        loaded.document.location,
        loaded.config,
        loaded.read.copy_id,
        loaded.restrictions,
        snapshots,
        permit.identity.user,
        sorted(permit.identity.groups),
        permit.identity.groups_known,
    )
    return f'"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"'


def _referenced(metadata: Json) -> Json:
    """The document with only those snapshots that a branch or tag points to."""
    wanted = {ref["snapshot-id"] for ref in metadata.get("refs", {}).values()}
    wanted.add(metadata.get("current-snapshot-id"))
    return {**metadata, "snapshots": [s for s in metadata.get("snapshots", []) if s["snapshot-id"] in wanted]}
