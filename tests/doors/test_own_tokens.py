"""Headgate's own tokens: shown once, kept as a digest, dead at once when revoked or past their time."""

import re
from collections.abc import Callable

import pytest

from headgate.decide import Op
from headgate.doors.authentication.own import OwnTokenScheme
from headgate.model.errors import IllegalArgument, Unauthenticated
from headgate.model.principals import Identity
from headgate.steward import Permit, Steward
from headgate.steward.access import tokens
from headgate.steward.access.tokens import SERVER
from headgate.store import Store
from tests.conftest import Api


@pytest.fixture
def permit(steward: Steward) -> Permit:
    return steward.kernel.permit(Identity("admin"), Op.MANAGE_TOKENS, SERVER)


def test_only_service_admins_make_list_and_revoke_tokens(api: Api) -> None:
    for method, path, body in (
        ("POST", "", {"user": "bob"}),
        ("GET", "", None),
        ("DELETE", "/0123456789abcdef", None),
    ):
        assert api("bob", method, "/api/headgate/tokens" + path, body).status_code == 403
        assert api(None, method, "/api/headgate/tokens" + path, body).status_code == 401
    made = api(
        "admin", "POST", "/api/headgate/tokens", {"user": "bob", "groups": ["g"], "expires": "1d"}
    ).json()
    assert re.fullmatch(r"hg_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", made["text"])
    listed = api("admin", "GET", "/api/headgate/tokens")
    assert [token["user"] for token in listed.json()["tokens"]] == ["bob"]
    assert made["text"][20:] not in listed.text
    assert "digest" not in listed.text
    path = f"/api/headgate/tokens/{made['token']['id']}"
    assert api("admin", "DELETE", path).json() == {"code": 0, "revoked": True}
    assert api("admin", "DELETE", path).json() == {"code": 0, "revoked": False}
    assert api("admin", "DELETE", "/api/headgate/tokens/none").status_code == 404


def test_a_token_proves_its_user_and_groups_until_it_is_revoked_by_anyone(
    steward: Steward, permit: Permit, store: Store
) -> None:
    made = steward.tokens.create(permit, "ann", ("b", "a", "a"))
    elsewhere = OwnTokenScheme(Steward(Store(str(store.url))).tokens)
    assert elsewhere.identify("bearer", made.text, None)[:2] == ("ann", frozenset({"a", "b"}))
    assert elsewhere.identify("basic", made.text, None) is None
    assert elsewhere.identify("bearer", "eyJ.a.b", None) is None
    steward.tokens.revoke(permit, made.record.id)
    with pytest.raises(Unauthenticated, match="revoked"):
        elsewhere.identify("bearer", made.text, None)


def test_what_is_not_exactly_a_token_proves_nothing(steward: Steward, permit: Permit) -> None:
    made = steward.tokens.create(permit, "ann")
    other = steward.tokens.create(permit, "bob")
    id, secret = made.record.id, made.text[20:]
    changed = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    for text in (
        made.text + "x",
        made.text[:-1],
        f"hg_{id}_{changed}",
        f"hg_{other.record.id}_{secret}",
        f"hg_{id}_",
        f"hg_{id}_{made.record.digest}",
        f"hg_{id.upper()}_{secret}",
        "hg_",
        f"hg_%_{secret}",
        made.text + "\n",
    ):
        with pytest.raises(Unauthenticated, match="not valid"):
            steward.tokens.proven(text)
    assert steward.tokens.proven(made.text).user == "ann"


def test_an_expired_token_proves_nothing(
    steward: Steward, permit: Permit, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = steward.tokens.create(permit, "ann", expires="1m")
    assert steward.tokens.proven(made.text)
    later: Callable[[], str] = lambda: str(made.record.expires_at)
    monkeypatch.setattr(tokens, "now", later)
    with pytest.raises(Unauthenticated, match="expired"):
        steward.tokens.proven(made.text)


@pytest.mark.parametrize("age", ["", "0d", "-1d", "1y", "1 d", "999999d", "d"])
def test_an_age_that_makes_no_sense_makes_no_token(steward: Steward, permit: Permit, age: str) -> None:
    with pytest.raises(IllegalArgument):
        steward.tokens.create(permit, "ann", expires=age)
    assert steward.tokens.list(permit) == []


def test_the_secret_is_neither_stored_nor_shown(steward: Steward, permit: Permit, store: Store) -> None:
    made = steward.tokens.create(permit, "ann")
    secret = made.text[20:]
    assert secret not in repr(made) + repr(made.record)
    assert made.record.digest not in repr(made)
    dumped = "\n".join(store.engine.raw_connection().driver_connection.iterdump())  # type: ignore[union-attr]
    assert made.record.id in dumped
    assert secret not in dumped
