"""Table metadata: made from a create request, and taken from one version to the next by the updates of a commit."""

import copy
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from headgate.catalogs.iceberg import outcome, validity
from headgate.catalogs.iceberg import schema as schemas
from headgate.catalogs.iceberg.outcome import MAIN
from headgate.catalogs.iceberg.validity import FIRST_PARTITION_ID, LARGEST, number, text
from headgate.catalogs.iceberg.validity import texts as strings
from headgate.model.errors import Conflict, IllegalArgument
from headgate.model.objects import clip
from headgate.model.schema import Schema

Json = dict[str, Any]

FORMAT_VERSIONS: Final = (1, 2, 3)
DEFAULT_FORMAT_VERSION: Final = 2
LAST_ADDED: Final = -1

UNSORTED: Final[Json] = {"order-id": 0, "fields": []}

_AHEAD: Final = 24 * 3600 * 1000
"""How far in the future a writer's clock may be, in milliseconds. What comes after could else never be newer."""
_UNREADABLE: Final = (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def empty(format_version: int = DEFAULT_FORMAT_VERSION) -> Json:
    """What the first commit of a table builds upon: nothing yet."""
    return {
        "format-version": _checked_version(format_version),
        "last-sequence-number": 0,
        "last-updated-ms": now_ms(),
        "last-column-id": 0,
        "schemas": [],
        "partition-specs": [],
        "last-partition-id": FIRST_PARTITION_ID - 1,
        "sort-orders": [],
        "properties": {},
        "snapshots": [],
        "refs": {},
        "snapshot-log": [],
        "metadata-log": [],
    }


def create(location: str, definition: Json, id: uuid.UUID) -> Json:
    """The first metadata of a table that a create request defines, with field ids of its own giving."""
    validity.plain(definition)
    try:
        table = _created(location, definition, id)
    except _UNREADABLE as error:
        raise IllegalArgument(f"the table cannot be made: {clip(str(error), 200)}") from None
    checked(table)
    return table


def _created(location: str, definition: Json, id: uuid.UUID) -> Json:
    kept = dict(strings(definition.get("properties") or {}))
    version = _format_version(kept.pop("format-version", str(DEFAULT_FORMAT_VERSION)))
    fresh, became, last_column = schemas.fresh(schemas.checked(definition.get("schema")))
    table = empty(version)
    spec = _fresh_spec(definition.get("partition-spec"), became)
    order = _fresh_order(definition.get("write-order"), became)
    table |= {
        "table-uuid": str(id),
        "location": location,
        "last-column-id": last_column,
        "current-schema-id": 0,
        "schemas": [fresh],
        "default-spec-id": 0,
        "partition-specs": [spec],
        "last-partition-id": max((f["field-id"] for f in spec["fields"]), default=FIRST_PARTITION_ID - 1),
        "default-sort-order-id": order["order-id"],
        "sort-orders": [order],
        "properties": kept,
    }
    if version >= 3:
        table["next-row-id"] = 0
    return finished(table)


def checked(document: Json) -> None:
    """Refuse a document that is not the metadata of a table, or that not every reader can read.

    INVARIANT: the reason tells where, never what: a document that is only claimed to be one may hold anything.
    """
    validity.plain(document)
    validity.parsed(document)
    try:
        version = _checked_version(document["format-version"])
        every = document.get("schemas") or [document["schema"]]
        read = {number(one.get("schema-id", 0), "schema-id"): validity.schema(one, version) for one in every}
        current = read[document.get("current-schema-id", min(read))]
        for order in document.get("sort-orders") or []:
            if order["order-id"] == document.get("default-sort-order-id"):
                validity.order(order["fields"], current)
        for spec in document.get("partition-specs") or []:
            if spec["spec-id"] == document.get("default-spec-id"):
                validity.spec(spec["fields"], current, version)
        for snapshot in document.get("snapshots") or []:
            # Those from before an upgrade of the format lack what it brought.
            written = min(version, 2) if snapshot.get("sequence-number") else 1
            validity.snapshot(snapshot, written, set(read), now_ms() + _AHEAD)
        for ref in (document.get("refs") or {}).values():
            validity.ref(ref)
        validity.properties(validity.texts(document.get("properties") or {}))
    except _UNREADABLE:
        raise IllegalArgument("Iceberg refuses the document: a part of it is missing") from None


def applied(base: Json, updates: Sequence[Json]) -> Json:
    """The metadata after the updates of a commit. `base` is left as it is.

    INVARIANT: what comes out is valid by Iceberg's specification and can be read by pyiceberg, as far as the updates
    touched it; what does not is refused, and nothing is changed.
    """
    validity.plain(updates)
    draft = _TableDraft(base)
    for update in updates:
        draft.apply(update)
    after = finished(draft.done())
    try:
        outcome.check(base, after)
    except _UNREADABLE as error:
        raise IllegalArgument(
            f"the table cannot become what was asked for: {clip(str(error), 200)}"
        ) from None
    return after


def finished(table: Json) -> Json:
    """The document as it is written: what the format version prescribes, no more."""
    version = table["format-version"]
    required = ("table-uuid", "location", "current-schema-id", "default-spec-id", "default-sort-order-id")
    missing = [key for key in required if key not in table]
    if missing:
        raise IllegalArgument(
            f"the table would have no {missing[0]}", hint="send all updates that make a table"
        )
    result = {key: value for key, value in table.items() if value is not None}
    if version == 1:
        result.pop("last-sequence-number", None)
        result["schema"] = find(table["schemas"], "schema-id", table["current-schema-id"])
        result["partition-spec"] = find(table["partition-specs"], "spec-id", table["default-spec-id"])[
            "fields"
        ]
    else:
        result.pop("schema", None)
        result.pop("partition-spec", None)
        result.setdefault("last-sequence-number", 0)
    if version >= 3:
        result.setdefault("next-row-id", 0)
    return result


def logged(table: Json, base: Json, base_location: str) -> Json:
    """The new metadata with its predecessor in the log, which is kept to the length that the table asks for."""
    most = table["properties"].get("write.metadata.previous-versions-max", "100")
    keep = max(1, int(most) if most.isdigit() else 100)
    entry = {"timestamp-ms": base["last-updated-ms"], "metadata-file": base_location}
    return {**table, "metadata-log": [*table.get("metadata-log", []), entry][-keep:]}


def require(table: Json | None, requirements: Iterable[Json]) -> None:
    """Make sure that the table still is what the client believes; None is a table that does not exist."""
    for requirement in requirements:
        kind = requirement.get("type")
        if kind == "assert-create":
            if table is not None:
                raise Conflict("Requirement failed: table already exists", about="commit")
            continue
        if table is None:
            raise Conflict("Requirement failed: table does not exist", about="commit")
        check = _REQUIREMENTS.get(kind) if isinstance(kind, str) else None
        if check is None:
            raise IllegalArgument(f"requirement '{clip(str(kind), 40)}' is not known")
        requirement_text, expected, actual = check(table, requirement)
        if expected != actual:
            raise Conflict(
                f"Requirement failed: {requirement_text}: expected {clip(str(expected))} != {actual}",
                about="commit",
            )


def _ref_snapshot(table: Json, requirement: Json) -> tuple[str, Any, Any]:
    ref = text(requirement.get("ref"), "the ref of a requirement")
    expected = requirement.get("snapshot-id")
    if expected is not None:
        number(expected, "the snapshot-id of a requirement", -1)
    actual = table.get("refs", {}).get(ref, {}).get("snapshot-id")
    return f"branch or tag {clip(ref)} has changed", expected, actual


def _same_uuid(table: Json, requirement: Json) -> tuple[str, Any, Any]:
    expected = text(requirement.get("uuid"), "the uuid of a requirement")
    return "UUID does not match", expected.lower(), table["table-uuid"].lower()


def _same_number(key: str, of: str, requirement_text: str) -> Callable[[Json, Json], tuple[str, Any, Any]]:
    return lambda t, r: (requirement_text, number(r.get(key), f"the {key} of a requirement", -1), t.get(of))


_REQUIREMENTS: Final[dict[str, Callable[[Json, Json], tuple[str, Any, Any]]]] = {
    "assert-table-uuid": _same_uuid,
    "assert-ref-snapshot-id": _ref_snapshot,
    "assert-last-assigned-field-id": _same_number(
        "last-assigned-field-id", "last-column-id", "last assigned field id changed"
    ),
    "assert-current-schema-id": _same_number(
        "current-schema-id", "current-schema-id", "current schema changed"
    ),
    "assert-last-assigned-partition-id": _same_number(
        "last-assigned-partition-id", "last-partition-id", "last assigned partition id changed"
    ),
    "assert-default-spec-id": _same_number(
        "default-spec-id", "default-spec-id", "default partition spec changed"
    ),
    "assert-default-sort-order-id": _same_number(
        "default-sort-order-id", "default-sort-order-id", "default sort order changed"
    ),
}


class _TableDraft:
    """Metadata while the updates of one commit are applied to it."""

    def __init__(self, base: Json) -> None:
        self.table = {key: copy.copy(value) for key, value in base.items()}
        for key in ("schemas", "partition-specs", "sort-orders", "snapshots", "snapshot-log"):
            self.table.setdefault(key, [])
        self.table.setdefault("refs", {})
        self.table.setdefault("properties", {})
        self.base = base
        self.updated_at: int | None = None
        self.added: dict[str, int] = {}
        self.added_snapshots: set[int] = set()

    def apply(self, update: Json) -> None:
        action = update.get("action")
        method = getattr(self, "_" + str(action).replace("-", "_"), None) if isinstance(action, str) else None
        if action not in ACTIONS or method is None:
            raise IllegalArgument(
                f"update '{str(action)[:40]}' is not known", hint=f"use one of {', '.join(ACTIONS)}"
            )
        try:
            method(update)
        except _UNREADABLE as error:
            raise IllegalArgument(f"update '{action}' cannot be read: {clip(str(error), 200)}") from None

    @property
    def version(self) -> int:
        return int(self.table["format-version"])

    def done(self) -> Json:
        at = self.updated_at or now_ms()
        # Readers refuse a document that is older than the one before it, so a slow clock does not set time back.
        exists = "table-uuid" in self.base
        self.table["last-updated-ms"] = max(at, self.base["last-updated-ms"]) if exists else at
        log = self.table["snapshot-log"]
        current = self.table.get("current-snapshot-id")
        # Snapshots that were added and set aside again by this very commit never were current for anyone.
        passing = {entry["snapshot-id"] for entry in log if entry["snapshot-id"] in self.added_snapshots} - {
            current
        }
        self.table["snapshot-log"] = [entry for entry in log if entry["snapshot-id"] not in passing]
        return self.table

    # -- the table itself ---------------------------------------------------------------------------------------

    def _assign_uuid(self, update: Json) -> None:
        given = str(uuid.UUID(text(update["uuid"], "uuid")))
        if self.table.get("table-uuid", given).lower() != given:
            raise IllegalArgument("the uuid of a table cannot change")
        self.table["table-uuid"] = given

    def _upgrade_format_version(self, update: Json) -> None:
        version = _checked_version(update["format-version"])
        if version < self.table["format-version"]:
            raise IllegalArgument(f"Cannot downgrade v{self.table['format-version']} table to v{version}")
        if version >= 3:
            self.table.setdefault("next-row-id", 0)
        self.table["format-version"] = version

    def _set_location(self, update: Json) -> None:
        self.table["location"] = text(update["location"], "location").rstrip("/")

    def _set_properties(self, update: Json) -> None:
        values = update.get("updates", update.get("updated"))
        self.table["properties"] = {**self.table["properties"], **strings(values)}
        version = self.table["properties"].pop("format-version", None)
        if version is not None:
            self._upgrade_format_version({"format-version": _format_version(version)})

    def _remove_properties(self, update: Json) -> None:
        gone = set(update.get("removals") or update.get("removed") or ())
        if validity.NAME_MAPPING in gone & self.table["properties"].keys() and self.table.get("snapshots"):
            # INVARIANT: a table with files that were written elsewhere is known by this property: they may hold columns
            # that the table never knew, so that who sees a part of it gets copies.
            raise IllegalArgument(
                f"property '{validity.NAME_MAPPING}' cannot be removed while the table has snapshots",
                hint="files may be read by it: rewrite them into another table",
            )
        self.table["properties"] = {k: v for k, v in self.table["properties"].items() if k not in gone}

    # -- schemas, specs, orders ---------------------------------------------------------------------------------

    def _add_schema(self, update: Json) -> None:
        schema = schemas.checked(update["schema"])
        validity.schema(schema, self.version)
        last = max(self.table["last-column-id"], schemas.highest_id(schema))
        self.table["last-column-id"] = last
        known = self.table["schemas"]
        alike = next((s["schema-id"] for s in known if schemas.same(s, schema)), None)
        if alike is None:
            alike = max((s["schema-id"] for s in known), default=-1) + 1
            self.table["schemas"] = [*known, {**schema, "schema-id": alike}]
        self.added["schema"] = alike

    def _set_current_schema(self, update: Json) -> None:
        id = self._last_added("schema", update["schema-id"])
        find(self.table["schemas"], "schema-id", id)
        self.table["current-schema-id"] = id

    def _add_spec(self, update: Json) -> None:
        spec = validity.entry(update["spec"], "a partition spec")
        fields = []
        last = self.table["last-partition-id"]
        for field in validity.entries(spec.get("fields", []), "the fields of a partition spec"):
            id = field.get("field-id")
            if id is None:
                id = last + 1
            last = max(last, number(id, "the id of a partition field"))
            fields.append({**field, "field-id": id})
        validity.spec(fields, self._schema(), self.version)
        known = self.table["partition-specs"]
        if self.version > 1:
            _partition_ids_are_kept(known, fields)
        alike = next((s["spec-id"] for s in known if _same_spec(s["fields"], fields)), None)
        if alike is None:
            alike = max((s["spec-id"] for s in known), default=-1) + 1
            self.table["partition-specs"] = [*known, {"spec-id": alike, "fields": fields}]
        self.table["last-partition-id"] = max(last, FIRST_PARTITION_ID - 1)
        self.added["spec"] = alike

    def _set_default_spec(self, update: Json) -> None:
        id = self._last_added("spec", update["spec-id"])
        find(self.table["partition-specs"], "spec-id", id)
        self.table["default-spec-id"] = id

    def _add_sort_order(self, update: Json) -> None:
        order = validity.entry(update["sort-order"], "a sort order")
        fields = validity.entries(order.get("fields", []), "the fields of a sort order")
        validity.order(fields, self._schema())
        known = self.table["sort-orders"]
        if not fields:
            alike: int | None = 0
            if not any(o["order-id"] == 0 for o in known):
                self.table["sort-orders"] = [*known, dict(UNSORTED)]
        else:
            alike = next((o["order-id"] for o in known if o["fields"] == fields), None)
        if alike is None:
            alike = max((o["order-id"] for o in known), default=0) + 1
            self.table["sort-orders"] = [*known, {"order-id": alike, "fields": fields}]
        self.added["order"] = alike or 0

    def _set_default_sort_order(self, update: Json) -> None:
        id = self._last_added("order", update["sort-order-id"])
        find(self.table["sort-orders"], "order-id", id)
        self.table["default-sort-order-id"] = id

    def _remove_partition_specs(self, update: Json) -> None:
        gone = _ids(update["spec-ids"], "spec-ids")
        if self.table["default-spec-id"] in gone:
            raise IllegalArgument("Cannot remove the default partition spec")
        self.table["partition-specs"] = [s for s in self.table["partition-specs"] if s["spec-id"] not in gone]

    def _remove_schemas(self, update: Json) -> None:
        gone = _ids(update["schema-ids"], "schema-ids")
        if self.table["current-schema-id"] in gone:
            raise IllegalArgument("Cannot remove the current schema")
        if any(snapshot.get("schema-id") in gone for snapshot in self.table["snapshots"]):
            raise IllegalArgument("Cannot remove a schema that snapshots were written with")
        self.table["schemas"] = [s for s in self.table["schemas"] if s["schema-id"] not in gone]

    def _last_added(self, kind: str, id: Any) -> int:
        if number(id, f"the id of a {kind}", LAST_ADDED) != LAST_ADDED:
            return int(id)
        if kind not in self.added:
            raise IllegalArgument(f"Cannot set last added {kind}: no {kind} has been added")
        return self.added[kind]

    def _schema(self) -> Schema:
        """The current schema, or the one just added when the table is being made."""
        id = self.table.get("current-schema-id", self.added.get("schema"))
        return Schema.from_json(find(self.table["schemas"], "schema-id", id))

    # -- snapshots and refs -------------------------------------------------------------------------------------

    def _add_snapshot(self, update: Json) -> None:
        snapshot = validity.entry(update["snapshot"], "a snapshot")
        known = {schema["schema-id"] for schema in self.table["schemas"]}
        validity.snapshot(snapshot, self.version, known, now_ms() + _AHEAD)
        id, sequence = snapshot["snapshot-id"], snapshot.get("sequence-number", 0)
        if any(s["snapshot-id"] == id for s in self.table["snapshots"]):
            raise IllegalArgument(f"Snapshot already exists for id: {id}")
        version = self.table["format-version"]
        last = self.table.get("last-sequence-number", 0)
        if version >= 2 and snapshot.get("parent-snapshot-id") is not None and sequence <= last:
            raise Conflict(
                f"Cannot add snapshot with sequence number {sequence} older than last sequence number {last}",
                about="commit",
            )
        if version >= 3:
            self._rows(snapshot)
        self.table["last-sequence-number"] = max(last, sequence)
        self.table["snapshots"] = [*self.table["snapshots"], snapshot]
        self.added_snapshots.add(id)
        self.updated_at = snapshot["timestamp-ms"]

    def _rows(self, snapshot: Json) -> None:
        """Row lineage: a snapshot takes its row ids from where the last one stopped."""
        first, next_row = snapshot.get("first-row-id"), self.table.get("next-row-id", 0)
        if first is None:
            raise IllegalArgument("Cannot add a snapshot: first-row-id is null")
        if first < next_row:
            raise Conflict(
                f"Cannot add a snapshot, first-row-id is behind table next-row-id: {first} < {next_row}",
                about="commit",
            )
        self.table["next-row-id"] = number(next_row + snapshot["added-rows"], "next-row-id")

    def _set_snapshot_ref(self, update: Json) -> None:
        name, id = text(update["ref-name"], "ref-name"), update["snapshot-id"]
        snapshot = find(self.table["snapshots"], "snapshot-id", id)
        kept = ("snapshot-id", "type", "max-ref-age-ms", "max-snapshot-age-ms", "min-snapshots-to-keep")
        ref = {key: update[key] for key in kept if update.get(key) is not None}
        validity.ref(ref)
        if self.table["refs"].get(name) == ref:
            return
        if name == MAIN:
            if ref["type"] != "branch":
                raise IllegalArgument("main is a branch")
            at = snapshot["timestamp-ms"] if id in self.added_snapshots else now_ms()
            self.updated_at = at
            log = self.table["snapshot-log"]
            # Readers refuse a log that goes back in time.
            at = max(at, log[-1]["timestamp-ms"]) if log else at
            self.table["current-snapshot-id"] = id
            self.table["snapshot-log"] = [
                *self.table["snapshot-log"],
                {"timestamp-ms": at, "snapshot-id": id},
            ]
        self.table["refs"] = {**self.table["refs"], name: ref}

    def _remove_snapshot_ref(self, update: Json) -> None:
        name = text(update["ref-name"], "ref-name")
        if name == MAIN:
            self.table["current-snapshot-id"] = None
        self.table["refs"] = {key: ref for key, ref in self.table["refs"].items() if key != name}

    def _remove_snapshots(self, update: Json) -> None:
        gone = _ids(update["snapshot-ids"], "snapshot-ids")
        self.table["snapshots"] = [s for s in self.table["snapshots"] if s["snapshot-id"] not in gone]
        for key in ("statistics", "partition-statistics"):
            if key in self.table:
                self.table[key] = [s for s in self.table[key] if s["snapshot-id"] not in gone]
        for name in [name for name, ref in self.table["refs"].items() if ref["snapshot-id"] in gone]:
            self._remove_snapshot_ref({"ref-name": name})
        log = self.table["snapshot-log"]
        # History before a snapshot that is gone cannot be told truly any more.
        last_gone = max((i for i, entry in enumerate(log) if entry["snapshot-id"] in gone), default=-1)
        self.table["snapshot-log"] = log[last_gone + 1 :]

    # -- statistics and keys ------------------------------------------------------------------------------------

    def _set_statistics(self, update: Json) -> None:
        validity.statistics(validity.entry(update["statistics"], "statistics"))
        self._replace("statistics", "snapshot-id", update["statistics"])

    def _remove_statistics(self, update: Json) -> None:
        self._remove("statistics", "snapshot-id", update["snapshot-id"])

    def _set_partition_statistics(self, update: Json) -> None:
        validity.partition_statistics(validity.entry(update["partition-statistics"], "partition-statistics"))
        self._replace("partition-statistics", "snapshot-id", update["partition-statistics"])

    def _remove_partition_statistics(self, update: Json) -> None:
        self._remove("partition-statistics", "snapshot-id", update["snapshot-id"])

    def _add_encryption_key(self, update: Json) -> None:
        validity.encryption_key(validity.entry(update["encryption-key"], "encryption-key"), self.version)
        self._replace("encryption-keys", "key-id", update["encryption-key"])

    def _remove_encryption_key(self, update: Json) -> None:
        self._remove("encryption-keys", "key-id", update["key-id"])

    def _replace(self, list: str, key: str, entry: Json) -> None:
        self._remove(list, key, entry[key])
        self.table[list] = [*self.table[list], entry]

    def _remove(self, list: str, key: str, value: Any) -> None:
        self.table[list] = [entry for entry in self.table.get(list, []) if entry[key] != value]


ACTIONS: Final = tuple(
    sorted(
        name[1:].replace("_", "-")
        for name in vars(_TableDraft)
        if name.startswith(("_assign", "_upgrade", "_set", "_add", "_remove_"))
    )
)


def find(entries: list[Json], key: str, id: Any) -> Json:
    """The entry with that id."""
    for entry in entries:
        if entry[key] == id:
            return entry
    raise IllegalArgument(f"Cannot find {key} {id}")


def _ids(value: Any, what: str) -> set[int]:
    if not isinstance(value, list):
        raise IllegalArgument(f"{what} are not a list")
    return {number(one, f"one of {what}", -LARGEST - 1) for one in value}


def _partition_ids_are_kept(known: list[Json], fields: list[Json]) -> None:
    """A partition field id means one column and one transform for ever: manifests name partition values by it."""
    meant = {f["field-id"]: (f["source-id"], f["transform"]) for spec in known for f in spec["fields"]}
    for field in fields:
        id = field["field-id"]
        if meant.get(id, (field["source-id"], field["transform"])) != (
            field["source-id"],
            field["transform"],
        ):
            raise IllegalArgument(f"partition field id {id} belonged to another partition field")


def _fresh_spec(spec: Json | None, became: dict[int, int]) -> Json:
    fields = []
    for position, field in enumerate((spec or {}).get("fields", [])):
        if not isinstance(field, dict) or field.get("source-id") not in became:
            raise IllegalArgument("Cannot find source column for a partition field")
        fields.append(
            {**field, "source-id": became[field["source-id"]], "field-id": FIRST_PARTITION_ID + position}
        )
    if len({f.get("name") for f in fields}) != len(fields):
        raise IllegalArgument("the partition spec uses a name twice")
    return {"spec-id": 0, "fields": fields}


def _fresh_order(order: Json | None, became: dict[int, int]) -> Json:
    fields = []
    for field in (order or {}).get("fields", []):
        if not isinstance(field, dict) or field.get("source-id") not in became:
            raise IllegalArgument("Cannot find source column for a sort field")
        fields.append({**field, "source-id": became[field["source-id"]]})
    return {"order-id": 1, "fields": fields} if fields else dict(UNSORTED)


def _same_spec(one: list[Json], other: list[Json]) -> bool:
    def bare(fields: list[Json]) -> list[tuple[Any, ...]]:
        return [(f["source-id"], f["transform"], f["name"], f["field-id"]) for f in fields]

    return bare(one) == bare(other)


def _format_version(text: str) -> int:
    if not text.isdigit():
        raise IllegalArgument(f"format-version '{text[:20]}' is not a number")
    return _checked_version(int(text))


def _checked_version(version: Any) -> int:
    if not isinstance(version, int) or isinstance(version, bool) or version not in FORMAT_VERSIONS:
        raise IllegalArgument(f"Unsupported format version: v{clip(str(version), 20)}", hint="use 1, 2 or 3")
    return int(version)
