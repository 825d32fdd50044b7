"""What somebody is answered for a change that they are allowed to make tells no more than what they are told when they load the table."""

from pathlib import Path
from typing import Any

from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, create
from tests.doors.iceberg.conftest import lake as _lake
from tests.doors.lake import LAKE

__all__ = ["_lake"]

HIDE = "policy: p\non: lake.cat.s\nto: [user:ann]\nhide: [name]\n"


def owned_by_ann(api: Api) -> None:
    applied(api, HIDE)
    owner = {"name": "ann", "type": "user"}
    assert api("admin", "PUT", f"{LAKE}/owners/catalog/cat", owner).status_code == 200


def test_registering_what_was_dropped_tells_no_hidden_column(api: Api) -> None:
    """ann owns `cat`; a policy of admin hides the column `name` of all tables in `cat.s` from her. admin drops a table, ann
    registers it again, as a catalog's owner may. The answer should name no column that loading it does not show her."""
    made = create(api, properties={"write.metadata.metrics.column.name": "none"}).json()
    owned_by_ann(api)
    assert api("admin", "DELETE", f"{ICE}/namespaces/s/tables/t").status_code == 204
    body = {"name": "back", "metadata-location": made["metadata-location"]}
    answer = api("ann", "POST", f"{ICE}/namespaces/s/register", body)
    assert answer.status_code == 200, answer.text
    assert '"name":"name"' not in api("ann", "GET", f"{ICE}/namespaces/s/tables/back").text
    assert '"name":"name"' not in answer.text.replace(" ", ""), answer.text


def test_registering_a_table_that_an_engine_wrote_tells_no_hidden_column(api: Api, tmp_path: Path) -> None:
    """As above, with a table that was never here. The answer names its snapshots' summaries and statistics as well."""
    from pyiceberg.types import LongType, StringType

    from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, simple_schema

    owned_by_ann(api)
    folder = tmp_path / "forged" / "t"
    folder.mkdir(parents=True)
    files = (ForgedFile(f"{folder}/f.parquet", ({1: 1, 2: "x"},), snapshot=1),)
    forge = Forge(folder, [simple_schema(("id", LongType()), ("name", StringType()))])
    forge.table(ForgedSnapshot((ForgedManifest(files, snapshot=1, sequence=1),), 1))
    body = {"name": "t", "metadata-location": str(forge.metadata_path)}
    answer: Any = api("ann", "POST", f"{ICE}/namespaces/s/register", body)
    assert answer.status_code == 200, answer.text
    assert '"name":"name"' not in answer.text.replace(" ", ""), answer.text
