"""What was: which files readers were given, and when someone lost the right to read a table."""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from headgate.decide import Authority, Op
from headgate.model.changes import LabelSet, PolicySet
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward.acts import act
from headgate.steward.findings import examine
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.store import given_files, journal
from headgate.store.database import stored_time

MOST: Final = 1000
"""Pairs of user and table that may be asked about at once."""


class Reader(msgspec.Struct, frozen=True):
    """Someone and a table of the metalake, by its full name."""

    user: str
    object: str


class AccessLoss(msgspec.Struct, frozen=True):
    """From when to when someone who could read a table could not; `until` is None if they still cannot."""

    user: str
    object: str
    at: str
    revision: int
    until: str | None = None


class Losses(msgspec.Struct, frozen=True):
    complete: bool
    """Whether the journal reaches back to its beginning; if not, nothing is known."""
    losses: list[AccessLoss]


class History:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @act(Op.READ_AUDIT)
    def files(self, permit: Permit, view: str) -> str:
        """The fingerprints of the originals that readers of a view of the permit's metalake were given, in base64."""
        objects = permit.authority.objects
        found = [
            files
            for object, files in given_files.find(self.kernel.store, view)
            if object not in objects or objects[object].metalake == permit.node.metalake
        ]
        return base64.b64encode(b"".join(found)).decode()

    @act(Op.READ_AUDIT)
    def losses(self, permit: Permit, since: datetime, readers: Sequence[Reader]) -> Losses:
        """When each of these lost the right to read its table, from a time on.

        The journal is gone through from its beginning. Groups that only a token claimed are not in it, so who could read
        by those alone never lost anything here.
        """
        if len(readers) > MOST:
            raise IllegalArgument(
                f"{len(readers)} readers were asked about at once", hint=f"ask about {MOST}"
            )
        metalake = permit.ref.metalake
        asked = {
            reader: ObjectRef.parse(metalake, ObjectType.TABLE, reader.object) for reader in set(readers)
        }
        authority = Authority(0, permit.authority.service_admins)
        could: dict[Reader, bool] = {}
        open_: dict[Reader, AccessLoss] = {}
        found: list[AccessLoss] = []
        expected = 1
        for entry in journal.entries(self.kernel.store):
            if entry.revision != expected:
                return Losses(False, [])
            expected += 1
            if entry.at >= stored_time(since) and not could:
                could = {reader: _reads(authority, reader, ref) for reader, ref in asked.items()}
            authority = authority.applied(entry.changes, entry.revision)
            if not could or all(isinstance(change, LabelSet | PolicySet) for change in entry.changes):
                continue
            for reader, ref in asked.items():
                can = _reads(authority, reader, ref)
                if could[reader] and not can:
                    open_[reader] = AccessLoss(reader.user, reader.object, entry.at, entry.revision)
                elif can and reader in open_:
                    found.append(msgspec.structs.replace(open_.pop(reader), until=entry.at))
                could[reader] = can
        return Losses(True, sorted((*found, *open_.values()), key=lambda loss: loss.revision))


def _reads(authority: Authority, reader: Reader, ref: ObjectRef) -> bool:
    finding = examine(authority, Identity(reader.user), Op.READ_TABLE, ref)
    return finding.holds and finding.exists
