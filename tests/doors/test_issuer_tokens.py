"""Tokens of trusted issuers, against a real local issuer: what is forged, stale or meant for others proves nothing."""

import base64
import functools
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from headgate.doors.authentication import Authentication, Proven
from headgate.doors.authentication.keys import FRESH, PAUSE, STALE, IssuerKeys
from headgate.doors.authentication.oidc import OidcScheme
from headgate.model.errors import Unauthenticated, Unavailable
from headgate.settings.file import Oidc


@functools.cache
def _rsa(owner: str, kid: str) -> rsa.RSAPrivateKey:
    """A key pair; made once in a run, since making one takes long."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Issuer:
    """A little OpenID Connect issuer on this machine."""

    def __init__(self, name: str = "ours") -> None:
        self.name = name
        self.keys: dict[str, Any] = {}
        self.fetched: list[str] = []
        self.fails = False
        self.says: dict[str, str] = {}
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetched.append(self.path)
                told = {
                    "/.well-known/openid-configuration": {
                        "issuer": issuer.url,
                        "jwks_uri": issuer.url + "/keys",
                    },
                    "/keys": {
                        "keys": [{**_public(kid, key), **issuer.says} for kid, key in issuer.keys.items()]
                    },
                }.get(self.path)
                self.send_response(500 if issuer.fails else 200 if told else 404)
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def rsa(self, kid: str) -> rsa.RSAPrivateKey:
        self.keys[kid] = key = _rsa(self.name, kid)
        return key

    def claims(self, **changed: Any) -> dict[str, Any]:
        claims = {
            "iss": self.url,
            "aud": "headgate",
            "sub": "ann",
            "groups": ["analysts"],
            "exp": int(time.time()) + 300,
        }
        claims |= changed
        return {key: value for key, value in claims.items() if value is not None}


def _public(kid: str, key: Any) -> dict[str, Any]:
    algorithm: Any = jwt.algorithms.RSAAlgorithm
    if isinstance(key, ec.EllipticCurvePrivateKey):
        algorithm = jwt.algorithms.ECAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig"}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.close()


def scheme(issuer: Issuer, **more: Any) -> OidcScheme:
    return OidcScheme([Oidc(issuer=issuer.url, audience="headgate", **more)])


def signed(issuer: Issuer, key: Any, kid: str | None = "one", alg: str = "RS256", **claims: Any) -> str:
    return jwt.encode(issuer.claims(**claims), key, algorithm=alg, headers={"kid": kid} if kid else {})


def test_a_good_token_proves_user_and_groups(issuer: Issuer) -> None:
    key = issuer.rsa("one")
    assert scheme(issuer).identify("bearer", signed(issuer, key), None) == Proven(
        "ann", frozenset({"analysts"})
    )
    elliptic = issuer.keys["two"] = ec.generate_private_key(ec.SECP256R1())
    token = signed(issuer, elliptic, "two", "ES256", preferred_username="bea", groups=[])
    assert scheme(issuer).identify("bearer", token, None) == Proven("bea", frozenset())


def test_groups_that_a_token_does_not_tell_are_unknown_and_not_none(issuer: Issuer) -> None:
    key = issuer.rsa("one")
    silent = signed(issuer, key, groups=None)
    assert scheme(issuer).identify("bearer", silent, None) == Proven("ann", None)
    assert scheme(issuer, groups_claim="roles").identify("bearer", signed(issuer, key), None) == Proven(
        "ann", None
    )
    bearer = {"authorization": f"Bearer {silent}"}
    assert not Authentication([scheme(issuer)]).identify(bearer, None).groups_known
    told = {"authorization": f"Bearer {signed(issuer, key, groups=[])}"}
    assert Authentication([scheme(issuer)]).identify(told, None).groups_known


def test_an_issuer_may_be_declared_to_carry_no_groups(issuer: Issuer) -> None:
    key = issuer.rsa("one")
    for claims in ({"groups": None}, {"groups": ["analysts"]}):
        token = signed(issuer, key, **claims)
        assert scheme(issuer, groups_claim=False).identify("bearer", token, None) == Proven(
            "ann", frozenset()
        )
    for wrong in (True, ""):
        with pytest.raises(ValueError, match="groups-claim"):
            Oidc(issuer=issuer.url, audience="headgate", groups_claim=wrong)


def test_claims_and_key_address_are_configurable(issuer: Issuer) -> None:
    key = issuer.rsa("one")
    told = scheme(issuer, jwks_url=issuer.url + "/keys", name_claims=("email",), groups_claim="roles")
    token = signed(issuer, key, email="ann@example.com", roles=["a", "b"])
    assert told.identify("bearer", token, None) == Proven("ann@example.com", frozenset({"a", "b"}))
    assert issuer.fetched == ["/keys"]


BAD_CLAIMS: dict[str, dict[str, Any]] = {
    "of another issuer": {"iss": "https://evil.example"},
    "of no issuer": {"iss": None},
    "for another audience": {"aud": "billing"},
    "for no audience": {"aud": None},
    "that never expires": {"exp": None},
    "that has expired": {"exp": 1_000_000_000},
    "that is not valid yet": {"nbf": 4_000_000_000},
    "without a name": {"sub": None},
    "with a name that is a number": {"sub": "x", "preferred_username": 7},
    "with an unreadable name": {"preferred_username": "ann\u0000"},
    "with an empty name": {"preferred_username": ""},
    "with groups of the wrong shape": {"groups": {"a": 1}},
    "with groups left out because they are many": {"groups": None, "_claim_names": {"groups": "src1"}},
}


@pytest.mark.slow
@pytest.mark.parametrize("claims", BAD_CLAIMS.values(), ids=BAD_CLAIMS.keys())
def test_a_token_proves_nothing(issuer: Issuer, claims: dict[str, Any]) -> None:
    key = issuer.rsa("one")
    with pytest.raises(Unauthenticated):
        scheme(issuer).identify("bearer", signed(issuer, key, **claims), None)


def test_the_issuer_of_a_token_is_never_asked_unless_configured(issuer: Issuer) -> None:
    evil = Issuer("evil")
    try:
        key = evil.rsa("one")
        issuer.rsa("one")
        token = jwt.encode(
            evil.claims(),
            key,
            algorithm="RS256",
            headers={"kid": "one", "jku": evil.url + "/keys", "x5u": evil.url, "jwk": _public("one", key)},
        )
        with pytest.raises(Unauthenticated):
            scheme(issuer).identify("bearer", token, None)
        as_ours = jwt.encode(
            issuer.claims(),
            key,
            algorithm="RS256",
            headers={"kid": "one", "jku": evil.url + "/keys", "jwk": _public("one", key)},
        )
        with pytest.raises(Unauthenticated):
            scheme(issuer).identify("bearer", as_ours, None)
        assert evil.fetched == []
    finally:
        evil.close()


def test_unsigned_and_shared_secret_tokens_are_refused(issuer: Issuer) -> None:
    key = issuer.rsa("one")
    known = scheme(issuer)
    unsigned = jwt.encode(issuer.claims(), None, algorithm="none", headers={"kid": "one"})
    pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with_public_key = _hs256({"alg": "HS256", "kid": "one"}, issuer.claims(), pem)
    stripped = signed(issuer, key).rpartition(".")[0] + "."
    for token in (unsigned, with_public_key, stripped, "a.b.c", "eyJ", "é" * 100, "x" * 20_000):
        with pytest.raises(Unauthenticated):
            known.identify("bearer", token, None)
    with pytest.raises(ValueError, match="algorithms"):
        Oidc(issuer=issuer.url, audience="headgate", algorithms=("HS256",))
    with pytest.raises(ValueError, match="algorithms"):
        Oidc(issuer=issuer.url, audience="headgate", algorithms=("none",))


def test_a_key_is_used_for_no_other_algorithm_than_its_own(issuer: Issuer) -> None:
    key = issuer.rsa("one")
    token = signed(issuer, key, alg="PS256")
    assert scheme(issuer).identify("bearer", token, None)
    issuer.says = {"alg": "RS256"}
    assert scheme(issuer).identify("bearer", signed(issuer, key), None)
    for says in ({"alg": "RS256"}, {"use": "enc"}):
        issuer.says = says
        with pytest.raises(Unauthenticated):
            scheme(issuer).identify("bearer", token, None)


def _hs256(header: dict[str, Any], claims: dict[str, Any], secret: bytes) -> str:
    def part(value: bytes) -> bytes:
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    body = part(json.dumps(header).encode()) + b"." + part(json.dumps(claims).encode())
    return (body + b"." + part(hmac.new(secret, body, hashlib.sha256).digest())).decode()


@pytest.mark.parametrize(
    "kid", ["../../etc/passwd", "' OR 1=1 --", "two", "http://evil.example/keys", "\u0000", ""]
)
def test_a_key_id_only_selects_among_known_keys(issuer: Issuer, kid: str) -> None:
    issuer.rsa("one")
    stranger = _rsa("nobody", "stranger")
    with pytest.raises(Unauthenticated):
        scheme(issuer).identify("bearer", signed(issuer, stranger, kid), None)
    assert set(issuer.fetched) <= {"/.well-known/openid-configuration", "/keys"}


def test_a_token_without_key_id_is_accepted_only_from_an_issuer_with_one_key(issuer: Issuer) -> None:
    key = issuer.rsa("one")
    assert scheme(issuer).identify("bearer", signed(issuer, key, None), None)
    issuer.rsa("two")
    with pytest.raises(Unauthenticated):
        scheme(issuer).identify("bearer", signed(issuer, key, None), None)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_flood_of_unknown_keys_is_no_flood_at_the_issuer(issuer: Issuer) -> None:
    issuer.rsa("one")
    clock = Clock()
    keys = IssuerKeys(Oidc(issuer=issuer.url, audience="a", jwks_url=issuer.url + "/keys"), clock=clock)
    for number in range(200):
        with pytest.raises(Unauthenticated):
            keys.key(f"unknown-{number}")
    assert len(issuer.fetched) == 1
    issuer.rsa("rotated")
    clock.now += PAUSE
    assert keys.key("rotated")
    assert len(issuer.fetched) == 2


def test_a_withdrawn_key_is_forgotten_and_a_silent_issuer_is_believed_only_for_a_while(
    issuer: Issuer,
) -> None:
    issuer.rsa("one")
    issuer.rsa("two")
    clock = Clock()
    keys = IssuerKeys(Oidc(issuer=issuer.url, audience="a"), clock=clock)
    assert keys.key("one")
    del issuer.keys["one"]
    clock.now += FRESH + 1
    with pytest.raises(Unauthenticated):
        keys.key("one")
    issuer.fails = True
    clock.now += FRESH + 1
    assert keys.key("two")
    clock.now += STALE
    with pytest.raises(Unavailable):
        keys.key("two")
    issuer.fails = False
    clock.now += PAUSE
    assert keys.key("two")


def test_keys_come_over_https_or_from_this_machine_and_from_the_right_issuer() -> None:
    asked: list[str] = []

    def fetch(url: str) -> Any:
        asked.append(url)
        return {"issuer": "https://other.example", "jwks_uri": "https://id.example/keys"}

    for issuer in ("http://id.example", "file:///etc/passwd", "https://id.example"):
        with pytest.raises(Unavailable):
            IssuerKeys(Oidc(issuer=issuer, audience="a"), fetch).key("one")
    assert asked == ["https://id.example/.well-known/openid-configuration"]
