"""Reads of tables: what the caller sees of one, told the same way to whoever loads, plans or writes."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from headgate.catalogs.iceberg.schema import fields_of
from headgate.catalogs.interface import Document
from headgate.decide.clauses import any_on_the_way
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectType, clip
from headgate.planning import Veil
from headgate.steward.lenses import Lenses
from headgate.steward.permits import Permit
from headgate.steward.seen import silent

Json = dict[str, Any]

SERVER_PLANNING: Final = {"scan-planning-mode": "server"}


class Circumstances(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a request says of itself besides what it asks for; kept for the audit."""

    delegation: str | None = None
    referenced_by: str | None = None

    def told(self) -> dict[str, object]:
        return {key: clip(value, 500) for key, value in msgspec.to_builtins(self).items()}


class Loaded(msgspec.Struct, frozen=True):
    """A table or view as the caller may see it, and how its client has to read it."""

    document: Document
    config: dict[str, str]
    veil: Veil | None


class Reads:
    def __init__(self, lenses: Lenses) -> None:
        self.lenses = lenses

    def veil(self, permit: Permit, metadata: Json) -> Veil | None:
        """What the caller must not see of a table; None if that is nothing. Refuses a table not to be seen at all.

        INVARIANT: the only place where that is asked; loading, planning, tasks and writing all come here.
        """
        return self.lenses.veil(permit, metadata)

    def seen(self, permit: Permit, document: Document) -> Loaded:
        """A table or view as the caller may see it."""
        veil = self.veil(permit, document.metadata) if permit.ref.type is ObjectType.TABLE else None
        if veil is None:
            return Loaded(document, {}, None)
        return Loaded(Document(_withheld(document), veiled(document.metadata, veil)), SERVER_PLANNING, veil)

    def check_writable(self, permit: Permit, document: Document, updates: Sequence[Json] = ()) -> None:
        """Refuse to write a table of which the writer does not see everything.

        A commit works on the real files: who replaces what they see would delete what they do not.

        INVARIANT: no policy lapses by a commit. One that names a column by its former name is known to mean it only as
        long as the former schema is there.
        """
        forgets = any(update.get("action") == "remove-schemas" for update in updates)
        if forgets and (named := any_on_the_way(permit.authority, permit.node)):
            raise Forbidden(
                f"the former schemas of table '{clip(permit.ref.full_name)}' cannot be removed",
                hint=f"policies ask for its former columns: {clip(', '.join(named), 200)}",
                about=ObjectType.TABLE,
            )
        if permit.ref.type is ObjectType.TABLE and self.veil(permit, document.metadata) is not None:
            raise Forbidden(
                f"table '{clip(permit.ref.full_name)}' cannot be written by someone who sees only a part of it",
                hint="ask its owner for all of it",
                about=ObjectType.TABLE,
            )


def _withheld(document: Document) -> str:
    """A place where nothing lies, another one for each document: the real one names every file of the table."""
    seal = hashlib.sha256(str(document.location).encode()).hexdigest()[:32]
    return f"{document.metadata['location']}/metadata/withheld-{seal}.metadata.json"


def veiled(metadata: Json, veil: Veil) -> Json:
    """The document without what the veil hides.

    INVARIANT: names no manifest list, statistics file or count of the real table; a client plans on the server or not
    at all.
    """
    hidden = veil.hidden_field_ids
    withheld = f"{metadata['location']}/metadata/withheld.avro"
    kept = {
        key: value
        for key, value in metadata.items()
        if key not in ("statistics", "partition-statistics", "metadata-log")
    }
    names = {f["name"] for schema in metadata.get("schemas", []) for f in _hidden_fields(schema, hidden)}
    if names:
        kept["properties"] = silent(metadata.get("properties", {}), names)
    kept["schemas"] = [_without(schema, hidden) for schema in metadata.get("schemas", [])]
    kept["partition-specs"] = [_kept_fields(spec, hidden) for spec in metadata.get("partition-specs", [])]
    kept["sort-orders"] = [_kept_fields(order, hidden) for order in metadata.get("sort-orders", [])]
    if "schema" in kept:
        kept["schema"] = _without(kept["schema"], hidden)
    if "partition-spec" in kept:
        kept["partition-spec"] = _kept_fields({"fields": kept["partition-spec"]}, hidden)["fields"]
    kept["snapshots"] = [
        {
            **{key: value for key, value in snapshot.items() if key != "manifests"},
            "manifest-list": withheld,
            "summary": {"operation": snapshot.get("summary", {}).get("operation", "append")},
        }
        for snapshot in metadata.get("snapshots", [])
    ]
    return kept


def _without(type: Any, hidden: frozenset[int]) -> Any:
    """A schema or type without the fields that are hidden, at any depth."""
    if not isinstance(type, dict):
        return type
    pruned = dict(type)
    match type.get("type"):
        case "struct":
            pruned["fields"] = [
                {**field, "type": _without(field["type"], hidden)}
                for field in type["fields"]
                if field["id"] not in hidden
            ]
            if "identifier-field-ids" in type:
                pruned["identifier-field-ids"] = [i for i in type["identifier-field-ids"] if i not in hidden]
        case "list":
            pruned["element"] = _without(type["element"], hidden)
        case "map":
            pruned["key"], pruned["value"] = _without(type["key"], hidden), _without(type["value"], hidden)
    return pruned


def _hidden_fields(schema: Json, hidden: frozenset[int]) -> Iterator[Json]:
    return (field for _, field in fields_of(schema) if field["id"] in hidden)


def _kept_fields(layout: Json, hidden: frozenset[int]) -> Json:
    return {**layout, "fields": [f for f in layout.get("fields", []) if f.get("source-id") not in hidden]}
