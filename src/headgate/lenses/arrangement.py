"""Which arrangement of rows and files a lens needs, and which files of a snapshot become one copy."""

from collections.abc import Collection, Iterable
from typing import Any

from headgate.lenses.copies import Arrangement, CopySource, SourceFile
from headgate.lenses.outline import Outline, governed_specs
from headgate.planning.plan import PlannedFile

Json = dict[str, Any]


def arrangement_of(document: Json, outline: Outline, *, lost: bool = False) -> Arrangement:
    """How copies of a table through a lens lie; `lost` says that data files may hold columns that were dropped.

    Writers cut files by partition and sort fields. Where one of these comes from a column that is not shown as it is,
    the bounds of files tell of it.
    """
    fields = [field for spec in _specs(document) for field in spec["fields"]]
    fields += [field for order in document.get("sort-orders") or [] for field in order["fields"]]
    sources = {id for field in fields if field["transform"] != "void" for id in _sources(field)}
    if any(id not in outline.schema.by_id or id in outline.blind for id in sources):
        return Arrangement.MERGED
    return Arrangement.SHUFFLED if outline.blind or lost else Arrangement.AS_WRITTEN


def sources_of(
    files: Iterable[PlannedFile], document: Json, outline: Outline, arrangement: Arrangement
) -> list[CopySource]:
    """The sources of copies: file by file, or all files that one commit added, by visible partition.

    INVARIANT: merged sources must be worked out over all files of a snapshot that the lens lets through, never over what a
    caller's filter left of them.
    """
    if arrangement is not Arrangement.MERGED:
        return [CopySource((_source(file),)) for file in files]
    shown = governed_specs(document, outline).visible
    groups: dict[tuple[Any, ...], list[SourceFile]] = {}
    for file in files:
        partition = file.partition if file.spec_id in shown else ()
        group = (file.snapshot, file.sequence, file.spec_id, partition)
        groups.setdefault(group, []).append(_source(file))
    return [CopySource(tuple(sorted(group, key=lambda file: file.path))) for group in groups.values()]


def _source(file: PlannedFile) -> SourceFile:
    return SourceFile(file.path, tuple(sorted(file.deletes)))


def _specs(document: Json) -> list[Json]:
    return document.get("partition-specs") or [{"spec-id": 0, "fields": document.get("partition-spec", [])}]


def _sources(field: Json) -> Collection[int]:
    """The columns that a partition or sort field is made from; the third format version may name several."""
    return [*field.get("source-ids", ()), *([field["source-id"]] if "source-id" in field else [])]
