"""The outcome of a commit: whether the document as it would be is one that every reader can read."""

from typing import Any, Final

from headgate.catalogs.iceberg import evolution, validity
from headgate.model.errors import IllegalArgument
from headgate.model.schema import Schema, SchemaError

Json = dict[str, Any]

_LISTS: Final = (
    "schemas",
    "partition-specs",
    "sort-orders",
    "snapshots",
    "statistics",
    "partition-statistics",
    "encryption-keys",
)
MAIN: Final = "main"


def check(base: Json, after: Json) -> None:
    """Refuse a document that a commit made invalid.

    Only what is new is looked at: entries of `base` that stay are the same objects in `after`, and were checked when
    they came. So a commit costs what it touches, however long the history of the table is.
    """
    fresh = {key: _fresh(base.get(key), after.get(key)) for key in _LISTS}
    version = after["format-version"]
    reshaped = bool(fresh["schemas"]) or _changed("current-schema-id", base, after)
    laid_out = bool(fresh["partition-specs"] or fresh["sort-orders"]) or any(
        _changed(key, base, after) for key in ("default-spec-id", "default-sort-order-id", "format-version")
    )
    if reshaped or laid_out:
        current = validity.schema(_find(after, "schemas", "schema-id", "current-schema-id"), version)
        spec = _find(after, "partition-specs", "spec-id", "default-spec-id")
        validity.spec(spec["fields"], current, version)
        order = _find(after, "sort-orders", "order-id", "default-sort-order-id")
        validity.order(order["fields"], current)
        if reshaped and base["schemas"]:
            _evolved(base, after, fresh["schemas"], current)
    if not any(one["snapshot-id"] == after.get("current-snapshot-id") for one in fresh["snapshots"]):
        _rolled_back(base, after)
    before = base.get("properties", {})
    validity.properties({k: v for k, v in after["properties"].items() if before.get(k) != v})
    validity.parsed(_reduced(after, fresh, reshaped=reshaped))


def _fresh(before: list[Json] | None, after: list[Json] | None) -> list[Json]:
    """The entries that a commit added. Entries keep their order and new ones come last."""
    if not before or not after:
        return after or []
    if len(after) >= len(before) and after[len(before) - 1] is before[-1]:
        # Nothing was taken out, else the last of before would stand further ahead.
        return after[len(before) :]
    known = {id(entry) for entry in before}
    return [entry for entry in after if id(entry) not in known]


def _changed(key: str, base: Json, after: Json) -> bool:
    return base.get(key) != after.get(key)


def _find(table: Json, entries: str, key: str, chosen: str) -> Json:
    found: Json | None = next((entry for entry in table[entries] if entry[key] == table[chosen]), None)
    if found is None:
        raise IllegalArgument(f"the table would have no {chosen.removesuffix('-id')}")
    return found


def _evolved(base: Json, after: Json, added: list[Json], current: Schema) -> None:
    chosen = base.get("current-schema-id")
    try:
        known = [Schema.from_json(one) for one in base["schemas"]]
        before = next(one for one in known if one.schema_id == chosen)
    except (SchemaError, StopIteration):
        # A document that came before such checks: nothing can be said of how it was.
        return
    ordered = [*(one for one in known if one is not before), before]
    for one in added:
        evolution.ids_are_kept(Schema.from_json(one), ordered, base["last-column-id"])
    if _has_former_rows(base, after):
        layouts: dict[int, set[str]] = {}
        for field in (field for spec in after["partition-specs"] for field in spec["fields"]):
            layouts.setdefault(field["source-id"], set()).add(field["transform"])
        evolution.rows_stay_readable(before, ordered, current, after["format-version"], layouts)


def _has_former_rows(base: Json, after: Json) -> bool:
    """Whether rows of before are still there: not in a table whose content a commit replaces or takes away."""
    id = after.get("current-snapshot-id")
    former = {snapshot["snapshot-id"] for snapshot in base.get("snapshots") or ()}
    parents = {s["snapshot-id"]: s.get("parent-snapshot-id") for s in after["snapshots"]}
    while id is not None and id not in former:
        # Each is looked at once, so that a circle ends.
        id = parents.pop(id, None)
    return id is not None


def _rolled_back(base: Json, after: Json) -> None:
    """Refuse to make a former snapshot current whose columns do not fit those of today."""
    id = after.get("current-snapshot-id")
    if id is None or id == base.get("current-snapshot-id"):
        return
    snapshot = next((s for s in base.get("snapshots") or () if s["snapshot-id"] == id), None)
    # What was written with a schema that is gone, or with that of today, is not in question.
    written = None if snapshot is None else snapshot.get("schema-id")
    then = next((s for s in after["schemas"] if s["schema-id"] == written), None)
    if then is None or written == after["current-schema-id"]:
        return
    try:
        was = Schema.from_json(then)
        now = Schema.from_json(_find(after, "schemas", "schema-id", "current-schema-id"))
    except SchemaError:
        return
    for located in now.walk():
        former = was.find(located.field.id)
        if former is not None and not evolution.promotes(
            former.field.type, located.field.type, after["format-version"]
        ):
            raise IllegalArgument(f"the columns of snapshot {id} do not fit those of the table today")


def _current(after: Json) -> list[Json]:
    id = after.get("current-snapshot-id")
    found = next((one for one in reversed(after["snapshots"]) if one["snapshot-id"] == id), None)
    return [] if found is None else [found]


def _reduced(after: Json, fresh: dict[str, list[Json]], *, reshaped: bool) -> Json:
    """The document with what is new and what that rests on, for pyiceberg to read."""
    reduced = {**after, "metadata-log": [], "snapshot-log": after.get("snapshot-log", [])[-2:]}
    now = _find(after, "schemas", "schema-id", "current-schema-id")
    standing = now if reshaped else {"type": "struct", "schema-id": now["schema-id"], "fields": []}
    rest = {
        "schemas": [standing],
        "partition-specs": [_find(after, "partition-specs", "spec-id", "default-spec-id")],
        "sort-orders": [_find(after, "sort-orders", "order-id", "default-sort-order-id")],
        "snapshots": _current(after),
    }
    for key, added in fresh.items():
        if key in after:
            kept = rest.get(key, [])
            reduced[key] = [*kept, *(one for one in added if not any(one is k for k in (*kept, now)))]
    ids = {snapshot["snapshot-id"] for snapshot in reduced["snapshots"]}
    reduced["refs"] = {name: ref for name, ref in after.get("refs", {}).items() if ref["snapshot-id"] in ids}
    if "schema" in reduced:
        reduced["schema"] = standing
    return reduced
