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
from headgate.planning.file_set import FileSet
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.reads.circumstances import Circumstances
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.planning.answering import Answering, token_print
from headgate.steward.reads.planning.plan_trail import PlanStep, PlanTrail
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
    prefixes,
)

NOTHING: Final = Scope()
_MOST_AUDITED: Final = 50
PLANS: Final = "plans"
"""What a session is for that signs requests for the files of plans."""
_ONLY_READ: Final = frozenset({"GET", "HEAD"})


class PlanSigner(msgspec.Struct, frozen=True):
    """A signer of requests for the files of one plan, which its token stands for, below these prefixes."""

    token: str
    prefixes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"PlanSigner({self.prefixes!r}, …)"


class Access(msgspec.Struct, frozen=True):
    """How a client gets at the files of a table: with credentials, by having its requests signed, or by itself."""

    config: dict[str, str] = {}
    credentials: tuple[StorageCredential, ...] = ()
    signs: bool = False
    signer: PlanSigner | None = None
    """What signs where only the files of a plan are signed for."""

    def __bool__(self) -> bool:
        return bool(self.credentials or self.signs)

    def __repr__(self) -> str:
        return f"Access({self.credentials!r}, signs={self.signs})"


class PlannedAccess(msgspec.Struct, frozen=True):
    """Reading the files of a plan that its caller may touch."""

    files: FileSet
    scope: Scope

    def reads(self, location: str) -> bool:
        return location in self.files and self.scope.reads(location)

    def writes(self, location: str) -> bool:
        return False


OWN: Final = Access()
"""Clients use what they have themselves."""


class Vending:
    def __init__(self, kernel: Kernel, reads: TableReads, answering: Answering, openings: Openings) -> None:
        self.kernel = kernel
        self.reads = reads
        self.answering = answering
        self.governed = answering.governed
        self.openings = openings
        self.trail = PlanTrail(kernel)
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
        signer: str | None = None,
    ) -> Access:
        """What a client gets with a plan that is done, if it asks for any: access to the planned files.

        `read` is what the permit's caller reads of the table, if that is known. `files` is None where a plan does not tell
        all of them. `signer` is the plan's token. Credentials are given for the files if they fit a session policy, else
        requests for them are signed; if the client can do neither, or the plan cannot be made again, it gets what it would
        get with the table itself. The audit says which it was.
        INVARIANT: a plan gives nothing that the table itself would not give its caller, and never more than reading.
        """
        read = read or self.reads.of(permit)
        vendor = self.vendors.of(read.adapter.properties)
        asked, credentials = circumstances.delegations, frozenset({"vended-credentials"})
        if not asked or not vendor.signs or files == []:
            return OWN
        vends, scope = bool(asked & credentials) and vendor.vends, self._scope(permit, read)
        if vends and files is not None and scope and all(map(scope.reads, files)):
            try:
                planned = Scope(files=tuple(dict.fromkeys(map(normal, files))))
                return self._given(permit, vendor, planned, credentials, "plan")
            except (TooManyFiles, Unscopable):
                pass
        if "remote-signing" in asked and signer is not None:
            signed = self._plan_signer(permit, vendor, scope, signer)
            if signed or not vends:
                return signed
        if not vends:
            return OWN
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
    def sign(self, permit: Permit, request: SignRequest, signer: str | None = None) -> Signed:
        """Sign one request to the table's storage, if the caller may make it.

        With a plan's token, only reads of that plan's files are signed.
        """
        read = self.reads.of(permit)
        vendor = self.vendors.of(read.adapter.properties)
        scope = self._scope(permit, read)
        if not scope:
            raise _nothing(permit)
        if signer is not None:
            with self.trail.failures(permit, PlanStep.SIGN, Circumstances()):
                return self._sign_planned(permit, request, read, scope, signer)
        if scope.write and request.method not in _ONLY_READ:
            self.kernel.wrote(permit)
        # Files that are many fit no policy: they are checked one by one, and the session holds for the table.
        own = read.adapter.given_folders(read.document) if scope.files else ()
        session = Scope(folders=(*scope.folders, *own), write=scope.write)
        signed = vendor.sign(request, scope, session=session, name=permit.identity.user)
        self._audit_signed(permit, request, signed)
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

    def _plan_signer(self, permit: Permit, vendor: Vendor, scope: Scope, signer: str) -> Access:
        """A signer of requests for the files of a plan. What it signs is decided when it is asked."""
        if not scope or not all(map(self.openings.holds, scope.places)):
            return OWN
        self.kernel.audit_read(
            permit, step=str(PlanStep.ACCESS), scope="plan", signs=True, signer=token_print(signer)
        )
        return Access(vendor.client_config(), signs=True, signer=PlanSigner(signer, tuple(prefixes(scope))))

    def _sign_planned(
        self, permit: Permit, request: SignRequest, read: TableRead, scope: Scope, signer: str
    ) -> Signed:
        """Sign a read of a file of the plan that a token stands for.

        INVARIANT: the file is one of the plan as it would be made now, and one that the caller may touch now.
        """
        planned = PlannedAccess(self.answering.signed_files(permit, read, signer), scope)
        own = read.adapter.given_folders(read.document) if scope.files else ()
        session = Scope(folders=(*scope.folders, *scope.write, *own))
        vendor = self.vendors.of(read.adapter.properties)
        # A session of its own: its key reads nothing but what was signed for plans, which is compared later.
        signed = vendor.sign(request, planned, session=session, name=permit.identity.user, use=PLANS)
        self._audit_signed(permit, request, signed, signer=token_print(signer))
        return signed

    def _audit_signed(
        self, permit: Permit, request: SignRequest, signed: Signed, *, signer: str | None = None
    ) -> None:
        self.kernel.audit_read(
            permit,
            signed=request.method,
            files=len(signed.places),
            places=[clip(place, 500) for place in signed.places[:_MOST_AUDITED]],
            signer=signer,
            keys=None if signer is None or signed.print is None else [signed.print],
        )

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
