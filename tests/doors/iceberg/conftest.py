"""A lake with one Iceberg catalog, whose tables may also lie in a folder that tests forge tables in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyiceberg.types import LongType, StringType

from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, simple_schema

ICE = "/iceberg/v1/lake.cat"
SCHEMA = {
    "type": "struct",
    "fields": [
        {"id": 1, "name": "id", "type": "long", "required": False},
        {"id": 2, "name": "name", "type": "string", "required": False},
    ],
}
Register = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def lake(api: Api, people: People, steward: Steward, tmp_path: Path) -> None:
    """`lake.cat.s`, owned by admin; ann and bob are members. Plans are waited for, however slow the machine."""
    steward.scans.patience = 60
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalog = {
        "name": "cat",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        # Forged tables have no partitions, so that only statistics can prove that all of a file may be seen.
        "properties": {"allowed-locations": str(tmp_path / "forged"), "headgate.originals": "statistics"},
    }
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    made = api("admin", "POST", f"{ICE}/namespaces", {"namespace": ["s"]})
    assert made.status_code == 200, made.text
    people.join("ann")
    people.join("bob")


@pytest.fixture
def register(api: Api, tmp_path: Path) -> Register:
    """Forge a table of `count` files and take it over as `s.<name>`; file n holds the one row id=n."""

    def forged(name: str = "t", count: int = 3, *, path: str | None = None) -> dict[str, Any]:
        folder = tmp_path / "forged" / name
        folder.mkdir(parents=True)
        files = tuple(
            ForgedFile(f"{path or folder}/f{n}.parquet", ({1: n, 2: f"n{n}"},), snapshot=1)
            for n in range(count)
        )
        forge = Forge(folder, [simple_schema(("id", LongType()), ("name", StringType()))])
        metadata = forge.table(ForgedSnapshot((ForgedManifest(files, snapshot=1, sequence=1),), 1))
        body = {"name": name, "metadata-location": str(forge.metadata_path)}
        answer = api("admin", "POST", f"{ICE}/namespaces/s/register", body)
        assert answer.status_code == 200, answer.text
        return metadata

    return forged


def create(api: Api, name: str = "t", user: str = "admin", **more: Any) -> httpx.Response:
    return api(user, "POST", f"{ICE}/namespaces/s/tables", {"name": name, "schema": SCHEMA, **more})


def failed(answer: httpx.Response) -> tuple[int, str]:
    """Status and type of an error, which is told in Iceberg's own body."""
    told = answer.json()["error"]
    assert told["code"] == answer.status_code
    assert told["message"]
    assert len(answer.text) < 2000, "an error does not send back what was sent"
    return answer.status_code, told["type"]
