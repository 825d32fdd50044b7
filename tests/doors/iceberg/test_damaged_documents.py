"""A table whose document was damaged behind the server's back is told so plainly, and the others are served."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from headgate.catalogs.iceberg import storage
from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, create, failed
from tests.people import People

TABLES = f"{ICE}/namespaces/s/tables"
COMMIT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
DAMAGES = {
    "nonsense": b"\x00\xff nonsense",
    "truncated": None,
    "empty": b"",
    "a list": b"[]",
    "an empty document": b"{}",
    "of a version to come": b'{"format-version": 99}',
    "gzip of nothing": b"\x1f\x8b",
}


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart: no document is remembered."""
    monkeypatch.setattr(storage, "_kept", storage._RecentDocuments(0))


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_is_an_error_of_the_table_and_nothing_is_written(api: Api, people: People, damage: str) -> None:
    made = create(api).json()
    create(api, "whole")
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    place = Path(urlsplit(made["metadata-location"]).path)
    bytes_ = DAMAGES[damage]
    place.write_bytes(place.read_bytes()[:-40] if bytes_ is None else bytes_)
    files = sorted(place.parent.iterdir())
    for user in ("admin", "ann"):
        for method, path, body in (
            ("GET", f"{TABLES}/t", None),
            ("POST", f"{TABLES}/t/plan", {}),
            ("POST", f"{TABLES}/t", COMMIT),
        ):
            if (user, body) != ("ann", COMMIT):
                status, kind = failed(api(user, method, path, body))
                assert 400 <= status < 500, "a client would try again for what does not get better"
                assert kind != "InternalServerError"
    assert sorted(place.parent.iterdir()) == files, "nothing is half-written"
    for user in ("admin", "ann"):
        assert api(user, "GET", f"{TABLES}/whole").status_code == 200
        assert len(api(user, "GET", TABLES).json()["identifiers"]) == 2
    assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204, "it can be dropped"
