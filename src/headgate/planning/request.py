"""What comes in: the client's request as the REST protocol words it, and what the caller's lens does to the table."""

from __future__ import annotations

from typing import Any

import msgspec

from headgate.planning.errors import InvalidRequestError


class PlanRequest(msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True):
    """`PlanTableScanRequest`; `ref` (a branch or tag) is ours, for callers that hold a name instead of an id."""

    snapshot_id: int | None = None
    ref: str | None = None
    start_snapshot_id: int | None = None
    end_snapshot_id: int | None = None
    select: tuple[str, ...] | None = None
    filter: Any = None
    min_rows_requested: int | None = None
    case_sensitive: bool = True
    use_snapshot_schema: bool = False
    stats_fields: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, body: bytes) -> PlanRequest:
        """Parse and check a request body."""
        try:
            request = msgspec.json.decode(body, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidRequestError(str(error)) from error
        request.check()
        return request

    def check(self) -> None:
        """Refuse contradictions: a scan is of one snapshot or between two, never both."""
        incremental = self.start_snapshot_id is not None or self.end_snapshot_id is not None
        if incremental and (self.start_snapshot_id is None or self.end_snapshot_id is None):
            raise InvalidRequestError("start-snapshot-id and end-snapshot-id go together")
        if incremental and (self.snapshot_id is not None or self.ref is not None):
            raise InvalidRequestError("a scan is either of one snapshot or between two")
        if self.snapshot_id is not None and self.ref is not None:
            raise InvalidRequestError("name the snapshot by id or by reference, not both")
        if self.min_rows_requested is not None and self.min_rows_requested < 0:
            raise InvalidRequestError("min-rows-requested is negative")


class TaskRequest(msgspec.Struct, frozen=True, rename="kebab"):
    """`FetchScanTasksRequest`: one part of a plan."""

    plan_task: str

    @classmethod
    def from_json(cls, body: bytes) -> TaskRequest:
        """Parse a request body."""
        try:
            return msgspec.json.decode(body, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidRequestError(str(error)) from error


class Veil(msgspec.Struct, frozen=True):
    """What a lens does to a table, in the planner's terms.

    INVARIANT: original values of hidden and masked columns leave this room in no form: neither as statistics nor as
    partition values nor through the effect that a client's predicate has on the choice of files.
    """

    hidden_field_ids: frozenset[int] = frozenset()
    masked_field_ids: frozenset[int] = frozenset()
    row_filter: Any = None
    """Every row that may be seen matches it. None if all rows may."""
    exact: bool = False
    """Whether every row that matches it may be seen as well; if not, it proves of no file that all of it may."""
    by_statistics: bool = True
    """Whether a file's statistics may prove that all of it may be seen, or only the partition that it lies in."""
    copy_id: str = ""
    """Names the governed copies that are planned over: what is planned over some is nothing over others."""

    @property
    def blind_field_ids(self) -> frozenset[int]:
        """Columns whose original values the client must not learn."""
        return self.hidden_field_ids | self.masked_field_ids


NO_VEIL = Veil()
