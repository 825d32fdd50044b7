"""What every stand-in for a REST service has in common: routes, a bearer token, refusals, and being too busy now and then."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httpx

TOKEN = "a-token-of-the-tests"


class Refusal(Exception):
    """An error answer."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message


def on(method: str, pattern: str) -> Callable[[Any], Any]:
    """Marks what answers a method on a path; {} stands for one segment."""

    def mark(handler: Any) -> Any:
        regex = re.compile("^" + pattern.replace("{}", "([^/]+)") + "$")
        handler.routes = [*getattr(handler, "routes", []), (method, regex)]
        return handler

    return mark


class StandIn:
    """A service behind a client. Subclasses say how their errors look."""

    def __init__(self) -> None:
        self.busy: list[dict[str, str]] = []
        """Headers of the refusals to come, one per request."""
        self.asked: list[tuple[str, str]] = []
        self.request = httpx.Request("GET", "http://service")
        """The request that is being answered."""
        self.table = [
            (method, regex, getattr(self, name))
            for name in dir(type(self))
            for method, regex in getattr(getattr(type(self), name), "routes", [])
        ]

    def client(self, token: str = TOKEN) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(
            transport=httpx.MockTransport(self.answer), base_url="http://service", headers=headers
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode().partition("?")[0]
        self.asked.append((request.method, path))
        self.request = request
        try:
            if self.busy:
                return self.refused(Refusal(429, "TooManyRequests", "slow down"), self.busy.pop(0))
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                raise Refusal(401, "NotAuthorizedException", "who are you?")
            return self._routed(request, path)
        except Refusal as refusal:
            return self.refused(refusal, {})

    def _routed(self, request: httpx.Request, path: str) -> httpx.Response:
        known = False
        for method, regex, handler in self.table:
            match = regex.match(path)
            known |= match is not None
            if match and method == request.method:
                parts = [unquote(part) for part in match.groups()]
                try:
                    body = json.loads(request.content) if request.content else None
                except ValueError:
                    raise Refusal(400, "BadRequest", "the body is no JSON") from None
                answer = handler(*parts, body=body, query=dict(request.url.params))
                status, content = answer if isinstance(answer, tuple) else (200, answer)
                return httpx.Response(status, json=content) if content is not None else httpx.Response(status)
        raise Refusal(405 if known else 404, "NoSuchRoute", f"{request.method} {path}")

    def refused(self, refusal: Refusal, headers: dict[str, str]) -> httpx.Response:
        raise NotImplementedError


def required(body: Any, *fields: str) -> Any:
    """A part of a body that must be there."""
    for field in fields:
        if not isinstance(body, dict) or body.get(field) in (None, ""):
            raise Refusal(400, "ValidationException", f"{field} must not be null")
        body = body[field]
    return body


def page(found: list[Any], size: int, token: str | None) -> tuple[list[Any], str | None]:
    """One page of a list, and the token of the next."""
    start = int(token or 0)
    more = str(start + size) if start + size < len(found) else None
    return found[start : start + size], more
