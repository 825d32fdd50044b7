"""Access to the files of tables: credentials and signatures, each for what the caller sees and no more."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from headgate.catalogs.interface import Document
from headgate.catalogs.locations import normal
from headgate.catalogs.openings import Openings
from headgate.decide import Op
from headgate.decide.policies.clauses import any_on_the_way
from headgate.decide.verdict import allowed
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectType, clip
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.reads.circumstances import Circumstances
from headgate.steward.reads.copies.governed import Governed
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.planning.plan_trail import PlanStep
from headgate.steward.reads.table_read import GovernedRead, TableRead
from headgate.vending import (
    Scope,
    Signed,
    SignRequest,
    StorageCredential,
    TooManyFiles,
    Unscopable,
    Vendor,
    Vendors,
)

NOTHING: Final = Scope()
_MOST_AUDITED: Final = 50
_ONLY_READ: Final = frozenset({"GET", "HEAD"})


class Access(msgspec.Struct, frozen=True):
    """How a client gets at the files of a table: with credentials, by having its requests signed, or by itself."""

    config: dict[str, str] = {}
    credentials: tuple[StorageCredential, ...] = ()
    signs: bool = False

    def __bool__(self) -> bool:
        return bool(self.credentials or self.signs)

    def __repr__(self) -> str:
        return f"Access({self.credentials!r}, signs={self.signs})"


OWN: Final = Access()
"""Clients use what they have themselves."""


class Vending:
    def __init__(self, kernel: Kernel, reads: TableReads, governed: Governed, openings: Openings) -> None:
        self.kernel = kernel
        self.reads = reads
        self.governed = governed
        self.openings = openings
        self.vendors = Vendors(self.openings)

    @act(Op.LOAD_TABLE)
    def access(self, permit: Permit, circumstances: Circumstances, read: TableRead) -> Access:
        """What a client gets with a table that it loads, if it asks for any. `read` is what the permit's caller reads."""
        asked, vendor = circumstances.delegations, self.vendors.of(read.adapter.properties)
        if not asked or not vendor.signs:
            return OWN
        return self._given(permit, vendor, self._scope(permit, read), asked)

    @act(Op.READ_TABLE)
    def plan_access(
        self,
        permit: Permit,
        circumstances: Circumstances,
        files: Sequence[str] | None,
        read: TableRead | None = None,
    ) -> Access:
        """What a client gets with a plan that is done, if it asks for any: access to the planned files.

        `read` is what the permit's caller reads of the table, if that is known. `files` is None where a plan does not tell all of them. Where they do not fit a session policy, the client gets
        what it would get with the table itself; the audit says which of the two it was.
        INVARIANT: a plan gives nothing that the table itself would not give its caller, and never more than reading.
        """
        read = read or self.reads.of(permit)
        vendor = self.vendors.of(read.adapter.properties)
        asked, credentials = circumstances.delegations, frozenset({"vended-credentials"})
        if not asked & credentials or not vendor.vends or files == []:
            return OWN
        scope = self._scope(permit, read)
        if files is not None and scope and all(map(scope.reads, files)):
            try:
                planned = Scope(files=tuple(dict.fromkeys(map(normal, files))))
                return self._given(permit, vendor, planned, credentials, "plan")
            except (TooManyFiles, Unscopable):
                pass
        folders = Scope(folders=(*scope.folders, *scope.write), files=scope.files)
        return self._given(permit, vendor, folders, asked, "table")

    @act(Op.CREATE_TABLE)
    def staged_access(self, permit: Permit, document: Document, circumstances: Circumstances) -> Access:
        """What a client gets to write the files of a table that it stages in the permit's schema.

        INVARIANT: only for a folder that was chosen here, which so is nobody else's; and not where policies may show the
        one who makes the table only a part of what others write into it.
        """
        adapter = self.reads.tables.documents_of(permit)
        vendor = self.vendors.of(adapter.properties)
        if not circumstances.delegations or not vendor.vends or any_on_the_way(permit.authority, permit.node):
            return OWN
        scope = _of_s3(adapter.given_folders(document), write=True)
        return self._given(permit, vendor, scope, circumstances.delegations & {"vended-credentials"})

    @act(Op.READ_TABLE)
    def credentials(self, permit: Permit) -> Access:
        """Credentials once more, before those that a client has expire; none where clients use their own."""
        read = self.reads.of(permit)
        vendor = self.vendors.of(read.adapter.properties)
        if not vendor.vends:
            return OWN
        scope = self._scope(permit, read)
        if not scope:
            raise _nothing(permit)
        return self._given(permit, vendor, scope, frozenset({"vended-credentials"}))

    @act(Op.READ_TABLE)
    def sign(self, permit: Permit, request: SignRequest) -> Signed:
        """Sign one request to the table's storage, if the caller may make it."""
        read = self.reads.of(permit)
        vendor = self.vendors.of(read.adapter.properties)
        scope = self._scope(permit, read)
        if not scope:
            raise _nothing(permit)
        if scope.write and request.method not in _ONLY_READ:
            self.kernel.wrote(permit)
        # Files that are many fit no policy: they are checked one by one, and the session holds for the table.
        own = read.adapter.given_folders(read.document) if scope.files else ()
        session = Scope(folders=(*scope.folders, *own), write=scope.write)
        signed = vendor.sign(request, scope, session=session, name=permit.identity.user)
        self.kernel.audit_read(
            permit,
            signed=request.method,
            files=len(signed.places),
            places=[clip(place, 500) for place in signed.places[:_MOST_AUDITED]],
        )
        return signed

    def _scope(self, permit: Permit, read: TableRead) -> Scope:
        """What the caller may touch of a table's files.

        INVARIANT: the only place that says so. A caller who may not read gets nothing.
        """
        if not _may(permit, Op.READ_TABLE):
            return NOTHING
        copied = read.through_copies
        if copied is not None:
            return self._copies(copied)
        whole = not isinstance(read, GovernedRead)
        folders = read.adapter.given_folders(read.document)
        return _of_s3(folders, write=whole and _may(permit, Op.ALTER_TABLE))

    @act(Op.LOAD_FILESET)
    def of_folders(
        self, permit: Permit, properties: Mapping[str, str], folders: tuple[str, ...], *, write: bool
    ) -> Access:
        """Credentials for whole folders of the permit's object, which may be listed: those of a fileset."""
        vendor = self.vendors.of(properties)
        if not vendor.vends:
            return OWN
        scope = Scope(folders=() if write else folders, write=folders if write else (), listed=folders)
        return self._given(permit, vendor, scope, frozenset({"vended-credentials"}))

    # -- inside -------------------------------------------------------------------------------------------------

    def _copies(self, read: GovernedRead) -> Scope:
        """What someone may touch who sees only a part of the table: the folder of their copies, and of the table itself
        those files by name that hold nothing else."""
        originals = self.governed.originals(read)
        if not all(place.startswith("s3://") for place in (read.folder, *map(normal, originals))):
            return NOTHING
        return Scope(folders=(read.folder,), files=originals)

    def _given(
        self, permit: Permit, vendor: Vendor, scope: Scope, asked: frozenset[str], of: str | None = None
    ) -> Access:
        """Credentials or signatures for a scope; `of` tells the audit what the scope of a plan's credentials is."""
        if not scope or not all(map(self.openings.holds, scope.places)):
            return OWN
        if scope.write:
            self.kernel.wrote(permit)
        signs = "remote-signing" in asked and vendor.signs
        if "vended-credentials" in asked and vendor.vends:
            try:
                credentials = tuple(vendor.vend(scope, name=permit.identity.user))
            except (TooManyFiles, Unscopable):
                # INVARIANT: never a wider credential instead; what does not fit is signed file by file, or not given.
                if not signs:
                    raise
            else:
                places = (*scope.folders, *scope.write) or scope.files
                self.kernel.audit_read(
                    permit,
                    step=None if of is None else str(PlanStep.ACCESS),
                    scope=of,
                    vended=[clip(place, 1500) for place in places[:_MOST_AUDITED]],
                    keys=sorted({each.print for each in credentials}),
                    files=len(scope.files) or None,
                    writes=True if scope.write else None,
                )
                return Access(credentials[0].config if len(credentials) == 1 else {}, credentials)
        return Access(vendor.client_config(), signs=True) if signs else OWN


def _may(permit: Permit, op: Op) -> bool:
    return allowed(permit.authority, permit.caller, op, permit.node)


def _of_s3(folders: tuple[str, ...], *, write: bool) -> Scope:
    """A scope of folders, which is none where one of them lies in storage that cannot be scoped."""
    if not all(folder.startswith("s3://") for folder in folders):
        return NOTHING
    return Scope(folders=() if write else folders, write=folders if write else ())


def _nothing(permit: Permit) -> Forbidden:
    return Forbidden(
        f"no access is given to the files of table '{clip(permit.ref.full_name)}'",
        hint="its storage gives none, or you see only a part of the table: let the server plan your scans",
        about=ObjectType.TABLE,
    )
