"""Headgate's own tokens: ``/api/headgate/tokens``, for service admins."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import Call, Routes
from headgate.model.objects import ObjectRef
from headgate.steward.tokens import SERVER
from headgate.store.tokens import TokenRecord

routes = Routes("/api/headgate/tokens")


class Create(msgspec.Struct, frozen=True):
    user: str
    groups: tuple[str, ...] = ()
    expires: str | None = None
    comment: str | None = None


def _server(call: Call) -> ObjectRef:
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
def list_tokens(call: Call) -> Any:
    """List the tokens, without their secrets."""
    found = sorted(call.steward.tokens.list(call.permit), key=lambda record: record.id)
    listed, token = wire.page(call, found, lambda record: record.id)
    return wire.ok(tokens=[shown(record) for record in listed], nextPageToken=token)


@routes.on("POST", "", Op.MANAGE_TOKENS, _server, body=Create)
def create_token(call: Call) -> Any:
    """Make a token for a user. Its text is in this answer and never again."""
    body: Create = call.body
    made = call.steward.tokens.create(call.permit, body.user, body.groups, body.expires, body.comment)
    return wire.ok(token=shown(made.record), text=made.text)


@routes.on("DELETE", "/{token}", Op.MANAGE_TOKENS, _server)
def revoke_token(call: Call) -> Any:
    """Revoke a token; it is refused from the next request on."""
    return wire.ok(revoked=call.steward.tokens.revoke(call.permit, call.params["token"]))
