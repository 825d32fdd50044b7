"""Promise: a table of a thousand files is made ready in few jobs, read in full, and a new file costs only itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.worker.stand import ICE, SCHEMA, Stand, people, seen, standing

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

FILES = 1000


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    with standing(tmp_path, f"sqlite:///{tmp_path}/store.db") as stand:
        yield stand


def test_a_table_of_a_thousand_files(stand: Stand, shared_spark: Any) -> None:
    by_id = {
        "spec-id": 0,
        "fields": [{"source-id": 1, "field-id": 1000, "name": "id", "transform": "identity"}],
    }
    made = stand.api("admin", "POST", ICE, {"name": "t", "schema": SCHEMA, "partition-spec": by_id})
    assert made.status_code == 200, made.text
    rows = stand.append("t", people(0, FILES))
    assert len(stand.sources("t")) == FILES
    assert stand.waits("t")
    assert len(stand.entries("t")) == FILES // 2, "of the others statistics tell that there is nothing to see"
    assert stand.finish(shared_spark) == 1, "five hundred files in one job"
    assert stand.rows("t") == seen(rows)

    rows += stand.append("t", people(FILES, 2))
    assert stand.waits("t")
    assert sum(row.state == "wanted" for row in stand.entries("t")) == 1, "only what is new"
    assert stand.finish(shared_spark) == 1
    assert stand.rows("t") == seen(rows)

    asked = {"filter": {"type": "eq", "term": "id", "value": 501}}
    (task,) = stand.plan("t", asked)["file-scan-tasks"]
    assert task["data-file"]["record-count"] == 1
