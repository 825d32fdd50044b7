"""Headgate's own tokens: ``/api/headgate/tokens``, for service admins."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.objects import ObjectRef
from headgate.model.records import TokenRecord
from headgate.steward.access.tokens import SERVER

routes = Routes("/api/headgate/tokens")


class CreateToken(msgspec.Struct, frozen=True):
    user: str
    groups: tuple[str, ...] = ()
    expires: str | None = None
    comment: str | None = None


def _server(call: DoorCall) -> ObjectRef:
    return SERVER


def shown(record: TokenRecord) -> dict[str, Any]:
    """A token on the wire: who, until when, by whom; never its secret or digest."""
    return wire.present(
        {
            "id": record.id,
            "user": record.user,
            "groups": record.groups,
            "comment": record.comment,
            "creator": record.creator,
            "createTime": record.created_at,
            "expireTime": record.expires_at,
            "revokeTime": record.revoked_at,
        }
    )


@routes.on("GET", "", Op.MANAGE_TOKENS, _server, query=wire.PAGE)
def list_tokens(call: DoorCall) -> Any:
    """List the tokens, without their secrets."""
    found = sorted(call.steward.tokens.list(call.permit), key=lambda record: record.id)
    listed, token = wire.page(call, found, lambda record: record.id)
    return wire.ok(tokens=[shown(record) for record in listed], nextPageToken=token)


@routes.on("POST", "", Op.MANAGE_TOKENS, _server, body=CreateToken)
def create_token(call: DoorCall) -> Any:
    """Make a token for a user. Its text is in this answer and never again."""
    body: CreateToken = call.body
    made = call.steward.tokens.create(call.permit, body.user, body.groups, body.expires, body.comment)
    return wire.ok(token=shown(made.record), text=made.text)


@routes.on("DELETE", "/{token}", Op.MANAGE_TOKENS, _server)
def revoke_token(call: DoorCall) -> Any:
    """Revoke a token; it is refused from the next request on."""
    return wire.ok(revoked=call.steward.tokens.revoke(call.permit, call.params["token"]))
