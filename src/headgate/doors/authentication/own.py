"""Headgate's own tokens, `hg_<id>_<secret>`: looked up in the store for every request, so a revoked one is dead at once."""

from headgate.doors.authentication.schemes import Proven
from headgate.steward.access.tokens import PREFIX, Tokens


class OwnTokenScheme:
    """Bearer tokens that Headgate gave out."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven | None:
        if scheme != "bearer" or not credentials.startswith(PREFIX):
            return None
        token = self._tokens.proven(credentials)
        return Proven(token.user, frozenset(token.groups), token.revision)
