"""A client of somebody else's Iceberg REST catalog: discovery, its token, and its errors in the words of the house."""

import time
from typing import Any, Final
from urllib.parse import quote, unquote

import httpx
import orjson

from headgate.catalogs.interface import Namespace
from headgate.catalogs.openings import RAISE_LARGEST, Openings
from headgate.catalogs.outside.line import Line, NoAnswer
from headgate.catalogs.rest_signing import NotSigned, RequestSigner
from headgate.model import errors as e
from headgate.model.objects import ObjectType, clip

Json = dict[str, Any]

_SEPARATOR: Final = "%1F"
"""Joins the levels of a namespace in a path, unless the catalog says otherwise."""
_TIMEOUT: Final = httpx.Timeout(30, connect=5)
_LONGEST: Final = 60.0
"""Seconds that an answer may take from its first byte to its last."""
_SILENT: Final = "the catalog does not answer"
_NEVER_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    NotSigned,
)


class _LostAnswer(NoAnswer, e.OutcomeUnknown):
    """A change was sent to a system that fell silent."""


class RestClient:
    """Speaks to one catalog. Its secrets stay in here: neither errors nor reprs tell them."""

    def __init__(self, properties: dict[str, str], openings: Openings) -> None:
        uri = properties.get("uri", "").rstrip("/")
        if not uri.lower().startswith(("http://", "https://")):
            raise e.IllegalArgument(
                "the catalog has no 'uri'",
                hint="set it to http(s)://host/…, with credentials in 'token' or 'credential'",
            )
        self._openings = openings
        self._uri = uri
        self._warehouse = properties.get("warehouse", "")
        self._token = properties.get("token")
        self._credential = properties.get("credential")
        self._token_uri = properties.get("oauth2-server-uri") or f"{uri}/v1/oauth/tokens"
        openings.check_url("property 'uri'", uri)
        openings.check_url("property 'oauth2-server-uri'", self._token_uri)
        self._scope = properties.get("scope", "catalog")
        # Redirects are not followed: what answers is what was declared.
        self._http = httpx.Client(
            timeout=_TIMEOUT, follow_redirects=False, auth=RequestSigner.of(properties, openings)
        )
        self._prefix: str | None = None
        self._endpoints: frozenset[str] | None = None
        self._separator = _SEPARATOR
        self.line = Line("catalog", "")
        """INVARIANT: whatever asks the server, or waits for somebody who does, stands in this line, once."""

    def __repr__(self) -> str:
        return f"RestClient({self._uri!r})"

    def close(self) -> None:
        self._http.close()

    def namespace(self, levels: Namespace) -> str:
        """A namespace as one segment of a path."""
        self._started()
        return self._separator.join(segment(level) for level in levels)

    def parent(self, levels: Namespace) -> str:
        """A namespace as a query parameter."""
        self._started()
        return unquote(self._separator).join(levels)

    def offers(self, endpoint: str) -> bool:
        """Whether the catalog can do this; one that does not list what it can do has all that the protocol began with."""
        self._started()
        return self._endpoints is None or endpoint in self._endpoints

    def ask(self, method: str, path: str, about: ObjectType, body: Any = None, **query: str) -> Any:
        """The answer to a request below the catalog's prefix; None where there is no body."""
        return _parse_answer(self._answer(method, path, body, query), about, changes=method != "GET")

    def register(self, path: str, about: ObjectType, body: Any) -> Any:
        """The answer to a request that names a file. What the other server says against it is not passed on: it may quote
        the file."""
        return _parse_answer(self._answer("POST", path, body, {}), about, quoted=False, changes=True)

    def _answer(self, method: str, path: str, body: Any, query: dict[str, str]) -> httpx.Response:
        with self.line.ask():
            answer = self._send(method, f"{self._start()}{path}", body, query)
            if answer.status_code == 401 and self._credential:
                self._token = self._fetch_token()
                answer = self._send(method, f"{self._start()}{path}", body, query)
            return answer

    def check(self) -> None:
        """Make sure that the catalog answers."""
        self._prefix = None
        self._started()

    def _started(self) -> None:
        """Make sure that the catalog has said where requests go."""
        if self._prefix is None:
            with self.line.ask():
                self._start()

    def _start(self) -> str:
        """Where requests go: the first one asks the catalog for its prefix. Several that are the first all ask, rather than
        wait for one that may get no answer."""
        known = self._prefix
        if known is not None:
            return known
        if self._token is None and self._credential:
            self._token = self._fetch_token()
        query = {"warehouse": self._warehouse} if self._warehouse else {}
        config = _parse_answer(self._send("GET", f"{self._uri}/v1/config", None, query), ObjectType.CATALOG)
        if not isinstance(config, dict) or not all(
            isinstance(config.get(key) or {}, dict) for key in ("defaults", "overrides")
        ):
            raise e.ConnectionFailed("the catalog's answer is no configuration")
        settings = {**(config.get("defaults") or {}), **(config.get("overrides") or {})}
        prefix = str(settings.get("prefix") or "").strip("/")
        listed = config.get("endpoints")
        self._endpoints = frozenset(map(str, listed)) if isinstance(listed, list) else None
        self._separator = str(settings.get("namespace-separator") or _SEPARATOR)
        known = self._prefix = f"{self._uri}/v1/{prefix}" if prefix else f"{self._uri}/v1"
        return known

    def _fetch_token(self) -> str:
        id, _, secret = (self._credential or "").partition(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": id,
            "client_secret": secret,
            "scope": self._scope,
        }
        try:
            answer = self._read("POST", self._token_uri, data=form)
            token = _json(answer)["access_token"] if answer.status_code == 200 else None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
            raise _unreachable(error) from None
        if not isinstance(token, str):
            raise e.ConnectionFailed(
                "the catalog gives no token for the credential that it was declared with"
            )
        return token

    def _send(self, method: str, url: str, body: Any, query: dict[str, str]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            return self._read(method, url, json=body, params=query or None, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, e.HeadgateError) as error:
            if method != "GET" and not isinstance(error, _NEVER_SENT):
                why = error.message if isinstance(error, e.HeadgateError) else _SILENT
                raise _unknown(why, error) from None
            if isinstance(error, e.HeadgateError):
                raise
            raise _unreachable(error) from None

    def _read(self, method: str, url: str, **sent: Any) -> httpx.Response:
        """The whole answer, as long as it is neither too large, once unpacked, nor too slow."""
        largest, ends = self._openings.largest_document, time.monotonic() + _LONGEST
        data = bytearray()
        with self._http.stream(method, url, **sent) as answer:
            for part in answer.iter_bytes():
                data += part
                if len(data) > largest:
                    size = largest // (1024 * 1024)
                    raise e.Damaged(f"the catalog's answer is larger than {size} MiB", hint=RAISE_LARGEST)
                if time.monotonic() > ends:
                    raise NoAnswer("the catalog's answer does not come to an end")
        return httpx.Response(answer.status_code, content=bytes(data))


def segment(name: str) -> str:
    return quote(name, safe="")


def _parse_answer(
    answer: httpx.Response, about: ObjectType, *, quoted: bool = True, changes: bool = False
) -> Any:
    if answer.is_success:
        if not answer.content:
            return None
        try:
            return _json(answer)
        except ValueError:
            why = "the catalog answered something else than JSON"
            raise (_unknown(why) if changes else e.ConnectionFailed(why)) from None
    try:
        error = _json(answer)["error"]
        message, kind = _plain(str(error["message"])), str(error.get("type"))
    except (ValueError, KeyError, TypeError, AttributeError):
        message, kind = "", ""
    if not quoted or not message:
        message = f"the catalog answered {answer.status_code}"
    match answer.status_code:
        case 404:
            missing = ObjectType.SCHEMA if "Namespace" in kind else about
            raise e.NotFound(message, about=missing)
        case 409 if "Commit" in kind:
            raise e.Conflict(message)
        case 409 if "NotEmpty" in kind:
            raise e.NotEmpty(message, about=about)
        case 409:
            raise e.AlreadyExists(message, about=about)
        case 401 | 403:
            # INVARIANT: nothing of what it says: its words name accounts, roles and tokens.
            raise e.ConnectionFailed("the catalog refuses the credentials that it was declared with")
        case 406 | 405 | 501:
            raise e.Unsupported(message, hint="the catalog behind this one cannot do that")
        case status if 400 <= status < 500:
            raise e.IllegalArgument(message)
        case status if changes and status != 503:
            raise _unknown(f"the catalog answered {status}")
        case _:
            raise e.ConnectionFailed("the catalog failed to answer", hint=f"status {answer.status_code}")


def _json(answer: httpx.Response) -> Any:
    """What an answer says; a ValueError if it is not JSON. Strictly: what is no text or no number could not be passed on."""
    return orjson.loads(answer.content)


def _plain(message: str) -> str:
    """One line of an error, without what it may quote: stack traces, documents and long texts."""
    first = message.strip().splitlines()[0] if message.strip() else ""
    return clip(first.partition("{")[0].strip(), 200)


def _unreachable(error: Exception) -> e.ConnectionFailed:
    silent = NoAnswer if isinstance(error, httpx.TransportError) else e.ConnectionFailed
    return silent(_SILENT, hint=type(error).__name__)


def _unknown(why: str, error: Exception | None = None) -> e.OutcomeUnknown:
    """The error of a change that may have been made: only the answer is not there."""
    unknown = _LostAnswer if isinstance(error, httpx.TransportError) else e.OutcomeUnknown
    return unknown(
        f"whether the change was made is not known: {why}", hint="load it again before you try again"
    )
