"""Bearer tokens of trusted issuers (OpenID Connect): signature, issuer, audience and time are all checked.

INVARIANT: nothing that a token says is ever used as an address. Its issuer only selects one of those configured, its
key id only one of the keys fetched from there; `jku`, `x5u` and `jwk` in its header mean nothing.
"""

from collections.abc import Iterable
from typing import Any, Final

import jwt

from headgate.doors.authentication.keys import IssuerKeys
from headgate.doors.authentication.schemes import Proven, checked_user
from headgate.model.errors import Unauthenticated
from headgate.settings.file import Oidc

MAX_TOKEN: Final = 16 * 1024
MAX_GROUPS: Final = 2000


class OidcScheme:
    """Bearer tokens of the issuers that are configured, and of no other."""

    def __init__(self, issuers: Iterable[Oidc], keys: dict[str, IssuerKeys] | None = None) -> None:
        self._issuers = {issuer.issuer: issuer for issuer in issuers}
        self._keys = keys or {name: IssuerKeys(issuer) for name, issuer in self._issuers.items()}

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven | None:
        if scheme != "bearer":
            return None
        if len(credentials) > MAX_TOKEN:
            raise Unauthenticated("the token is too long")
        try:
            return self._proven(credentials)
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("the token has expired", hint="get a new one") from None
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            # The kind of fault helps its owner; the text of it could quote the token.
            raise Unauthenticated(f"the token is not valid ({type(error).__name__})") from None

    def _proven(self, token: str) -> Proven:
        header = jwt.get_unverified_header(token)
        claimed = jwt.decode(token, options={"verify_signature": False})
        issuer = self._issuers.get(str(claimed.get("iss")))
        if issuer is None:
            raise Unauthenticated("the token's issuer is not trusted here")
        algorithm = header.get("alg")
        if algorithm not in issuer.algorithms:
            raise Unauthenticated("the token's signature algorithm is not accepted")
        key = self._keys[issuer.issuer].key(header.get("kid"))
        if key.algorithm not in (None, algorithm):
            raise Unauthenticated("the token's signature algorithm is not that of its key")
        claims = jwt.decode(
            token,
            key.public,
            algorithms=[algorithm],
            audience=issuer.audience,
            issuer=issuer.issuer,
            leeway=issuer.leeway,
            options={"require": ["exp", "aud", "iss"]},
        )
        return Proven(_name(claims, issuer), _groups(claims, issuer))


def _name(claims: dict[str, Any], issuer: Oidc) -> str:
    for claim in issuer.name_claims:
        value = claims.get(claim)
        if value is not None:
            if not isinstance(value, str):
                raise Unauthenticated(f"the token's claim '{claim}' is not a name")
            return checked_user(value)
    raise Unauthenticated("the token names no user", hint=f"it needs one of {', '.join(issuer.name_claims)}")


def _groups(claims: dict[str, Any], issuer: Oidc) -> frozenset[str] | None:
    """The groups that a token claims; None if it does not say, although its issuer is not declared to have none."""
    if isinstance(issuer.groups_claim, bool):
        return frozenset()
    # Some issuers leave the groups out when they are many. A deny may come by a group, so none is not a safe guess.
    elsewhere = claims.get("_claim_names")
    if claims.get("hasgroups") or (isinstance(elsewhere, dict) and issuer.groups_claim in elsewhere):
        raise Unauthenticated(
            "the token leaves out its groups because they are too many",
            hint="let the issuer send only the groups of this application",
        )
    value = claims.get(issuer.groups_claim)
    if value is None:
        return None
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(group, str) for group in listed):
        raise Unauthenticated(f"the token's claim '{issuer.groups_claim}' is not a list of names")
    if len(listed) > MAX_GROUPS:
        raise Unauthenticated("the token has too many groups")
    return frozenset(checked_user(group) for group in listed)
