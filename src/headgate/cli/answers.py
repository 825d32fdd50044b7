"""What a server answered: its JSON, or a failure with the exit code and the next step that fit it."""

import contextlib
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec

from headgate.cli.failure import Denied, Failure, Usage

if TYPE_CHECKING:
    import httpx

NEXT: Final = "Headgate-Next"
"""The header in which the server says itself what to do next."""

LISTED: Final = ("metalake", "catalog", "schema", "table", "view", "user", "group", "role", "tag", "policy")
"""The nouns that have a command which lists them."""
_MISSING: Final = re.compile(r"NoSuch([A-Z]\w*)Exception")

_NEXT_BY_TYPE: Final = (
    ("AlreadyExistsException", "choose another name, or change the one that is there"),
    ("NotInUseException", "take it into use first with 'enable'"),
    ("InUseException", "take it out of use first with 'disable', or use --force where the command has it"),
    ("OptimisticLockException", "read it again and retry"),
    (
        "ConnectionFailedException",
        "see that the system behind it runs, and that its address and keys are right",
    ),
)
"""By the end of the name of an error; the first that fits."""
_NEXT_BY_STATUS: Final = {
    404: "see that --url leads to a Headgate of this version",
    500: "the server's log says why",
    503: "the server cannot decide now: its log and /health/ready say why",
}
_STATUS_BY_CODE: Final = {1001: 400, 1003: 404, 1008: 403, 1011: 401}


def read(answer: "httpx.Response", *, signed_by_token: bool = True) -> Any:
    """The JSON of an answer; a refusal becomes a failure."""
    body: Any = None
    with contextlib.suppress(msgspec.DecodeError):
        body = msgspec.json.decode(answer.content)
    if not isinstance(body, dict):
        body = {}
    # A connection test tells its failure in a body with status 200.
    if answer.is_success and body.get("code", 0) == 0:
        return body
    status = _STATUS_BY_CODE.get(body.get("code"), 502) if answer.is_success else answer.status_code
    message = str(body.get("message") or f"the server answered {answer.status_code}")
    advice = unquote(answer.headers.get(NEXT, ""))
    # The message ends with what to do next, for clients that show nothing else.
    message = message.removesuffix(f": {advice}") if advice else message
    if status == 401:
        raise Denied(message, advice or _signing(signed_by_token))
    if status == 403:
        raise Denied(message, advice or "ask for it to be granted; 'headgate explain' says what is missing")
    kind = Usage if status == 400 else Failure
    raise kind(message, advice or _next(str(body.get("type", "")), status))


def listing(noun: str) -> str | None:
    """The command that shows what there is of a kind."""
    return f"'headgate {noun} list' shows what is there" if noun in LISTED else None


def _signing(by_token: bool) -> str:
    if by_token:
        return "check HEADGATE_TOKEN; a service admin makes one by 'headgate token create'"
    return "only a --dev server believes --login: set HEADGATE_TOKEN (see 'headgate token create')"


def _next(type: str, status: int) -> str | None:
    missing = _MISSING.fullmatch(type)
    if missing is not None:
        return listing(missing[1].lower())
    by_type = next((text for end, text in _NEXT_BY_TYPE if type.endswith(end)), None)
    return by_type or _NEXT_BY_STATUS.get(status)
