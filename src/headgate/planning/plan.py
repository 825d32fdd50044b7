"""The plan: which files a scan reads, and its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema

from headgate.planning.choosing import Chooser
from headgate.planning.errors import InvalidTableMetadataError, StalePlanTaskError, UnknownColumnError
from headgate.planning.filters.expression import BoundFilter, find_column, read_filter
from headgate.planning.filters.residual import Page, Residuals
from headgate.planning.filters.stack import Sieve, Stack, project, stacks
from headgate.planning.indexing.columns import Array, Mask, binary_parts
from headgate.planning.indexing.deletes import DeleteIndex, build_delete_index
from headgate.planning.indexing.index import ManifestIndex, segment_key
from headgate.planning.indexing.segment import ManifestFile, PartitionValue, Segment
from headgate.planning.manifests.reader import ManifestReader
from headgate.planning.render import (
    FILE_END,
    TAIL,
    TASK_END,
    render_delete_file,
    render_statistics,
    render_tasks,
    task_end,
    with_ends,
)
from headgate.planning.request import PlanRequest, Veil
from headgate.planning.table import ScanScope, Spec, Table, read_table, resolve_scope, with_descendants
from headgate.planning.tokens import PlanTask, decode_plan_task, encode_plan_task, view_digest
from headgate.planning.within import Within

FILES_PER_TASK = 2_000
DATA, DELETES = 0, 1
METADATA_COLUMNS = frozenset(
    {
        "_file",
        "_pos",
        "_deleted",
        "_spec_id",
        "_partition",
        "_change_type",
        "_change_ordinal",
        "_commit_snapshot_id",
        "_row_id",
        "_last_updated_sequence_number",
    }
)
"""Columns that every table has and no schema names; engines select them, the files need not."""


_FILE_COLUMNS: Final = ("size", "records", "snapshot", "sequence", "partition")
"""Columns of a segment a `PlannedFile` has, in its order."""


@dataclass(frozen=True)
class Pick:
    """The chosen files of one segment: their rows in order, and which of them conform as they are."""

    segment: Segment
    spec: Spec
    rows: Array
    conforms: Mask

    @property
    def is_whole(self) -> bool:
        """Whether every file of the segment was chosen."""
        return len(self.rows) == self.segment.count


class PlannedFile(msgspec.Struct, frozen=True):
    """One data file of a plan."""

    path: str
    spec_id: int
    size: int
    records: int
    snapshot: int
    """The snapshot that added the file."""
    sequence: int
    partition: tuple[PartitionValue, ...]
    """As the manifest stores it."""
    conforms: bool
    deletes: tuple[str, ...]
    manifest: str
    """The manifest that names it."""


@dataclass(frozen=True)
class Plan:
    """The files of a scan, in an order that every process finds again.

    A file conforms if its rows are exactly what the caller may see of it: nothing hidden or masked, every row provably
    within the row filter, and no delete file that holds rows. Only conforming files may be handed out as they are.
    """

    table_uuid: str
    snapshot_id: int | None
    schema_id: int
    request: PlanRequest
    veil: Veil
    picks: tuple[Pick, ...]
    deletes: DeleteIndex
    stats_field_ids: tuple[int, ...]
    index: ManifestIndex
    residuals: Residuals

    @cached_property
    def _starts(self) -> Array:
        return np.cumsum([0, *(len(pick.rows) for pick in self.picks)])

    @property
    def file_count(self) -> int:
        """How many data files the scan reads."""
        return int(self._starts[-1])

    @property
    def nonconforming_count(self) -> int:
        """How many of them the caller must not be given as they are."""
        return sum(int((~pick.conforms).sum()) for pick in self.picks)

    @property
    def conforms(self) -> bool:
        """Whether every file may be handed out as it is."""
        return all(bool(pick.conforms.all()) for pick in self.picks)

    @property
    def total_bytes(self) -> int:
        """The size of all data files."""
        return sum(int(pick.segment.column("size")[pick.rows].sum(dtype=np.int64)) for pick in self.picks)

    @property
    def total_records(self) -> int:
        """The rows of all data files, before deletes."""
        return sum(int(pick.segment.column("records")[pick.rows].sum(dtype=np.int64)) for pick in self.picks)

    def locations(self) -> Iterator[str]:
        """Where the data files lie, and the delete files that apply to them."""
        for pick, low, high in self._parts(0, None):
            rows = pick.rows[low:high]
            yield from (str(path, "utf-8") for path in pick.segment.paths(rows).to_pylist())
            for numbers in self.deletes.applying_to(pick.segment, pick.spec, rows).values():
                for number in numbers:
                    found = self.deletes.files[number]
                    yield found.segment.path_at(found.row)

    def files(self, start: int = 0, stop: int | None = None) -> Iterator[PlannedFile]:
        """The files one by one, for whoever needs more than the JSON."""
        for pick, low, high in self._parts(start, stop):
            rows, segment = pick.rows[low:high], pick.segment
            applying = self.deletes.applying_to(segment, pick.spec, rows)
            paths = segment.paths(rows).to_pylist()
            columns = (segment.column(name)[rows].tolist() for name in _FILE_COLUMNS)
            # By the column: to look up each file's values one by one takes ten times as long.
            for place, (path, size, records, snapshot, sequence, partition) in enumerate(
                zip(paths, *columns, strict=True)
            ):
                yield PlannedFile(
                    path=str(path, "utf-8"),
                    spec_id=pick.spec.spec_id,
                    size=size,
                    records=records,
                    snapshot=snapshot,
                    sequence=sequence,
                    partition=segment.partitions[partition],
                    conforms=bool(pick.conforms[low + place]),
                    deletes=tuple(
                        self.deletes.files[number].segment.path_at(self.deletes.files[number].row)
                        for number in applying.get(place, ())
                    ),
                    manifest=segment.path,
                )

    def body(self, start: int = 0, stop: int | None = None) -> bytes:
        """`"file-scan-tasks":[…],"delete-files":[…]` of a range of files: the members of an answer, without its braces."""
        parts: list[bytes | memoryview] = []
        numbers: dict[int, int] = {}
        pages = list(self._parts(start, stop))
        texts, chosen = self.residuals.of(
            [Page(pick.segment, pick.spec, pick.rows[low:high]) for pick, low, high in pages]
        )
        ends = [task_end(text) for text in texts]
        for (pick, low, high), own in zip(pages, chosen, strict=True):
            parts += self._render(pick, low, high, numbers, ends, own)
        deletes = [self.deletes.files[number] for number in numbers]
        blind = self.veil.blind_field_ids
        rendered = b",".join(render_delete_file(d.segment, d.spec, d.row, blind) for d in deletes)
        if parts:
            parts[0] = memoryview(parts[0])[1:]
        return b"".join([b'"file-scan-tasks":[', *parts, b'],"delete-files":[', rendered, b"]"])

    def tasks(self, key: bytes, plan_id: str, files_per_task: int = FILES_PER_TASK) -> list[str]:
        """Tokens that together stand for the whole plan; `plan_from_token` turns one into its files."""
        whole = self._task(key, plan_id)
        return [
            encode_plan_task(
                key,
                msgspec.structs.replace(whole, start=start, stop=min(start + files_per_task, whole.stop)),
            )
            for start in range(0, self.file_count, files_per_task)
        ]

    def token(self, key: bytes, plan_id: str) -> str:
        """One token for the whole plan, for who asks which files it has: the same files, whatever is told of each."""
        task = self._task(key, plan_id)
        bare = msgspec.structs.replace(task.request, select=None, stats_fields=None)
        return encode_plan_task(key, msgspec.structs.replace(task, request=bare))

    def _task(self, key: bytes, plan_id: str) -> PlanTask:
        """All files as one task."""
        # A token names the snapshot by id: what a branch points to may have moved when the token is used.
        request = self.request
        if request.start_snapshot_id is None and self.snapshot_id is not None:
            request = msgspec.structs.replace(request, snapshot_id=self.snapshot_id, ref=None)
        return PlanTask(
            plan_id=plan_id,
            table_uuid=self.table_uuid,
            snapshot_id=self.snapshot_id,
            view=view_digest(key, self.table_uuid, self.veil),
            start=0,
            stop=self.file_count,
            request=request,
        )

    def _parts(self, start: int, stop: int | None) -> Iterator[tuple[Pick, int, int]]:
        stop = self.file_count if stop is None else min(stop, self.file_count)
        for pick, first in zip(self.picks, self._starts.tolist(), strict=False):
            low, high = max(start - first, 0), min(stop - first, len(pick.rows))
            if low < high:
                yield pick, low, high

    def _render(
        self, pick: Pick, low: int, high: int, numbers: dict[int, int], ends: Sequence[bytes], own: Array
    ) -> Sequence[bytes | memoryview]:
        """The tasks of a run of files, each with that one of `ends` that `own` says."""
        rows = pick.rows[low:high]
        tasks = self._task_texts(pick)
        applying = self.deletes.applying_to(pick.segment, pick.spec, rows)
        if not self.stats_field_ids and not applying:
            if own.any():
                tasks, low, high = with_ends(tasks.take(pa.array(rows)), ends, own), 0, len(rows)
            elif not pick.is_whole:
                tasks, low, high = tasks.take(pa.array(rows)), 0, len(rows)
            offsets, data = binary_parts(tasks)
            return [data[int(offsets[low]) : int(offsets[high])].data]
        texts: list[bytes] = tasks.take(pa.array(rows)).to_pylist()
        if self.stats_field_ids:
            statistics = render_statistics(pick.segment, rows, self.stats_field_ids).to_pylist()
            texts = [text[: -len(TAIL)] + more + TAIL for text, more in zip(texts, statistics, strict=True)]
        for place, end in enumerate(own.tolist()):
            head = texts[place][: -len(TASK_END)]
            assert head.endswith(FILE_END)
            if place in applying:
                references = b",".join(
                    b"%d" % numbers.setdefault(number, len(numbers)) for number in applying[place]
                )
                head += b',"delete-file-references":[' + references + b"]"
            texts[place] = head + ends[end]
        return texts

    def _task_texts(self, pick: Pick) -> pa.Array:
        hidden = frozenset(c.source_id for c in pick.spec.columns) & self.veil.blind_field_ids
        if not hidden:
            return pick.segment.tasks
        key = f"redacted|{pick.segment.path}|{pick.segment.nbytes}|{sorted(hidden)}"
        return self.index.keep(
            key, lambda: render_tasks(pick.segment, pick.spec, hidden), lambda tasks: int(tasks.nbytes)
        )


def plan(
    metadata: dict[str, Any],
    request: PlanRequest,
    *,
    io: FileIO,
    index: ManifestIndex,
    veil: Veil | None = None,
    within: Within | None = None,
) -> Plan:
    """Plan a scan of a table for a caller who sees it through `veil` (by default: all of it).

    `within` names the folders that all manifests and files must lie in (by default: the table's own location).
    """
    table = read_table(metadata)
    veil = _complete(veil, table)
    scope, own, statistics = _bound(table, request, veil)
    lens = read_filter(veil.row_filter, table.schema, case_sensitive=True, where="the row filter")
    planner = _Planner(
        table,
        scope,
        request,
        veil,
        Chooser(own, scope.schema),
        lens,
        io,
        index,
        within or Within.of(metadata),
    )
    return _made(planner, tuple(field_id for field_id in statistics if field_id not in veil.blind_field_ids))


def check(metadata: dict[str, Any], request: PlanRequest) -> ScanScope:
    """What a request scans of a table; refuses what `plan` would refuse without reading any manifest."""
    table = read_table(metadata)
    return _bound(table, request, Veil())[0]


def candidates(
    metadata: dict[str, Any],
    request: PlanRequest,
    *,
    io: FileIO,
    index: ManifestIndex,
    veil: Veil,
    within: Within,
    chooser: Chooser | None = None,
) -> Plan:
    """The files that governed files for a request are made of: whatever the veil lets anything through of, less what
    `chooser` leaves out. The request's filter, columns and number of rows are left to the plan over governed files."""
    table = read_table(metadata)
    veil = _complete(veil, table)
    bare = msgspec.structs.replace(
        request, filter=None, select=None, stats_fields=None, min_rows_requested=None
    )
    chooser = chooser or Chooser(read_filter(None, table.schema, case_sensitive=True, where=""), table.schema)
    lens = read_filter(veil.row_filter, table.schema, case_sensitive=True, where="the row filter")
    return _made(
        _Planner(table, resolve_scope(table, bare), bare, veil, chooser, lens, io, index, within), ()
    )


def _bound(table: Table, request: PlanRequest, veil: Veil) -> tuple[ScanScope, BoundFilter, list[int]]:
    """A request in the terms of a table: what it scans, its filter, and the columns whose statistics it wants."""
    scope = resolve_scope(table, request)
    own = read_filter(
        request.filter,
        scope.schema,
        case_sensitive=request.case_sensitive,
        veil=veil,
        where="the filter",
    )
    wanted = [name for name in request.select or () if name.partition(".")[0] not in METADATA_COLUMNS]
    _check_columns(wanted, scope.schema, request.case_sensitive, veil, "select")
    statistics = _check_columns(
        request.stats_fields, scope.schema, request.case_sensitive, veil, "stats-fields"
    )
    return scope, own, statistics


def _made(planner: _Planner, statistics: tuple[int, ...]) -> Plan:
    picks, deletes = planner.picks()
    within, index = planner.within, planner.index
    for pick in picks:
        if len(pick.rows):
            within.check_files(index, pick.segment, pick.rows)
    rows: dict[int, tuple[Segment, list[int]]] = {}
    for file in deletes.files:
        rows.setdefault(id(file.segment), (file.segment, []))[1].append(file.row)
    for segment, numbers in rows.values():
        within.check_files(index, segment, numbers)
    return Plan(
        table_uuid=planner.table.uuid,
        snapshot_id=planner.scope.snapshot_id,
        schema_id=planner.scope.schema.schema_id,
        request=planner.request,
        veil=planner.veil,
        picks=picks,
        deletes=deletes,
        stats_field_ids=statistics,
        index=index,
        residuals=Residuals(planner.own.filter),
    )


def read_token(metadata: dict[str, Any], token: str, *, key: bytes, veil: Veil | None = None) -> PlanTask:
    """What a token stands for, if it is of this table and view; nothing is planned."""
    task = decode_plan_task(key, token)
    table = read_table(metadata)
    # Asked before anything is planned: under another view the same request may not even be possible.
    if task.table_uuid != table.uuid or task.view != view_digest(key, table.uuid, _complete(veil, table)):
        raise StalePlanTaskError
    return task


def plan_from_token(
    metadata: dict[str, Any],
    token: str,
    *,
    key: bytes,
    io: FileIO,
    index: ManifestIndex,
    veil: Veil | None = None,
    within: Within | None = None,
) -> tuple[Plan, PlanTask]:
    """The plan that a token is a part of, made again; the caller sends `plan.body(task.start, task.stop)`."""
    task = read_token(metadata, token, key=key, veil=veil)
    made = plan(metadata, task.request, io=io, index=index, veil=veil, within=within)
    if made.snapshot_id != task.snapshot_id:
        raise StalePlanTaskError
    return made, task


def _complete(veil: Veil | None, table: Table) -> Veil:
    """The veil over whole columns, with all that is inside of structs, lists and maps."""
    if veil is None:
        return Veil()
    return msgspec.structs.replace(
        veil,
        hidden_field_ids=with_descendants(veil.hidden_field_ids, table),
        masked_field_ids=with_descendants(veil.masked_field_ids, table),
    )


def _check_columns(
    names: Sequence[str] | None, schema: Schema, case_sensitive: bool, veil: Veil, where: str
) -> list[int]:
    """The columns of a list of names; a hidden one is as unknown as one that does not exist."""
    found: list[int] = []
    for name in names or ():
        field, _ = find_column(schema, name, case_sensitive, where)
        if field.field_id in veil.hidden_field_ids:
            raise UnknownColumnError(name, where)
        if field.field_id not in found:
            found.append(field.field_id)
    return found


@dataclass(frozen=True)
class _Planner:
    table: Table
    scope: ScanScope
    request: PlanRequest
    veil: Veil
    own: Chooser
    lens: BoundFilter
    io: FileIO
    index: ManifestIndex
    within: Within

    @cached_property
    def reader(self) -> ManifestReader:
        return ManifestReader(self.io, self.within)

    def picks(self) -> tuple[tuple[Pick, ...], DeleteIndex]:
        if self.scope.snapshot is None:
            return (), DeleteIndex()
        manifests = self._manifests()
        data = [manifest for manifest in manifests if manifest.content == DATA]
        deletes = self._deletes([manifest for manifest in manifests if manifest.content == DELETES])
        added = self._added_by()
        picks: list[Pick] = []
        missing = self.request.min_rows_requested
        for spec_id in sorted({manifest.spec_id for manifest in data}):
            spec = self._spec(spec_id)
            sieves = self._sieves(spec)
            of_spec = [manifest for manifest in data if manifest.spec_id == spec_id]
            for stack in stacks(self.index, self.reader, spec, of_spec, sieves):
                found = self._choose(stack, sieves, deletes, added)
                if missing is not None:
                    found, missing = self._cut(stack, found, deletes, missing)
                picks += found
                if missing is not None and missing <= 0:
                    return tuple(picks), deletes
        return tuple(picks), deletes

    def _sieves(self, spec: Spec) -> list[Sieve]:
        found = [] if self.own.filter.is_true else [self.own.sieve(spec)]
        if not self.lens.is_true:
            found.append(Sieve(self.lens.may, project(self.lens.may, self.table.schema, spec)))
        return found

    def _choose(
        self, stack: Stack, sieves: Sequence[Sieve], deletes: DeleteIndex, added: frozenset[int] | None
    ) -> list[Pick]:
        # An empty file has no matching row; a negative count is one that an old writer did not know.
        chosen: Mask = stack.column("records") != 0
        for sieve in sieves:
            chosen = chosen & stack.may_match(sieve)
        if added is not None:
            chosen = chosen & stack.added_by(added)
        conforms = self._conforming(stack)
        picks = [
            Pick(segment, stack.spec, rows, conforms[first + rows])
            for segment, first, rows in stack.split(np.flatnonzero(chosen))
        ]
        return [self._with_deletes(pick, deletes) for pick in picks]

    def _conforming(self, stack: Stack) -> Mask:
        if self.veil.blind_field_ids:
            return np.zeros(stack.count, bool)
        return self._all_seen(stack, statistics=self.veil.by_statistics)

    def _all_seen(self, stack: Stack, *, statistics: bool = True) -> Mask:
        """Of which files the row filter provably keeps every row."""
        if self.veil.row_filter is not None and not self.veil.exact:
            return np.zeros(stack.count, bool)
        return stack.must_match(self.lens.must, statistics=statistics)

    def _with_deletes(self, pick: Pick, deletes: DeleteIndex) -> Pick:
        """A file whose deletes hold rows of others does not conform: those rows may be outside the row filter."""
        if self.veil.row_filter is None or not deletes.carries_rows or not pick.conforms.any():
            return pick
        conforms = pick.conforms.copy()
        for place, applied in deletes.applying_to(pick.segment, pick.spec, pick.rows).items():
            if any(deletes.files[number].carries_rows for number in applied):
                conforms[place] = False
        return Pick(pick.segment, pick.spec, pick.rows, conforms)

    def _cut(
        self, stack: Stack, picks: Sequence[Pick], deletes: DeleteIndex, missing: int
    ) -> tuple[list[Pick], int]:
        """Leave off what is not needed for the rows requested; answers how many are still missing.

        Only rows that the client gets for certain count: of files where every row matches and none is deleted.
        """
        matching = stack.must_match(self.own.filter.must) & self._all_seen(stack)
        firsts = {
            id(segment): first for segment, first in zip(stack.segments, stack.starts.tolist(), strict=False)
        }
        kept: list[Pick] = []
        for pick in picks:
            certain = matching[firsts[id(pick.segment)] + pick.rows]
            for place in deletes.applying_to(pick.segment, pick.spec, pick.rows):
                certain[place] = False
            records = np.maximum(pick.segment.column("records")[pick.rows].astype(np.int64), 0)
            sums = np.cumsum(np.where(certain, records, 0))
            needed = int(np.searchsorted(sums, missing)) + 1
            kept.append(Pick(pick.segment, pick.spec, pick.rows[:needed], pick.conforms[:needed]))
            missing -= int(sums[min(needed, len(sums)) - 1])
            if missing <= 0:
                break
        return kept, missing

    def _manifests(self) -> tuple[ManifestFile, ...]:
        """The manifests to look at; an incremental scan sees the data manifests that its snapshots wrote."""
        if self.scope.added_by is None:
            assert self.scope.snapshot is not None
            return self._manifests_of(self.scope.snapshot)
        found: dict[str, ManifestFile] = {}
        ids = {int(snapshot["snapshot-id"]) for snapshot in self.scope.added_by}
        for snapshot in self.scope.added_by:
            for manifest in self._manifests_of(snapshot):
                if manifest.content == DATA and manifest.added_snapshot_id in ids:
                    found[manifest.path] = manifest
        return tuple(found.values())

    def _manifests_of(self, snapshot: dict[str, Any]) -> tuple[ManifestFile, ...]:
        location = snapshot.get("manifest-list")
        if not isinstance(location, str) or not location:
            raise InvalidTableMetadataError(f"snapshot {snapshot['snapshot-id']} names no manifest list")
        return self.index.manifests(self.reader, location)

    def _added_by(self) -> frozenset[int] | None:
        if self.scope.added_by is None:
            return None
        return frozenset(int(snapshot["snapshot-id"]) for snapshot in self.scope.added_by)

    def _deletes(self, manifests: Sequence[ManifestFile]) -> DeleteIndex:
        if not manifests:
            return DeleteIndex()
        wanted = [(manifest, self._spec(manifest.spec_id)) for manifest in manifests]
        key = "deletes|" + "|".join(segment_key(manifest, spec) for manifest, spec in wanted)

        def build() -> DeleteIndex:
            segments = self.index.segments(self.reader, wanted)
            return build_delete_index(list(zip(segments, (spec for _, spec in wanted), strict=True)))

        return self.index.keep(key, build, lambda deletes: deletes.nbytes)

    def _spec(self, spec_id: int) -> Spec:
        spec = self.table.specs.get(spec_id)
        if spec is None:
            raise InvalidTableMetadataError(
                f"a manifest is of partition spec {spec_id}, which the table does not have"
            )
        return spec
