"""A server that says it is AWS Glue may answer anything: it takes no more memory and time than it may, and fails nothing here."""

import itertools
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from headgate.catalogs.glue import answers
from headgate.catalogs.glue.catalog import glue_catalog
from headgate.catalogs.hive.metastore import MetastoreCatalog
from headgate.catalogs.interface import TablePlace
from headgate.catalogs.outside import pages
from headgate.model.errors import ConnectionFailed, Damaged, HeadgateError
from headgate.model.objects import ObjectType
from headgate.store import Store
from tests.catalogs import glue_server
from tests.catalogs.any_glue import AnyGlue, any_glue
from tests.openings import opened

T = TablePlace(("s",), "t", 1)


@pytest.fixture
def glue() -> Iterator[AnyGlue]:
    with any_glue() as glue:
        yield glue


@pytest.fixture
def catalog(glue: AnyGlue, store: Store, tmp_path: Path) -> Iterator[MetastoreCatalog]:
    declared = glue_server.properties("both", glue.url, tmp_path)
    allowed = opened(tmp_path, largest_document=2 * 1024 * 1024)
    found = glue_catalog("both", store, "aws", "lake/aws", declared, allowed, None)
    assert isinstance(found, MetastoreCatalog)
    yield found
    found.close()


def names(catalog: MetastoreCatalog) -> list[str]:
    return catalog.entries(("s",), ObjectType.TABLE)


def test_an_answer_without_an_end_is_not_read_to_its_end(catalog: MetastoreCatalog, glue: AnyGlue) -> None:
    sent = []

    def endless(wire: BinaryIO) -> None:
        for _ in range(2_000):
            wire.write(b" " * 1_000_000)
            sent.append(1)

    glue.stream = endless
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Damaged, match="largest-document"):
        names(catalog)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "in KiB"
    assert len(sent) < 200
    assert glue.asked == ["GetTables"], "nor is it asked again"


def test_an_answer_that_drips_is_given_up(
    catalog: MetastoreCatalog, glue: AnyGlue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drip(wire: BinaryIO) -> None:
        for _ in range(200):
            wire.write(b" ")
            time.sleep(0.1)

    monkeypatch.setattr(answers, "_LONGEST", 1.0)
    glue.stream = drip
    started = time.monotonic()
    with pytest.raises(ConnectionFailed, match="does not come to an end"):
        names(catalog)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("listed", [0, 1])
def test_pages_without_an_end_are_given_up(catalog: MetastoreCatalog, glue: AnyGlue, listed: int) -> None:
    numbers = itertools.count()

    def endless(operation: str, body: Any) -> Any:
        number = next(numbers)
        return {
            "TableList": [{"Name": f"t{number}"}] * listed,
            "NextToken": "again" if listed else f"n{number}",
        }

    glue.answer = endless
    with pytest.raises(Damaged, match="has no end"):
        names(catalog)
    assert len(glue.asked) < 1_100


def test_a_list_takes_no_longer_than_it_may(
    catalog: MetastoreCatalog, glue: AnyGlue, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = itertools.count()

    def slow(operation: str, body: Any) -> Any:
        time.sleep(0.1)
        number = next(numbers)
        return {"TableList": [{"Name": f"t{number}"}], "NextToken": f"n{number}"}

    monkeypatch.setattr(pages, "_LONGEST", 1.0)
    glue.answer = slow
    with pytest.raises(Damaged, match="has no end"):
        names(catalog)
    assert len(glue.asked) < 20


def test_pages_together_are_no_larger_than_one_answer_may_be(
    catalog: MetastoreCatalog, glue: AnyGlue
) -> None:
    numbers = itertools.count()

    def large(operation: str, body: Any) -> Any:
        number = next(numbers)
        return {
            "TableList": [{"Name": f"t{number}", "Description": "x" * 500_000}],
            "NextToken": f"n{number}",
        }

    glue.answer = large
    with pytest.raises(Damaged, match="largest-document"):
        names(catalog)
    assert len(glue.asked) < 8


WRONG: tuple[Any, ...] = (None, [], {}, "x", 7, [None], [7], {"a": 1}, {"Name": ""}, {"Name": 7}, [{"a": 1}])
STORED = {"Columns": [{"Name": "a", "Type": "int"}], "SerdeInfo": {"SerializationLibrary": "x"}}


def test_no_answer_is_a_failure_of_this_server(catalog: MetastoreCatalog, glue: AnyGlue) -> None:
    table: dict[str, Any] = {"Name": "t", "StorageDescriptor": {**STORED, "Location": "s3://far/t"}}
    answers = [*WRONG]
    answers += [{key: wrong} for key in ("DatabaseList", "Database", "TableList", "Table") for wrong in WRONG]
    for key in ("Name", "CreateTime", "StorageDescriptor", "PartitionKeys", "Parameters", "TableType"):
        for wrong in WRONG:
            changed = {**table, key: wrong}
            answers.append({"Table": changed, "TableList": [changed]})
    for key in ("Columns", "Location", "InputFormat", "SerdeInfo", "NumberOfBuckets", "SortColumns"):
        for wrong in WRONG:
            changed = {**table, "StorageDescriptor": {**table["StorageDescriptor"], key: wrong}}
            answers.append({"Table": changed, "TableList": [changed]})
    failures = []
    for answer in answers:
        glue.answer = lambda operation, body, answer=answer: answer  # type: ignore[misc]
        for asked in (
            lambda: catalog.schemas(()),
            lambda: catalog.schema_exists(("s",)),
            lambda: names(catalog),
            lambda: catalog.described(T),
            lambda: catalog.alter_schema(("s",), {"a": "b"}),
        ):
            try:
                asked()
            except HeadgateError:
                continue
            except Exception as error:
                failures.append((answer, repr(error)))
    assert not failures, (len(failures), failures[::9])


def test_half_a_character_is_no_answer(catalog: MetastoreCatalog, glue: AnyGlue) -> None:
    """JSON has words for it, and neither the store nor any answer of this server could hold it."""
    half = "x\ud800"
    table = {"Name": "t", "StorageDescriptor": {**STORED, "Location": "s3://far/t"}}
    for wrong in (
        {"Name": half},
        {"Description": half},
        {"Parameters": {half: "x"}},
        {"Parameters": {"x": half}},
    ):
        found = {**table, **wrong}
        glue.answer = lambda operation, body, found=found: {"Table": found, "TableList": [found]}  # type: ignore[misc]
        for asked in (lambda: names(catalog), lambda: catalog.described(T)):
            with pytest.raises(Damaged, match="otherwise than AWS"):
                asked()
