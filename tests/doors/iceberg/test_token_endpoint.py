"""The token endpoint: an id and a secret become a bearer token, and nobody learns anything from a refusal."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from headgate.decide import Op
from headgate.model.principals import Identity
from headgate.steward import Steward
from headgate.steward.access.tokens import SERVER, Issued
from tests.conftest import Api

PATH = "/iceberg/v1/oauth/tokens"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


@pytest.fixture
def issue(steward: Steward) -> Callable[..., Issued]:
    def make(**more: Any) -> Issued:
        permit = steward.kernel.permit(Identity("admin"), Op.MANAGE_TOKENS, SERVER)
        return steward.tokens.create(permit, "ann", **more)

    return make


def ask(api: Api, **form: str) -> Any:
    return api(None, "POST", PATH, data=form)


def test_an_id_and_secret_become_the_bearer_token(api: Api, issue: Callable[..., Issued]) -> None:
    issued = issue()
    id, secret = issued.text.removeprefix("hg_").split("_", 1)
    answer = ask(api, grant_type="client_credentials", client_id=id, client_secret=secret, scope="catalog")
    assert answer.status_code == 200, answer.text
    assert answer.json()["access_token"] == issued.text
    assert answer.json()["token_type"] == "bearer"
    assert answer.headers["cache-control"] == "no-store"
    basic = base64.b64encode(f"{id}:{secret}".encode()).decode()
    headers = {"Authorization": f"Basic {basic}"}
    answer = api(None, "POST", PATH, data={"grant_type": "client_credentials"}, headers=headers)
    assert answer.json()["access_token"] == issued.text
    answer = ask(api, grant_type=EXCHANGE, subject_token=issued.text)
    assert answer.json()["access_token"] == issued.text


def test_every_refusal_is_the_same(api: Api, issue: Callable[..., Issued], steward: Steward) -> None:
    issued, revoked = issue(), issue()
    permit = steward.kernel.permit(Identity("admin"), Op.MANAGE_TOKENS, SERVER)
    steward.tokens.revoke(permit, revoked.record.id)
    id, secret = issued.text.removeprefix("hg_").split("_", 1)
    gone = revoked.text.removeprefix("hg_").split("_", 1)
    refusals = [
        ask(api, grant_type="client_credentials", client_id=who, client_secret=what)
        for who, what in (
            (id, "x" * 43),
            ("0" * 16, secret),
            ("ann", secret),
            (id, secret[:-1]),
            (id, secret + "\n"),
            tuple(gone),
        )
    ]
    refusals.append(ask(api, grant_type=EXCHANGE, subject_token="eyJhbGciOiJub25lIn0.e30."))
    refusals.append(ask(api, grant_type=EXCHANGE))
    assert {answer.status_code for answer in refusals} == {401}
    assert len({answer.content for answer in refusals}) == 1
    assert refusals[0].json()["error"] == "invalid_client"


def test_requests_that_make_no_sense_are_refused(api: Api) -> None:
    for form, error in (
        ({}, "unsupported_grant_type"),
        ({"grant_type": "password", "username": "ann"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "invalid_request"),
        ({"grant_type": "client_credentials", "client_id": "x" * 5000}, "unsupported_grant_type"),
        ({"grant_type": EXCHANGE, "subject_token": "x", "actor_token": "y"}, "invalid_request"),
    ):
        answer = ask(api, **form)
        assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert api(None, "POST", PATH, content=b"\xff\xfe&=").status_code == 400
