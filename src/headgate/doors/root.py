"""What stands outside the protocols: health, metrics, the public configuration, and a client's goodbye."""

from typing import Any

from headgate.decide import Op
from headgate.doors.gravitino import errors, info
from headgate.doors.observe import Metrics
from headgate.doors.routing import Answer, DoorCall, Open, Route, Routes
from headgate.model.errors import HeadgateError
from headgate.model.objects import ObjectRef
from headgate.settings.server import Settings
from headgate.steward.access.tokens import SERVER


class RootDoor:
    """The paths directly under ``/``."""

    name = "root"
    prefix = ""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.routes: list[Route] = _routes(settings, metrics).routes

    def admit(self, headers: dict[str, str], route: Route | None) -> None:
        """Everything is let in: nothing here depends on a protocol's version."""

    def error(self, error: HeadgateError) -> Answer:
        return errors.error(error)

    def no_route(self, path: str, methods: list[str]) -> Answer:
        return errors.no_route(methods)


def _routes(settings: Settings, metrics: Metrics) -> Routes:
    routes = Routes()
    routes.on("GET", "/health/live", Open.ANYONE)(info.live)
    routes.on("GET", "/health/ready", Open.ANYONE)(info.ready)
    routes.on("GET", "/health", Open.ANYONE)(info.healthy)

    @routes.on("GET", "/metrics", Op.READ_METRICS, _server)
    def read_metrics(call: DoorCall) -> Any:
        """The server's metrics, for Prometheus."""
        pending = call.steward.care.pending(call.permit)
        metrics.backlog(pending.copies, pending.oldest)
        return Answer(metrics.text(), media="text/plain; version=0.0.4; charset=utf-8")

    @routes.on("GET", "/configs", Open.ANYONE)
    def configs(call: DoorCall) -> Any:
        """How one may authenticate here."""
        return public(settings)

    @routes.on("CLOSE", "/", Open.ANYONE)
    def close(call: DoorCall) -> Any:
        """A Gravitino client says goodbye; there is nothing to close."""
        return {"code": 0}

    return routes


def _server(call: DoorCall) -> ObjectRef:
    return SERVER


def public(settings: Settings) -> dict[str, Any]:
    """The settings that anyone may know: which proofs are accepted and where to get one. Names nobody."""
    configuration: dict[str, Any] = {
        "gravitino.authenticators": [
            *(["oauth"] if settings.oidc else []),
            *(["simple"] if settings.dev else []),
        ],
        "gravitino.authorization.enable": True,
    }
    if settings.oidc:
        first = settings.oidc[0]
        oauth = {
            "provider": "oidc",
            "authority": first.issuer,
            "serverUri": first.issuer,
            "clientId": first.client_id,
            "scope": first.scope,
            "tokenPath": first.token_path,
        }
        configuration |= {
            f"gravitino.authenticator.oauth.{key}": value for key, value in oauth.items() if value
        }
    return configuration
