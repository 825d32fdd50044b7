"""The paths outside the protocols: open are only health, the public configuration and a goodbye."""

from headgate.decide import Op
from headgate.doors.observe import Metrics
from headgate.doors.root import RootDoor, public
from headgate.doors.routing import Open
from headgate.model.secrets import Secret
from headgate.settings.file import Oidc
from headgate.settings.server import Settings

SETTINGS = Settings(
    home="/home",
    store=Secret("postgresql://u:hush@db/x"),
    warehouse="/warehouse",
    service_admins=frozenset({"boss"}),
    oidc=(Oidc(issuer="https://id.example", audience="hush-audience", client_id="ui", scope="openid"),),
)


def test_what_is_open_to_anyone_is_exactly_this() -> None:
    routes = RootDoor(SETTINGS, Metrics()).routes
    assert {(route.method, route.path) for route in routes if route.requires is Open.ANYONE} == {
        ("GET", "/health"),
        ("GET", "/health/live"),
        ("GET", "/health/ready"),
        ("GET", "/configs"),
        ("CLOSE", "/"),
    }
    assert {route.path: route.requires for route in routes}["/metrics"] is Op.READ_METRICS


def test_the_public_configuration_names_nobody_and_holds_no_secret() -> None:
    told = public(SETTINGS)
    assert told == {
        "gravitino.authenticators": ["oauth"],
        "gravitino.authorization.enable": True,
        "gravitino.authenticator.oauth.provider": "oidc",
        "gravitino.authenticator.oauth.authority": "https://id.example",
        "gravitino.authenticator.oauth.serverUri": "https://id.example",
        "gravitino.authenticator.oauth.clientId": "ui",
        "gravitino.authenticator.oauth.scope": "openid",
    }
    assert not any(word in str(told) for word in ("boss", "hush", "/home"))


def test_metrics_name_routes_and_neither_people_nor_odd_methods() -> None:
    metrics = Metrics()
    metrics.seen("gravitino", "/api/metalakes/{metalake}", "GET", 200, 0)
    metrics.seen("gravitino", "none", "X" * 10_000, 405, 0)
    text = metrics.text().decode()
    assert 'route="/api/metalakes/{metalake}"' in text
    assert 'method="other"' in text
    assert "XXX" not in text
