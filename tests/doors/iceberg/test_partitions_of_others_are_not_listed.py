"""Whoever may write to a table may make its manifests name another's: the partitions endpoint does not follow."""

import shutil
from pathlib import Path
from typing import Any

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import StringType

from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE
from tests.doors.lake import LAKE
from tests.people import People
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot, simple_schema

PARTITIONS = f"{LAKE}/catalogs/cat/schemas/s/tables"


def forged(api: Api, folder: Path, value: str) -> dict[str, Any]:
    folder.mkdir(parents=True)
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "diagnosis"), spec_id=0)
    file = ForgedFile(f"{folder}/f.parquet", ({1: value},), (value,), snapshot=1)
    forge = Forge(folder, [simple_schema(("diagnosis", StringType()))], [spec])
    document = forge.table(ForgedSnapshot((ForgedManifest((file,), snapshot=1, sequence=1),), 1))
    body = {"name": folder.name, "metadata-location": str(forge.metadata_path)}
    assert api("admin", "POST", f"{ICE}/namespaces/s/register", body).status_code == 200
    return document


def test_the_partitions_endpoint_does_not_follow_foreign_manifests(
    api: Api, people: People, tmp_path: Path
) -> None:
    theirs = forged(api, tmp_path / "forged" / "theirs", "secret-diagnosis")
    ours = forged(api, tmp_path / "forged" / "ours", "flu")
    answer = api("admin", "GET", f"{PARTITIONS}/ours/partitions")
    assert answer.json()["names"] == ["diagnosis=flu"]
    shutil.copy(theirs["snapshots"][0]["manifest-list"], ours["snapshots"][0]["manifest-list"])
    for path in ("partitions", "partitions?details=true", "partitions/diagnosis=secret-diagnosis"):
        answer = api("admin", "GET", f"{PARTITIONS}/ours/{path}")
        assert answer.status_code == 403, answer.text
        assert "secret" not in answer.text
        assert "theirs" not in answer.text
