"""Requests to one metalake of Apache Gravitino, and its errors in its own words."""

from typing import Any
from urllib.parse import quote

import httpx

from headgate.model.errors import ConnectionFailed, HeadgateError, NotFound


class NoRoute(HeadgateError):
    """The server does not know such a request."""


class GravitinoClient:
    """Requests below one metalake; an error answer becomes an error with the server's own words."""

    def __init__(self, client: httpx.Client, metalake: str) -> None:
        self.client = client
        self.base = f"/api/metalakes/{segment(metalake)}"

    def __call__(
        self,
        method: str,
        *parts: str,
        query: dict[str, str] | None = None,
        json: Any = None,
        version: int = 1,
    ) -> Any:
        path = "/".join([self.base, *map(segment, parts)])
        headers = {"Accept": f"application/vnd.gravitino.v{version}+json"}
        try:
            answer = self.client.request(method, path, params=query, json=json, headers=headers)
        except httpx.HTTPError as error:
            raise ConnectionFailed("the server does not answer", hint=str(error), about="sync") from error
        try:
            body = answer.json()
        except ValueError:
            body = {}
        if answer.is_error or body.get("code", 0) != 0:
            message = f"{body.get('type', answer.status_code)}: {body.get('message', answer.reason_phrase)}"
            if answer.status_code in (404, 405) and not str(body.get("type", "")).startswith("NoSuch"):
                raise NoRoute(message, about="sync")
            if answer.status_code == 404:
                raise NotFound(message, about="sync")
            raise HeadgateError(message, about="sync")
        return body

    def listed(self, field: str, *parts: str, **query: str) -> list[Any]:
        """A whole list, page by page where the server pages."""
        found: list[Any] = []
        token: str | None = None
        while True:
            body = self("GET", *parts, query=query | ({"pageToken": token} if token else {}))
            found += body.get(field) or []
            token = body.get("nextPageToken")
            if not token:
                return found


def segment(text: str) -> str:
    return quote(text, safe="")
