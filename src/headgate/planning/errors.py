"""What can go wrong while planning: every error says what is at fault and what to do about it.

INVARIANT: no message quotes a path or a value that came out of metadata or manifests: it is sent to whoever asked.
"""

from __future__ import annotations


class PlanningError(Exception):
    """A plan could not be made; nothing of it was answered."""


class CorruptManifestError(PlanningError):
    """A manifest or manifest list cannot be decoded."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"A manifest of the table cannot be read: {reason}. Restore the file or roll the table back."
        )
        self.path = path
        self.reason = reason


class MissingManifestError(PlanningError):
    """A manifest or manifest list that the metadata names is not in storage."""

    def __init__(self, path: str) -> None:
        super().__init__(
            "A manifest of the table does not exist. Restore the file or roll the table back to another snapshot."
        )
        self.path = path


class ForeignFileError(PlanningError):
    """A manifest or file lies outside of the table's own folder."""

    def __init__(self, path: str) -> None:
        super().__init__(
            "A file or manifest does not lie in the table's folder, so it is not read. Copy its rows into the table."
        )
        self.path = path


class UnreadableManifestError(PlanningError):
    """Storage did not give out a manifest or manifest list that may well exist."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"A manifest cannot be fetched: {reason}. Check the storage and its credentials, then try again."
        )
        self.path = path
        self.reason = reason


class InvalidTableMetadataError(PlanningError):
    """The table metadata contradicts itself or the format."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Table metadata cannot be planned: {reason}.")
        self.reason = reason


class UnknownSnapshotError(PlanningError):
    """The request names a snapshot or reference that the table does not have."""

    def __init__(self, snapshot: int | str, reason: str = "the table has no such snapshot") -> None:
        super().__init__(
            f"Cannot scan snapshot {snapshot}: {reason}. Ask for one of the table's snapshots or refs."
        )
        self.snapshot = snapshot
        self.reason = reason


class UnknownColumnError(PlanningError):
    """A filter, projection or statistics list names a column that the caller's schema does not have."""

    def __init__(self, column: str | int, where: str) -> None:
        super().__init__(f"Column {column} in {where} is not in the table's schema. Check its name and case.")
        self.column = column
        self.where = where


class InvalidFilterError(PlanningError):
    """A filter is no Iceberg expression, or its literal does not fit its column."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Not a valid filter: {reason}.")
        self.reason = reason


class InvalidRequestError(PlanningError):
    """A plan request contradicts itself."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Not a valid plan request: {reason}.")
        self.reason = reason


class InvalidPlanTaskError(PlanningError):
    """A plan task is not one that this server gave out, or was altered."""

    def __init__(self) -> None:
        super().__init__("The plan task was not issued by this server. Plan the scan again.")


class StalePlanTaskError(PlanningError):
    """A plan task was given out for another table or another view of it than the caller has now."""

    def __init__(self) -> None:
        super().__init__("The plan task belongs to another view of the table. Plan the scan again.")
