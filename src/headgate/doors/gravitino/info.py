"""What the server says of itself: version, health, who is calling."""

from typing import Any

from headgate import __version__
from headgate.doors.gravitino import wire
from headgate.doors.routing import Answer, DoorCall, Open, Routes
from headgate.model.errors import Unavailable

routes = Routes("/api")

SPOKEN = "1.3.1"
"""The version of Gravitino whose API this door speaks; clients refuse a server that is older than themselves."""


@routes.on("GET", "/version", Open.AUTHENTICATED)
def version(call: DoorCall) -> Any:
    """The version of the API, and of Headgate."""
    return wire.ok(version={"version": SPOKEN, "compileDate": "", "gitCommit": "", "headgate": __version__})


@routes.on("GET", "/authn/me", Open.AUTHENTICATED)
def me(call: DoorCall) -> Any:
    """Who the caller is."""
    return wire.ok(principal=call.caller.user)


@routes.on("GET", "/health/live", Open.ANYONE)
def live(call: DoorCall) -> Any:
    """Whether the process answers."""
    return health(call, ready=False)


@routes.on("GET", "/health/ready", Open.ANYONE)
def ready(call: DoorCall) -> Any:
    """Whether the store answers, so that questions can be decided."""
    return health(call, ready=True)


@routes.on("GET", "/health", Open.ANYONE)
def healthy(call: DoorCall) -> Any:
    """As ready."""
    return health(call, ready=True)


def health(call: DoorCall, *, ready: bool) -> Answer:
    checks: list[dict[str, Any]] = [{"name": "httpServer", "status": "up", "details": {}}]
    if ready:
        try:
            call.steward.kernel.authority()
            checks.append({"name": "entityStore", "status": "up", "details": {}})
        except Unavailable:
            checks.append({"name": "entityStore", "status": "down", "details": {}})
    up = all(check["status"] == "up" for check in checks)
    return Answer(wire.ok(status="up" if up else "down", checks=checks), 200 if up else 503)
