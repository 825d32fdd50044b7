"""Read restrictions: a lens in the words of Iceberg's REST specification, for engines that are trusted to obey them."""

from typing import Any, Final

import msgspec

from headgate.decide.shape import without
from headgate.language.ast import TRUE
from headgate.language.errors import LoweringError
from headgate.language.lower.iceberg import lower
from headgate.model.schema import Schema
from headgate.steward.lenses import Seen

Json = dict[str, Any]

_ACTIONS: Final = {
    "mask_alphanum": "mask-alphanum",
    "mask_to_fixed_value": "mask-to-fixed-value",
    "replace_with_null": "replace-with-null",
    "show_first_4": "show-first-4",
    "show_last_4": "show-last-4",
    "truncate_to_year": "truncate-to-year",
    "truncate_to_month": "truncate-to-month",
    "sha256": "sha-256-global",
    "sha256_query_local": "sha-256-query-local",
}


class Told(msgspec.Struct, frozen=True):
    """The table as a trusted engine is given it, and what it has to enforce."""

    metadata: Json
    restrictions: Json


def told(seen: Seen, metadata: Json) -> Told | None:
    """The lens in these words; None if they cannot say all of it, so that copies are made for this engine too."""
    lens, schema = seen.lens, seen.shape.schema
    if any(mask.name not in _ACTIONS or mask.args for mask in lens.masks):
        return None
    restrictions: Json = {}
    if lens.rows != TRUE:
        try:
            restrictions["required-row-filter"] = lower(lens.rows, schema, form="reference", mode="exact")
        except LoweringError:
            return None
    if lens.masks:
        restrictions["required-column-projections"] = [
            {"field-id": mask.column.field_id, "action": _ACTIONS[mask.name]} for mask in lens.masks
        ]
    if not lens.hidden:
        return Told(metadata, restrictions)
    hidden = seen.within(lens.hidden)
    layouts = [*(metadata.get("partition-specs") or []), *(metadata.get("sort-orders") or [])]
    if any(f.get("source-id") in hidden for layout in layouts for f in layout.get("fields", [])):
        # Engines cannot read a partition whose source column they do not know.
        return None
    if "schemas" not in metadata or lens.rows != TRUE:
        # A filter may be on a column that is hidden, which the engine then could not apply.
        return None
    pruned = [_pruned(s, hidden) for s in metadata["schemas"]]
    shown = {key: value for key, value in metadata.items() if key != "schema"}
    return Told({**shown, "schemas": pruned}, restrictions)


def _pruned(schema: Json, hidden: frozenset[int]) -> Json:
    kept = without(Schema.from_json(schema), hidden).to_json()
    ids = [i for i in schema.get("identifier-field-ids", []) if i not in hidden]
    return {**kept, "schema-id": schema.get("schema-id", 0), **({"identifier-field-ids": ids} if ids else {})}
