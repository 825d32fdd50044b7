"""A plan holds every file with a matching row, is what pyiceberg would plan, and proves conformity only where it holds."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

from hypothesis import given, settings
from pyiceberg.expressions.visitors import expression_evaluator, rewrite_not
from pyiceberg.table import ManifestGroupPlanner, StaticTable
from pyiceberg.typedef import Record

from headgate.planning import ManifestIndex, Plan, PlanRequest, Veil
from tests.planning.forge import Forge, ForgedFile, plan
from tests.planning.strategies import SMALL, RandomFilter, RandomTable, filters, tables


@contextmanager
def forged(table: RandomTable) -> Iterator[tuple[Forge, dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        forge = Forge(Path(folder), table.schemas, table.specs, table.version)
        yield forge, forge.table(table.snapshot)


def matching_rows(table: RandomTable, file: ForgedFile, chosen: RandomFilter) -> int:
    matches = expression_evaluator(table.schema, rewrite_not(chosen.expression), True)
    ids = [field.field_id for field in table.schema.fields]
    return sum(bool(matches(Record(*(row.get(i) for i in ids)))) for row in file.rows)


def paths(made: Plan) -> set[str]:
    return {file.path for file in made.files()}


@SMALL
@given(tables(), filters)
def test_a_plan_holds_every_file_with_a_matching_row(table: RandomTable, chosen: RandomFilter) -> None:
    with forged(table) as (forge, metadata):
        made = plan(metadata, PlanRequest(filter=chosen.json), io=forge.io, index=ManifestIndex())
        needed = {file.path for file in table.files if matching_rows(table, file, chosen)}
        assert needed <= paths(made)


@SMALL
@given(tables(), filters)
def test_a_plan_equals_pyicebergs_or_leaves_out_more_that_has_no_matching_row(
    table: RandomTable, chosen: RandomFilter
) -> None:
    with forged(table) as (forge, metadata):
        made = plan(metadata, PlanRequest(filter=chosen.json), io=forge.io, index=ManifestIndex())
        scan = StaticTable.from_metadata(str(forge.metadata_path)).scan(row_filter=chosen.expression)
        # Its residuals, which are not compared, fail on NULL partition values.
        with patch.object(
            ManifestGroupPlanner, "_build_residual_evaluator", return_value=lambda file: Mock()
        ):
            tasks = list(scan.plan_files())
        theirs = {task.file.file_path: {delete.file_path for delete in task.delete_files} for task in tasks}
        ours = {file.path: set(file.deletes) for file in made.files()}
        assert ours.items() <= theirs.items()
        # pyiceberg keeps a file whose every value begins with the prefix that none may begin with, for one.
        left_out = [file for file in table.files if file.path in theirs.keys() - ours.keys()]
        assert not [file.path for file in left_out if matching_rows(table, file, chosen)]


@settings(SMALL, max_examples=80)
@given(tables(), filters)
def test_a_conforming_file_holds_only_rows_within_the_row_filter(
    table: RandomTable, lens: RandomFilter
) -> None:
    with forged(table) as (forge, metadata):
        made = plan(
            metadata,
            PlanRequest(),
            io=forge.io,
            index=ManifestIndex(),
            veil=Veil(row_filter=lens.json, exact=True),
        )
        files = {file.path: file for file in table.files}
        for planned in made.files():
            source = files[planned.path]
            if planned.conforms:
                assert matching_rows(table, source, lens) == len(source.rows)
        excluded = set(files) - paths(made)
        assert not any(matching_rows(table, files[path], lens) for path in excluded)


@SMALL
@given(tables(), filters, filters)
def test_a_row_filter_and_a_clients_filter_prune_together(
    table: RandomTable, chosen: RandomFilter, lens: RandomFilter
) -> None:
    with forged(table) as (forge, metadata):
        index = ManifestIndex()
        request = PlanRequest(filter=chosen.json)
        made = plan(metadata, request, io=forge.io, index=index, veil=Veil(row_filter=lens.json, exact=True))
        own = plan(metadata, request, io=forge.io, index=index)
        theirs = plan(
            metadata, PlanRequest(), io=forge.io, index=index, veil=Veil(row_filter=lens.json, exact=True)
        )
        assert paths(made) == paths(own) & paths(theirs)


@SMALL
@given(tables(), filters)
def test_pages_of_a_plan_make_the_whole(table: RandomTable, chosen: RandomFilter) -> None:
    with forged(table) as (forge, metadata):
        made = plan(metadata, PlanRequest(filter=chosen.json), io=forge.io, index=ManifestIndex())
        whole = json.loads(b"{" + made.body() + b"}")
        single = [json.loads(b"{" + made.body(n, n + 1) + b"}") for n in range(made.file_count)]
        assert [page["file-scan-tasks"][0]["data-file"] for page in single] == [
            task["data-file"] for task in whole["file-scan-tasks"]
        ]
        for page, task in zip(single, whole["file-scan-tasks"], strict=True):
            own = page["file-scan-tasks"][0]
            assert [page["delete-files"][n] for n in own.get("delete-file-references", [])] == [
                whole["delete-files"][n] for n in task.get("delete-file-references", [])
            ]
