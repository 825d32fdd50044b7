"""Plan tasks: a signed description of a part of a plan, which any process with the key can serve.

The token carries the request and a range of files; of the view it was made under only a keyed digest. Whoever fetches it
must have the same view of the same table then, else it is stale; whoever alters it has no task at all.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import zlib
from typing import Any

import msgspec

from headgate.planning.errors import InvalidPlanTaskError
from headgate.planning.request import PlanRequest, Veil

SIGNATURE_BYTES = 32
LONGEST_TOKEN = 1 << 20


class PlanTask(msgspec.Struct, frozen=True, array_like=True):
    """Files `start` to `stop` of the plan that `request` makes of a table's snapshot under a view."""

    plan_id: str
    table_uuid: str
    snapshot_id: int | None
    view: bytes
    start: int
    stop: int
    request: PlanRequest


def view_digest(key: bytes, table_uuid: str, veil: Veil) -> bytes:
    """A digest that is equal for equal views of a table and tells nothing about them without the key."""
    content: Any = [
        table_uuid,
        sorted(veil.hidden_field_ids),
        sorted(veil.masked_field_ids),
        veil.row_filter,
        veil.exact,
        veil.copy_id,
    ]
    encoded = msgspec.json.encode(content, order="sorted")
    return hmac.digest(_derived(key, b"view"), encoded, hashlib.sha256)


def encode_plan_task(key: bytes, task: PlanTask) -> str:
    """Sign a plan task."""
    payload = zlib.compress(msgspec.json.encode(task))
    return base64.urlsafe_b64encode(_sign(key, payload) + payload).rstrip(b"=").decode()


def decode_plan_task(key: bytes, token: str) -> PlanTask:
    """Check and read a plan task; anything but an untouched token is an `InvalidPlanTaskError`."""
    if len(token) > LONGEST_TOKEN:
        raise InvalidPlanTaskError
    try:
        content = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidPlanTaskError from error
    signature, payload = content[:SIGNATURE_BYTES], content[SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _sign(key, payload)):
        raise InvalidPlanTaskError
    # One task has one spelling: base64 would ignore spare bits in its last character.
    if base64.urlsafe_b64encode(content).rstrip(b"=").decode() != token:
        raise InvalidPlanTaskError
    try:
        return msgspec.json.decode(zlib.decompress(payload), type=PlanTask)
    except (zlib.error, msgspec.DecodeError) as error:
        raise InvalidPlanTaskError from error


def _sign(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(_derived(key, b"plan-task"), payload, hashlib.sha256)


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, b"headgate/planning/" + purpose, hashlib.sha256)
