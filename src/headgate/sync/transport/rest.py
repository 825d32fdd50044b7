"""Requests to a service's REST API: its own words when it refuses, waits when it is too busy."""

from typing import Any, Final
from urllib.parse import quote

import httpx

from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.sync.transport.pacing import Busy, Pacing

_BUSY: Final = frozenset({429, 502, 503, 504})


class ServiceRefused(HeadgateError):
    """What a service refused, in its own words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message, about="sync")
        self.status = status


class ServiceClient:
    """One service; the client carries the address and the credentials."""

    def __init__(self, client: httpx.Client, pacing: Pacing | None = None) -> None:
        self.client = client
        self.pacing = pacing or Pacing()

    def __call__(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        json: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """The answer's body, or None if it has none."""

        def ask() -> Any:
            try:
                answer = self.client.request(method, path, params=query, json=json, headers=headers)
            except httpx.HTTPError as error:
                raise ConnectionFailed(
                    "the service does not answer", hint=str(error), about="sync"
                ) from error
            if answer.status_code in _BUSY:
                raise Busy(_message(answer), self.pacing.retry_after(answer.headers.get("Retry-After")))
            if answer.status_code == 401:
                raise ConnectionFailed(
                    "the credentials are not accepted", hint=_message(answer), about="sync"
                )
            if answer.is_error:
                raise ServiceRefused(answer.status_code, _message(answer))
            return answer.json() if answer.content else None

        return self.pacing(ask)

    def listed(
        self,
        path: str,
        field: str,
        *,
        token: tuple[str, str] = ("page_token", "next_page_token"),
        query: dict[str, str] | None = None,
    ) -> list[Any]:
        """A whole list, page by page. A page may be empty and still not be the last."""
        found: list[Any] = []
        more: dict[str, str] = {}
        while True:
            body = self("GET", path, query={**(query or {}), **more})
            found += body.get(field) or []
            if not body.get(token[1]):
                return found
            more = {token[0]: body[token[1]]}


def path(*parts: str) -> str:
    """Parts as the segments of a path, whatever is in their names."""
    return "/".join(quote(part, safe="") for part in parts)


def _message(answer: httpx.Response) -> str:
    """The error in the words of the service, wherever it puts them."""
    try:
        body = answer.json()
    except ValueError:
        body = {}
    error: dict[str, Any] = body if isinstance(body, dict) else {}
    if isinstance(error.get("error"), dict):
        error = error["error"]
    kind = error.get("type") or error.get("status") or error.get("error_code") or answer.status_code
    return f"{kind}: {error.get('message') or answer.reason_phrase}"
