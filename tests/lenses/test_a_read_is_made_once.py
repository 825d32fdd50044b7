"""Promise: a request decides the lens and fetches the document of its table once, and passes few modules on its way."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from headgate.doors import server
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, Register
from tests.doors.settled import give, securable
from tests.lenses.copyist import copy_all

TABLE = f"{ICE}/namespaces/s/tables/t"
HIDE = "policy: hide\non: lake\nto: [user:ann]\nhide: [name]\n"
DERIVED = {
    "lens": ("headgate.decide.policies.lens", "lens"),
    "document": ("headgate.catalogs.native", "document"),
    "read": ("headgate.steward.reads.making", "of"),
}
BEFORE: int = 42
"""Modules that a governed load passed when each of load, plan and vending derived what is seen by itself."""


class Way:
    """The modules of Headgate that a request passes, and how often each thing was derived on it."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.derived: Counter[str] = Counter()

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        if event != "call" or not module.startswith("headgate."):
            return
        self.modules.add(module)
        for what, (where, name) in DERIVED.items():
            if (module, frame.f_code.co_name) == (where, name):
                self.derived[what] += 1


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Way]:
    way, perform = Way(), server.perform

    def performed(*args: Any) -> Any:
        sys.setprofile(way.profile)
        try:
            return perform(*args)
        finally:
            sys.setprofile(None)

    with monkeypatch.context() as patch:
        patch.setattr(server, "perform", performed)
        yield way


@pytest.fixture(autouse=True)
def ready(api: Api, register: Register, steward: Steward) -> None:
    """ann sees a part of s.t; her copies are there, and she has loaded and planned it before."""
    steward.waiting.patience = 0.05
    register()
    give(api, "ann", "reader", securable("catalog", "cat", "use_catalog", "use_schema", "select_table"))
    applied(api, HIDE)
    assert api("ann", "GET", TABLE).status_code == 503
    assert copy_all(steward) == 3
    for _ in range(2):
        assert api("ann", "GET", TABLE).status_code == 200
        assert api("ann", "POST", f"{TABLE}/plan", {}).json()["status"] == "completed"


@pytest.mark.parametrize("delegation", [None, "vended-credentials"])
def test_a_governed_load_derives_document_and_lens_once(
    api: Api, monkeypatch: pytest.MonkeyPatch, delegation: str | None
) -> None:
    headers = {} if delegation is None else {"X-Iceberg-Access-Delegation": delegation}
    with watched(monkeypatch) as way:
        assert api("ann", "GET", TABLE, headers=headers).status_code == 200
    assert way.derived == {"lens": 1, "document": 1, "read": 1}
    assert len(way.modules) < BEFORE, sorted(way.modules)


def test_a_governed_plan_with_credentials_derives_document_and_lens_once(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(monkeypatch) as way:
        headers = {"X-Iceberg-Access-Delegation": "vended-credentials"}
        assert api("ann", "POST", f"{TABLE}/plan", {}, headers=headers).json()["status"] == "completed"
    assert way.derived == {"lens": 1, "document": 1, "read": 1}
