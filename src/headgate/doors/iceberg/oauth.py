"""The token endpoint: ``/v1/oauth/tokens``. Headgate's own tokens, for clients that hold an id and a secret."""

import base64
import binascii
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_plus

from headgate.doors.routing import Answer, DoorCall, Open, Routes
from headgate.model.errors import Unauthenticated
from headgate.steward.access.tokens import PREFIX

routes = Routes("/iceberg/v1/oauth")

_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS: Final = "urn:ietf:params:oauth:token-type:access_token"
_MAX: Final = 4096
_MAX_FIELDS: Final = 20


_FORM: Final = {
    "type": "object",
    "required": ["grant_type"],
    "properties": {
        "grant_type": {"type": "string", "enum": ["client_credentials", _EXCHANGE]},
        "client_id": {"type": "string"},
        "client_secret": {"type": "string"},
        "subject_token": {"type": "string"},
    },
}


@routes.on("POST", "/tokens", Open.ANYONE, raw={"application/x-www-form-urlencoded": _FORM})
def token(call: DoorCall) -> Any:
    """Turn an id and secret, or a token, into a bearer token."""
    form = _form(call.raw)
    match form.get("grant_type"):
        case "client_credentials":
            id, secret = _client(call, form)
            if not id or not secret:
                return _refused("invalid_request", "send client_id and client_secret", 400)
            text = f"{PREFIX}{id}_{secret}"
        case kind if kind == _EXCHANGE:
            text = form.get("subject_token", "")
            if form.get("actor_token"):
                return _refused("invalid_request", "acting for somebody else is not supported", 400)
        case _:
            return _refused("unsupported_grant_type", "use client_credentials or token-exchange", 400)
    try:
        call.steward.tokens.proven(text)
    except Unauthenticated:
        # INVARIANT: one answer for every reason, so nobody learns which ids exist or once did.
        return _refused("invalid_client", "the credentials are not valid", 401)
    body = {"access_token": text, "token_type": "bearer", "issued_token_type": _ACCESS}
    return Answer(body, headers={"Cache-Control": "no-store"})


def _form(raw: bytes) -> dict[str, str]:
    if len(raw) > _MAX or raw.count(b"&") >= _MAX_FIELDS:
        return {}
    return dict(parse_qsl(raw.decode("utf-8", "replace")))


def _client(call: DoorCall, form: dict[str, str]) -> tuple[str, str]:
    """The id and secret, from the form or from a Basic header."""
    scheme, _, credentials = call.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            id, _, secret = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return "", ""
        return unquote_plus(id), unquote_plus(secret)
    return form.get("client_id", ""), form.get("client_secret", "")


def _refused(error: str, why: str, status: int) -> Answer:
    return Answer({"error": error, "error_description": why}, status, {"Cache-Control": "no-store"})
