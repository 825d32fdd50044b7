"""Access to a table's files: credentials and signed requests, as Iceberg's clients are told of them."""

from functools import wraps
from typing import Any, Final
from urllib.parse import quote

from headgate.catalogs.interface import Document
from headgate.decide import Op
from headgate.doors.iceberg import wire
from headgate.doors.routing import Answer, DoorCall, Handler, Routes
from headgate.model.errors import HeadgateError
from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward.reads.circumstances import Circumstances
from headgate.steward.reads.vending import OWN, Access
from headgate.vending import SignRequest

Json = dict[str, Any]

routes = Routes("/iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}")
table = wire.entry(ObjectType.TABLE)

UNCACHED: Final = {"Cache-Control": "no-store"}


def circumstances_of(call: DoorCall) -> Circumstances:
    """What the request says of itself, for the audit."""
    return Circumstances(
        call.headers.get("x-iceberg-access-delegation"),
        call.query.get("referenced-by") or None,
        call.headers.get("x-client-version"),
    )


def config(access: Access, ref: ObjectRef) -> dict[str, str]:
    """The settings of a client that was given access."""
    known = dict(access.config)
    if access.credentials:
        known["client.refresh-credentials-endpoint"] = _path(ref, "credentials")
    if access.signs:
        known |= _signing(_path(ref, "sign"))
        # pyiceberg's usual way to S3 cannot have requests signed; this one can.
        known["py-io-impl"] = "pyiceberg.io.fsspec.FsspecFileIO"
    return known


def members(access: Access, ref: ObjectRef) -> Json:
    """The members of an answer that tell of the access that was given."""
    found: Json = {}
    if access.signer is not None:
        endpoint = f"{_path(ref, 'sign')}?plan={access.signer.token}"
        # Iceberg's Java library looks for it under the second name since 1.12; that of a table it works out by itself.
        own = {**access.config, **_signing(endpoint), "rest.remote-signing.endpoint": endpoint}
        found["storage-credentials"] = [{"prefix": at, "config": own} for at in access.signer.prefixes]
        return found
    if access.credentials:
        more = config(access, ref)
        found["storage-credentials"] = [
            {"prefix": given.prefix, "config": {**more, **given.config}} for given in access.credentials
        ]
    if access.signs:
        found["remote-signing-config"] = {"properties": {}, "headers": {}}
    return found


def _signing(endpoint: str) -> dict[str, str]:
    return {
        "s3.remote-signing-enabled": "true",
        "s3.signer": "S3V4RestSigner",
        "s3.signer.endpoint": endpoint,
    }


def with_access(handler: Handler) -> Handler:
    """Add access to the files of a table that was made or staged, as the caller's permits of today give it."""

    @wraps(handler)
    def added(call: DoorCall) -> Answer:
        answer: Answer = handler(call)
        if answer.status != 200 or not circumstances_of(call).delegations:
            return answer
        body: Json = answer.body
        ref = wire.namespace(call).child(ObjectType.TABLE, call.body.name)
        access = _made(call, ref, body)
        if not access:
            return answer
        body = {**body, "config": {**body["config"], **config(access, ref)}, **members(access, ref)}
        return Answer(body, answer.status, {**answer.headers, **UNCACHED})

    return added


def _made(call: DoorCall, ref: ObjectRef, body: Json) -> Access:
    """Access to a table that was made or staged just now."""
    vending, circumstances = call.steward.vending, circumstances_of(call)
    if getattr(call.body, "stage_create", False):
        if call.body.location:
            return OWN
        return vending.staged_access(call.permit, Document(None, body["metadata"]), circumstances)
    try:
        permit = call.ask(Op.LOAD_TABLE, ref)
        return vending.access(permit, circumstances, call.steward.reads.of(permit))
    except HeadgateError:
        # The table is made, which is what was asked for; loading it will tell why there is no access.
        return OWN


@routes.on("GET", "/credentials", Op.READ_TABLE, table, query=("planId", "referenced-by"))
def credentials(call: DoorCall) -> Any:
    """Credentials for the table's files, before those that a client has expire."""
    vending, circumstances = call.steward.vending, circumstances_of(call)
    access = OWN
    if plan := call.query.get("planId"):
        found = call.steward.scans.poll(call.permit, plan, circumstances)
        if found.status == "completed":
            asked = Circumstances("vended-credentials", circumstances.referenced_by, circumstances.client)
            access = vending.plan_access(call.permit, asked, found.files, found.read)
    if not access:
        access = vending.credentials(call.permit)
    return Answer({"storage-credentials": [], **members(access, call.permit.ref)}, headers=UNCACHED)


@routes.on("POST", "/sign", Op.READ_TABLE, table, body=SignRequest, query=("plan",))
def sign(call: DoorCall) -> Any:
    """Sign a request to the table's storage, if the caller may make it; with a plan's token, for that plan's files only."""
    signed = call.steward.vending.sign(call.permit, call.body, call.query.get("plan"))
    reused = "private" if signed.cacheable else "no-cache"
    return Answer({"uri": signed.uri, "headers": signed.headers}, headers={"Cache-Control": reused})


def _path(ref: ObjectRef, what: str) -> str:
    """Relative to the catalog's address, which clients know better than the server does."""
    namespace = quote(wire.LEVELS.join(wire.levels(ref.path[1])), safe="")
    catalog = ObjectRef(ref.metalake, ObjectType.CATALOG, ref.path[:1])
    return f"v1/{wire.prefix_of(catalog)}/namespaces/{namespace}/tables/{quote(ref.name, safe='')}/{what}"
