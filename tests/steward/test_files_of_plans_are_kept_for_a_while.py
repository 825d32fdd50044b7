"""The files that plans are signed for are found once for all who ask at once, kept within bounds, and never mixed up."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from headgate.planning.file_set import FileSet
from headgate.steward.reads.planning.planned_files import PlannedFiles


def test_a_set_holds_its_files_in_every_spelling_and_no_other() -> None:
    paths = [f"s3://b/t/data/{number}.parquet" for number in range(1000)]
    files = FileSet([*paths, paths[0]])
    assert all(path in files for path in paths)
    assert "s3a://b/t/data/7.parquet" in files
    for other in ("s3://b/t/data/1000.parquet", "s3://b/t/data/", "", "s3://b/t/data/7.parquet/"):
        assert other not in files
    assert (len(files), files.nbytes) == (1000, 16_000)
    assert "s3://b/x" not in FileSet([])


def test_what_is_kept_is_bounded() -> None:
    kept = PlannedFiles(most_bytes=10_000)
    for number in range(100):
        kept.find(str(number).encode(), lambda: FileSet([f"s3://b/{n}" for n in range(50)]))
        assert 0 < kept.nbytes <= 10_000
    before = kept.nbytes
    for _ in range(2):
        kept.find(b"large", lambda: FileSet([f"s3://b/{n}" for n in range(1000)]))
    assert kept.nbytes == before


def test_errors_are_not_kept_and_nothing_is_without_a_key() -> None:
    kept, calls = PlannedFiles(), []

    def broken() -> FileSet:
        calls.append(1)
        raise ValueError("broken")

    for key in (b"k", b"k", None, None):
        with pytest.raises(ValueError, match="broken"):
            kept.find(key, broken)
    assert len(calls) == 4
    assert len(kept.find(b"k", lambda: FileSet(["s3://b/a"]))) == 1
    kept.find(None, lambda: FileSet([]))
    assert len(kept.find(b"k", broken)) == 1


@pytest.mark.parametrize("outcome", ["broken", 1])
def test_who_asks_while_it_is_made_waits_for_it_and_for_its_error(outcome: str | int) -> None:
    kept, calls = PlannedFiles(), []
    begun, go = threading.Event(), threading.Event()

    def slow() -> FileSet:
        calls.append(1)
        begun.set()
        assert go.wait(30)
        if outcome == "broken":
            raise ValueError(outcome)
        return FileSet(["s3://b/a"])

    def ask() -> int | str:
        try:
            return len(kept.find(b"k", slow))
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(ask)
        assert begun.wait(30)
        others = [pool.submit(ask) for _ in range(7)]
        threading.Timer(0.3, go.set).start()
        assert {asked.result() for asked in (first, *others)} == {outcome}
    # An error is not kept: who came too late for it had it made again.
    assert len(calls) == 1 or outcome == "broken"
