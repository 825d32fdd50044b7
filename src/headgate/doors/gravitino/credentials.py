"""Credentials of an object: ``…/objects/{type}/{fullName}/credentials``."""

from typing import Any, Final

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import Answer, DoorCall, Routes
from headgate.model.objects import ObjectType
from headgate.vending import StorageCredential
from headgate.vending.providers import S3_TOKEN

routes = Routes("/api/metalakes/{metalake}")

_STORED: Final = {
    ObjectType.CATALOG: Op.LOAD_CATALOG,
    ObjectType.FILESET: Op.LOAD_FILESET,
    ObjectType.TABLE: Op.READ_TABLE,
}
"""What lies in storage that a credential could open, and what it takes to read it."""

_UNCACHED: Final = {"Cache-Control": "no-store"}


def shown(credential: StorageCredential) -> dict[str, Any]:
    """A credential as Gravitino's clients know it."""
    config = credential.config
    return {
        "credentialType": S3_TOKEN,
        "expireTimeInMs": int(config["s3.session-token-expires-at-ms"]),
        "credentialInfo": {
            "s3-access-key-id": config["s3.access-key-id"],
            "s3-secret-access-key": config["s3.secret-access-key"],
            "s3-session-token": config["s3.session-token"],
        },
    }


@routes.on("GET", "/objects/{type}/{fullName}/credentials", _STORED, wire.named_object)
def get_credentials(call: DoorCall) -> Any:
    """Credentials for an object's storage, scoped to what the caller may touch of it; none without providers."""
    given = call.steward.credentials.of(call.permit).credentials
    # Those of several buckets are one session: Gravitino's clients take the first of a type for all.
    return Answer(wire.ok(credentials=[shown(each) for each in given[:1]]), headers=_UNCACHED)
