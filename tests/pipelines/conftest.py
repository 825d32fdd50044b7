"""A lake to write tables in."""

from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.lake import Lake


@pytest.fixture
def spark(shared_spark: Any) -> Any:
    return shared_spark


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path)
