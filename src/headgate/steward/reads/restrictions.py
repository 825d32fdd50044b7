"""Read restrictions: a lens in the words of Iceberg's REST specification, for engines that are trusted to obey them."""

from typing import Any

import msgspec

from headgate.decide.policies.shape import without
from headgate.language.ast import TRUE
from headgate.language.errors import LoweringError
from headgate.language.lower.iceberg import lower
from headgate.model.schema import Schema
from headgate.steward.reads.lenses import ShapedLens

Json = dict[str, Any]


class Delegated(msgspec.Struct, frozen=True):
    """The table as a trusted engine is given it, and what it has to enforce."""

    metadata: Json
    restrictions: Json


def restrict(shaped: ShapedLens, metadata: Json) -> Delegated | None:
    """The lens in these words; None if they cannot say all of it, so that copies are made for this engine too."""
    lens, schema = shaped.lens, shaped.shape.schema
    if any(mask.iceberg_action is None or mask.args for mask in lens.masks):
        return None
    restrictions: Json = {}
    if lens.rows != TRUE:
        try:
            restrictions["required-row-filter"] = lower(lens.rows, schema, form="reference", mode="exact")
        except LoweringError:
            return None
    if lens.masks:
        restrictions["required-column-projections"] = [
            {"field-id": mask.column.field_id, "action": mask.iceberg_action} for mask in lens.masks
        ]
    if not lens.hidden:
        return Delegated(metadata, restrictions)
    hidden = shaped.within(lens.hidden)
    layouts = [*(metadata.get("partition-specs") or []), *(metadata.get("sort-orders") or [])]
    if any(f.get("source-id") in hidden for layout in layouts for f in layout.get("fields", [])):
        # Engines cannot read a partition whose source column they do not know.
        return None
    if "schemas" not in metadata or lens.rows != TRUE:
        # A filter may be on a column that is hidden, which the engine then could not apply.
        return None
    pruned = [_pruned(s, hidden) for s in metadata["schemas"]]
    shown = {key: value for key, value in metadata.items() if key != "schema"}
    return Delegated({**shown, "schemas": pruned}, restrictions)


def _pruned(schema: Json, hidden: frozenset[int]) -> Json:
    kept = without(Schema.from_json(schema), hidden).to_json()
    ids = [i for i in schema.get("identifier-field-ids", []) if i not in hidden]
    return {**kept, "schema-id": schema.get("schema-id", 0), **({"identifier-field-ids": ids} if ids else {})}
