"""The public keys of a trusted issuer, fetched from where the configuration says and kept for a while."""

import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import httpx
import jwt
import msgspec
import structlog

from headgate.doors.authentication.simple import is_loopback
from headgate.model.errors import Unauthenticated, Unavailable
from headgate.settings.file import Oidc

FRESH: Final = 600.0
"""Seconds after which keys are fetched anew, so that one the issuer withdrew is forgotten."""
STALE: Final = 3600.0
"""Seconds that keys are still believed while the issuer does not answer."""
PAUSE: Final = 10.0
"""Seconds between two fetches at the least: a flood of unknown key ids is no flood at the issuer."""
MAX_ANSWER: Final = 1024 * 1024

log = structlog.get_logger("headgate.authentication")

Fetch = Callable[[str], Any]


class IssuerKey(NamedTuple):
    """A public key, and the one algorithm it is for if the issuer says so."""

    public: Any
    algorithm: str | None


class IssuerKeys:
    """The keys of one issuer by key id."""

    def __init__(
        self, issuer: Oidc, fetch: Fetch | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._fetch = fetch or fetch_json
        self._clock = clock
        self._keys: dict[str | None, IssuerKey] = {}
        self._fetched = self._tried = float("-inf")
        self._fetching = threading.Lock()

    def key(self, id: str | None) -> IssuerKey:
        """The key of that id; a token without one is accepted only from an issuer with a single key."""
        if self._clock() - self._fetched > FRESH or self._find(id) is None:
            self._refresh()
        found = self._find(id)
        if found is None:
            raise Unauthenticated("the token is signed with a key that its issuer does not have")
        return found

    def _find(self, id: str | None) -> IssuerKey | None:
        if id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(id)

    def _refresh(self) -> None:
        with self._fetching:
            now = self._clock()
            if now - self._tried >= PAUSE:
                self._tried = now
                try:
                    self._keys = self.load()
                    self._fetched = now
                except (httpx.HTTPError, ValueError, jwt.PyJWTError) as error:
                    log.warning(
                        "issuer keys not fetched", issuer=self._issuer.issuer, reason=str(error)[:200]
                    )
            if now - self._fetched > STALE:
                raise Unavailable(
                    f"the keys of issuer {self._issuer.issuer} cannot be fetched", hint="retry later"
                )

    def load(self) -> dict[str | None, IssuerKey]:
        """Fetch the keys that the issuer publishes now."""
        url = self._issuer.jwks_url or self._discovered()
        listed = self._fetch(_checked(url))
        if not isinstance(listed, dict) or not isinstance(listed.get("keys"), list):
            raise ValueError("the answer is not a set of keys")
        found: dict[str | None, IssuerKey] = {}
        for item in listed["keys"]:
            # Keys of other kinds may stand beside ours; a secret key has no place in a published set.
            if not isinstance(item, dict) or item.get("kty") == "oct" or item.get("use", "sig") != "sig":
                continue
            try:
                found[item.get("kid")] = IssuerKey(jwt.PyJWK(item).key, item.get("alg"))
            except jwt.PyJWTError:
                continue
        return found

    def _discovered(self) -> str:
        address = self._issuer.issuer.rstrip("/") + "/.well-known/openid-configuration"
        document = self._fetch(_checked(address))
        if not isinstance(document, dict) or document.get("issuer") != self._issuer.issuer:
            raise ValueError("the discovery document is of another issuer")
        if not isinstance(document.get("jwks_uri"), str):
            raise ValueError("the discovery document names no keys")
        return str(document["jwks_uri"])


def fetch_json(url: str) -> Any:
    """A JSON document of limited size; redirects are not followed, they would leave what was configured."""
    with (
        httpx.Client(timeout=5, follow_redirects=False) as client,
        client.stream("GET", url, headers={"Accept": "application/json"}) as answer,
    ):
        answer.raise_for_status()
        body = b""
        for part in answer.iter_bytes():
            body += part
            if len(body) > MAX_ANSWER:
                raise ValueError("the answer is too large")
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        raise ValueError("the answer is not JSON") from None


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return url
    raise ValueError("keys are fetched over https only")
