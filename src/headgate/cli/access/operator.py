"""The operator: whoever can open the store itself. They could write any row of it, so they may make tokens."""

from typing import Any, Final

import msgspec

from headgate.cli.failure import Failure
from headgate.decide import Op
from headgate.model.errors import HeadgateError
from headgate.model.principals import Identity
from headgate.model.records import TokenRecord
from headgate.settings.server import load
from headgate.steward import Steward
from headgate.steward.access.tokens import SERVER
from headgate.store import Store

OPERATOR: Final = "operator"
"""The name under which the audit keeps what was done on the store itself."""


class Operator:
    """Tokens without a server."""

    def __init__(self, home: str | None, store: str | None) -> None:
        opened = Store(load({"home": home, "store": store}).store.hidden)
        try:
            opened.check()
        except HeadgateError as error:
            raise Failure(
                str(error), "name the server's --home or --store, or set HEADGATE_TOKEN to ask the server"
            ) from None
        steward = Steward(opened, service_admins=frozenset({OPERATOR}))
        self._tokens = steward.tokens
        self._permit = steward.kernel.permit(Identity(OPERATOR), Op.MANAGE_TOKENS, SERVER)

    def create(
        self, user: str, groups: list[str], expires: str | None, comment: str | None
    ) -> tuple[dict[str, Any], str]:
        issued = self._tokens.create(self._permit, user, tuple(groups), expires, comment)
        return _shown(issued.record), issued.text

    def every(self) -> list[dict[str, Any]]:
        return [_shown(record) for record in self._tokens.list(self._permit)]

    def revoke(self, id: str) -> None:
        self._tokens.revoke(self._permit, id)


_WORDS: Final = {"created_at": "createTime", "expires_at": "expireTime", "revoked_at": "revokeTime"}


def _shown(record: TokenRecord) -> dict[str, Any]:
    fields = msgspec.to_builtins(record)
    fields["groups"] = list(record.groups)
    return {
        _WORDS.get(key, key): value for key, value in fields.items() if value is not None and key != "digest"
    }
