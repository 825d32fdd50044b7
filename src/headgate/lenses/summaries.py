"""Partition summaries: what a manifest list says of the partitions in a manifest, worked out from its entries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headgate.lenses.entries import ManifestEntry
from headgate.planning.manifests import layout as ids

Json = dict[str, Any]

_BINARY: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "boolean": lambda value: b"\1" if value else b"\0",
    "int": lambda value: int(value).to_bytes(4, "little", signed=True),
    "long": lambda value: int(value).to_bytes(8, "little", signed=True),
    "string": lambda value: str(value).encode(),
}
"""Types that compare in one way only, and how Iceberg writes a single value of them."""


def summaries(entries: Sequence[ManifestEntry], spec: Json, partition: Json) -> list[Json] | None:
    """One summary per partition field, in the spec's order; None, which every reader understands, if a type is unknown.

    Spark cannot list the manifests of a table where this is missing, and readers pass manifests over by it.
    """
    types = {field["field-id"]: _plain(field["type"]) for field in partition["fields"]}
    found = []
    for field in spec["fields"]:
        binary = _BINARY.get(types.get(field["field-id"], ""))
        if binary is None:
            return None
        every = [entry.file[ids.PARTITION].get(field["field-id"]) for entry in entries]
        values = [value for value in every if value is not None]
        found.append(
            {
                "contains_null": len(values) < len(every),
                "contains_nan": False,
                "lower_bound": binary(min(values)) if values else None,
                "upper_bound": binary(max(values)) if values else None,
            }
        )
    return found


def _plain(type: Any) -> str:
    """The name of an Avro type that may be missing; empty for fixed ones and others that have no plain name."""
    if isinstance(type, list):
        type = next((one for one in type if one != "null"), "")
    if isinstance(type, dict):
        type = type.get("type", "")
    return type if isinstance(type, str) else ""
