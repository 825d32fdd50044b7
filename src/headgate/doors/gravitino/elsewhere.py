"""What Gravitino's API has and a governance server does not do: it keeps no passwords, collects no lineage.

A path of its own for each says so, instead of leaving clients with a path that is not there.
"""

from typing import Any, Final

from headgate.doors.routing import DoorCall, Handler, Open, Routes
from headgate.model.errors import Unsupported

routes = Routes("/api")

_PEOPLE: Final = "people prove who they are to an OpenID provider or with tokens of this server: see docs/authentication.md"
_LINEAGE: Final = (
    "send OpenLineage events to a server that collects them; who read what is in 'headgate audit'"
)


def _refusal(what: str, hint: str, summary: str) -> Handler:
    def refuse(call: DoorCall) -> Any:
        raise Unsupported(what, hint=hint)

    refuse.__doc__ = summary
    return refuse


_NO_USERS: Final = _refusal("this server keeps no passwords", _PEOPLE, "Refused: no passwords are kept here.")
_NO_LINEAGE: Final = _refusal(
    "this server collects no lineage", _LINEAGE, "Refused: no lineage is kept here."
)

_PATHS: Final = (
    ("/idp/users", ("POST",), _NO_USERS),
    ("/idp/users/{user}", ("GET", "PUT", "DELETE"), _NO_USERS),
    ("/idp/groups", ("POST",), _NO_USERS),
    ("/idp/groups/{group}", ("GET", "DELETE"), _NO_USERS),
    ("/idp/groups/{group}/users", ("PUT",), _NO_USERS),
    ("/lineage", ("POST",), _NO_LINEAGE),
)

for _path, _methods, _refuse in _PATHS:
    for _method in _methods:
        routes.on(_method, _path, Open.AUTHENTICATED)(_refuse)
