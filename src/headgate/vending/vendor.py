"""Gives out credentials and signatures for the storage of one catalog."""

import datetime as dt
import hashlib
import logging
import re
import threading
import time
from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from headgate.catalogs.aws_sessions import ELSEWHERE, aws_session
from headgate.catalogs.openings import Openings
from headgate.catalogs.storage_settings import StorageSettings
from headgate.model.errors import ConnectionFailed
from headgate.model.extras import Extra, needs
from headgate.vending.checks import check, payload, signed_headers
from headgate.vending.credentials import StorageCredential, key_print, prefixes
from headgate.vending.errors import NoVending, TooManyFiles
from headgate.vending.policy import policy
from headgate.vending.requests import Signed, SignRequest, refused, target
from headgate.vending.scope import LocationAccess, Scope

if TYPE_CHECKING:
    import boto3
    from botocore.credentials import Credentials

# AWS's libraries are loaded by whoever needs them first: they would be a tenth of an idle server's memory.

_MOST_SESSIONS: Final = 2_000
_MOST_VENDORS: Final = 200
_UNSAFE: Final = re.compile(r"[^\w+=,.@-]", re.ASCII)

# INVARIANT: no log tells a credential; at its most talkative botocore would write down what STS answers.
logging.getLogger("botocore").setLevel(logging.INFO)


class RoleSession(msgspec.Struct, frozen=True):
    """Credentials of an assumed role. Its repr tells none of them."""

    key_id: str
    secret_key: str
    token: str
    expires: dt.datetime

    def __repr__(self) -> str:
        return f"Session(expires={self.expires})"


class Vendor:
    """The storage of one catalog, as far as it can be given out.

    INVARIANT: a role is never assumed without a session policy, and a session is only ever used again for the same
    policy, the same name and the same use. Nothing outside the places that the operator opened is vended or signed.
    """

    def __init__(self, settings: StorageSettings, openings: Openings) -> None:
        self.settings = settings
        self.openings = openings
        self._sessions: dict[tuple[str, str, str], tuple[RoleSession, float]] = {}
        self._lock = threading.Lock()

    @property
    def vends(self) -> bool:
        """Whether credentials can be scoped here: only by assuming a role."""
        return self.settings.role is not None

    @property
    def signs(self) -> bool:
        """Whether requests are signed here: where a role is assumed, or the catalog's owner asked for it."""
        return self.vends or self.settings.remote_signing

    def vend(self, scope: Scope, *, name: str) -> list[StorageCredential]:
        """Credentials that reach exactly the scope, for as long as the catalog says. `name` tells whose, for S3's own logs."""
        self._check(scope)
        session = self._session(scope, name)
        expires = int(session.expires.timestamp() * 1000)
        config = {
            **self.settings.address(),
            "s3.access-key-id": session.key_id,
            "s3.secret-access-key": session.secret_key,
            "s3.session-token": session.token,
            "s3.session-token-expires-at-ms": str(expires),
        }
        return [StorageCredential(prefix, config) for prefix in prefixes(scope)]

    def sign(
        self, request: SignRequest, reach: LocationAccess, *, session: Scope, name: str, use: str = ""
    ) -> Signed:
        """Sign one request, if everything it touches is in reach.

        What is signed is put together from what was checked, never from the client's text. Where a role can be assumed
        the signature is made with a session of the scope `session`, so that it can do no more even if a server
        should read the request otherwise; without one, only reads are signed. Sessions of another use have another key.
        """
        if not self.signs:
            raise NoVending(
                "this catalog signs no requests", hint="its owner sets s3-remote-signing or s3-role-arn"
            )
        asked = target(request.uri, self.settings)
        if request.provider.lower() != "s3" or request.region != self.settings.region:
            raise refused(request.uri, f"it is not for S3 in region {self.settings.region}")
        places = check(request, asked, reach)
        self._check(session)
        for place in places:
            self.openings.check(place)
        cacheable = request.method in ("GET", "HEAD")
        if not cacheable and not self.vends:
            raise refused(request.uri, "writes are signed only where the catalog has a role to assume")
        with needs(Extra.AWS):
            from botocore.awsrequest import AWSRequest

        headers = signed_headers(request)
        signing = AWSRequest(method=request.method, url=asked.uri, headers={**headers, "host": asked.host})
        signing.context["payload"] = payload(request, headers)
        keys = self._signing(session, name, use)
        _auth()(keys, "s3", self.settings.region).add_auth(signing)
        theirs = {"host", *(name.lower() for name in request.headers)}
        added = {name: [value] for name, value in signing.headers.items() if name.lower() not in theirs}
        used = key_print(keys.access_key) if self.vends else None
        return Signed(asked.uri, added, cacheable, places, used)

    def client_config(self) -> dict[str, str]:
        """How a client reaches the storage; holds no secret."""
        return self.settings.address()

    # -- inside -------------------------------------------------------------------------------------------------

    def _check(self, scope: Scope) -> None:
        for place in scope.places:
            self.openings.check(place)

    def _session(self, scope: Scope, name: str, use: str = "") -> RoleSession:
        if self.settings.role is None:
            raise NoVending(
                "this catalog gives out no credentials",
                hint="its owner sets s3-role-arn, a role that can be assumed",
            )
        key = policy(scope, self.settings.partition), session_name(name), use
        now = time.monotonic()
        with self._lock:
            known = self._sessions.get(key)
            if known is not None and now < known[1]:
                return known[0]
        session = self._assume(self.settings.role, *key[:2])
        with self._lock:
            if len(self._sessions) >= _MOST_SESSIONS:
                self._sessions = {k: kept for k, kept in self._sessions.items() if now < kept[1]}
            if len(self._sessions) >= _MOST_SESSIONS:
                self._sessions.clear()
            # Clients take new ones five minutes before the end, so what is used again has half its life ahead.
            self._sessions[key] = session, now + self.settings.lifetime / 2
        return session

    def _assume(self, role: str, text: str, name: str) -> RoleSession:
        with needs(Extra.AWS):
            from botocore.exceptions import BotoCoreError, ClientError

        extra = {"ExternalId": self.settings.external_id} if self.settings.external_id else {}
        try:
            answer: Any = self._sts.assume_role(
                RoleArn=role,
                RoleSessionName=name,
                Policy=text,
                DurationSeconds=self.settings.lifetime,
                **extra,
            )
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))[:60]
            if code == "PackedPolicyTooLarge":
                raise TooManyFiles(
                    "the files do not fit a session policy", hint="use remote signing"
                ) from None
            # INVARIANT: only the code is told: the words of STS name accounts, users and roles.
            raise ConnectionFailed(
                "no storage credentials could be had", hint=f"STS answers {code}"
            ) from None
        except BotoCoreError as error:
            raise ConnectionFailed(
                "no storage credentials could be had", hint=f"STS cannot be asked: {type(error).__name__}"
            ) from None
        given = answer["Credentials"]
        return RoleSession(
            given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], given["Expiration"]
        )

    def _signing(self, scope: Scope, name: str, use: str) -> "Credentials":
        with needs(Extra.AWS):
            from botocore.credentials import Credentials

        if self.vends:
            session = self._session(scope, name, use)
            return Credentials(session.key_id, session.secret_key, session.token)
        found = self._boto.get_credentials()
        if found is None:
            raise ConnectionFailed(
                "the server has no storage credentials to sign with", hint="set s3-access-key-id"
            )
        frozen = found.get_frozen_credentials()
        return Credentials(frozen.access_key or "", frozen.secret_key or "", frozen.token)

    @cached_property
    def _boto(self) -> "boto3.session.Session":
        known = self.settings
        return aws_session(known.region, known.key_id, known.secret_key, known.session_token)

    @cached_property
    def _sts(self) -> Any:
        with needs(Extra.AWS):
            from botocore.config import Config

        quick = Config(
            connect_timeout=5,
            read_timeout=10,
            retries={"total_max_attempts": 3, "mode": "standard"},
            **ELSEWHERE,
        )
        return self._boto.client("sts", endpoint_url=self.settings.sts_endpoint, config=quick)


class Vendors:
    """The vendors of all catalogs, each kept while its catalog's settings stay the same."""

    def __init__(self, openings: Openings) -> None:
        self._openings = openings
        self._known: dict[frozenset[tuple[str, str]], Vendor] = {}
        self._lock = threading.Lock()

    def of(self, properties: Mapping[str, str]) -> Vendor:
        # Every governed read asks: what the properties say is worked out once.
        key = frozenset(properties.items())
        with self._lock:
            known = self._known.get(key)
            if known is None:
                settings = StorageSettings.of(properties)
                if len(self._known) >= _MOST_VENDORS:
                    self._known.clear()
                self._openings.check_addresses(properties)
                known = self._known[key] = Vendor(settings, self._openings)
            return known


@cache
def _auth() -> Any:
    with needs(Extra.AWS):
        from botocore.auth import S3SigV4Auth

    class Auth(S3SigV4Auth):
        """Signs with the payload hash that was checked, for the payload itself is not here."""

        def payload(self, request: Any) -> str:
            return str(request.context["payload"])

    return Auth


def session_name(name: str) -> str:
    """A principal's name as STS takes it; one that had to be changed keeps apart from others by a hash."""
    plain = _UNSAFE.sub("-", name)
    if plain == name and 2 <= len(name) <= 64:
        return name
    return f"{plain[:50]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
