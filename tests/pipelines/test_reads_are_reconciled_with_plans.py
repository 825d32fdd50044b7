"""Every read that nobody was given is found, in logs of both formats; innocent reads and broken lines raise nothing."""

import base64
import datetime as dt
import gzip
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headgate.pipelines.reconcile import Evidence, LostAccess, Reconciliation, Terms, gather, reconcile
from headgate.pipelines.reconcile.access_logs import read_logs
from headgate.planning.fingerprints import fingerprints
from headgate.vending.credentials import StorageCredential
from headgate.vending.vendor import session_name
from tests.pipelines.golden_logs import minio_line, s3_line

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
TERMS = Terms(NOON - dt.timedelta(hours=6), dt.timedelta(hours=2), dt.timedelta(minutes=1))
FOLDER = "s3://lake/c/s/t"
FILES = [f"{FOLDER}/data/region=EU/{n}.parquet" for n in range(3)]
EVE = "Eve O'Neil/ops"
_ids = itertools.count(1)


def at(minutes: float) -> dt.datetime:
    return NOON + dt.timedelta(minutes=minutes)


def event(
    user: str, minutes: float, action: str = "load_table", table: str = "c.s.t", **details: Any
) -> dict[str, Any]:
    told = {"folders": [FOLDER], **details}
    time = at(minutes).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "id": next(_ids), "at": time, "user": user, "action": action, "type": "table", "object": table,
        "allowed": True, "details": told,
    }  # fmt: skip


VIEW, PRINTS = "abc", fingerprints(FILES[:2])
EVENTS = [
    event("ann", 0),
    event("ann", 0.1, "read_table", files=3),
    event("ann", 5, report="scan-report", told={"snapshot": 1}),
    event(EVE, 0, view=VIEW, given=[f"{FOLDER}/_headgate/abc"]),
    event(EVE, 0.1, "read_table", view=VIEW, files=2),
    event("idle", 0),
    event("idle", 0.1, "read_table", files=3),
    event("talker", 30, report="scan-report", told={"snapshot": 1}),
]
LOSSES = [LostAccess("ann", "c.s.t", at(60), at(80))]


def evidence(*more: dict[str, Any], users: Sequence[str] = ("mute",)) -> Evidence:
    return gather([*EVENTS, *more], users, TERMS)


def lines_s3(reads: Sequence[tuple[float, str | None, str]]) -> list[str]:
    return [
        s3_line(at(minutes), session_name(user) if user else None, path.removeprefix("s3://lake/"))
        for minutes, user, path in reads
    ]


def lines_minio(reads: Sequence[tuple[float, str | None, str]]) -> list[str]:
    return [
        minio_line(at(minutes), "TEMPKEY", path.removeprefix("s3://lake/"), parent=session_name(user))
        if user
        else minio_line(at(minutes), "root", path.removeprefix("s3://lake/"))
        for minutes, user, path in reads
    ]


INNOCENT: list[tuple[float, str | None, str]] = [
    (1, "ann", FILES[0]),
    (59, "ann", f"{FOLDER}/metadata/v1.metadata.json"),
    (60.5, "ann", FILES[1]),
    (90, "ann", FILES[2]),
    (1, EVE, FILES[0]),
    (2, EVE, FILES[1]),
    (3, EVE, f"{FOLDER}/_headgate/abc/data/x.parquet"),
    (240, None, "s3://lake/elsewhere/file"),
]
GUILTY: list[tuple[float, str | None, str]] = [
    (70, "ann", FILES[0]),
    (71, "ann", FILES[0]),
    (2, EVE, FILES[2]),
    (2, EVE, f"{FOLDER}/metadata/v1.metadata.json"),
    (3, EVE, f"{FOLDER}/_headgate/other/data/x.parquet"),
    (200, EVE, FILES[0]),
    (3, "mute", FILES[0]),
    (4, "mute", f"{FOLDER}0/data/x.parquet"),
    (5, None, FILES[0]),
]
EXPECTED = {
    ("after-revocation", "ann", "c.s.t", FILES[0], 2),
    ("unplanned", EVE, "c.s.t", FILES[2], 1),
    ("unplanned", EVE, "c.s.t", f"{FOLDER}/metadata/v1.metadata.json", 1),
    ("unplanned", EVE, "c.s.t", f"{FOLDER}/_headgate/other/data/x.parquet", 1),
    ("unplanned", EVE, "c.s.t", FILES[0], 1),
    ("unplanned", "mute", "c.s.t", FILES[0], 1),
    ("unplanned", "mute", None, f"{FOLDER}0/data/x.parquet", 1),
    ("stranger", None, "c.s.t", FILES[0], 1),
    ("report-without-plan", "talker", "c.s.t", None, 1),
    ("never-read", "idle", "c.s.t", None, 0),
}


def compared(
    spark: Any, tmp_path: Path, lines: Sequence[str], known: Evidence | None = None, **more: Any
) -> Reconciliation:
    folder = tmp_path / "logs"
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / "day.gz", "wt") as log:
        log.write("\n".join([*lines[: len(lines) // 2], ""]))
    (folder / "below").mkdir(exist_ok=True)
    (folder / "below" / "day.log").write_text("\n".join(["", *lines[len(lines) // 2 :]]))
    asked = {"named": {VIEW: PRINTS}, "losses": LOSSES, **more}
    return reconcile(spark, known or evidence(), TERMS, logs=[f"file://{folder}"], **asked)


def found(outcome: Reconciliation) -> set[tuple[Any, ...]]:
    return {(f.kind, f.user, f.object, f.file, f.reads) for f in outcome.findings(1000)}


@pytest.mark.parametrize("write", [lines_s3, lines_minio])
def test_each_kind_of_finding_is_found_and_nothing_else(spark: Any, tmp_path: Path, write: Any) -> None:
    outcome = compared(spark, tmp_path, write([*INNOCENT, *GUILTY]))
    assert found(outcome) == EXPECTED
    assert (outcome.reads, outcome.malformed) == (len(INNOCENT) + len(GUILTY), {})
    assert outcome.counts() == {
        "after-revocation": 1, "unplanned": 6, "stranger": 1, "report-without-plan": 1, "never-read": 1,
    }  # fmt: skip
    revoked = outcome.findings(1)[0]
    assert [time.replace(microsecond=0) for time in (revoked.first, revoked.last)] == [at(70), at(71)]


def test_innocent_reads_raise_nothing(spark: Any, tmp_path: Path) -> None:
    calm = gather(EVENTS[:5], (), TERMS)
    outcome = compared(spark, tmp_path, [*lines_s3(INNOCENT), *lines_minio(INNOCENT)], calm)
    assert found(outcome) == set()
    assert outcome.reads == 2 * len(INNOCENT)


PLANNED = base64.b64encode(fingerprints(FILES[:1])).decode()


def test_a_plan_gives_its_files_and_not_the_folder_they_lie_in(spark: Any, tmp_path: Path) -> None:
    known = gather([event("pia", 0, "read_table", files=1, planned=PLANNED)], (), TERMS)
    assert (known.views, len(known.planned)) == (frozenset(), 1), (
        "a plan is no view that the server is asked for"
    )
    outcome = compared(spark, tmp_path, lines_s3([(1, "pia", FILES[0]), (2, "pia", FILES[1])]), known)
    assert found(outcome) == {("unplanned", "pia", "c.s.t", FILES[1], 1)}


def test_a_key_that_was_given_for_a_plan_reads_no_other_files_whatever_its_holder_loaded(
    spark: Any, tmp_path: Path
) -> None:
    key = StorageCredential("s3://lake/", {"s3.access-key-id": "PLANKEY"}).print
    plan = event("ann", 0.2, "read_table", scope="plan", vended=FILES[:1], keys=[key])
    lines = [minio_line(at(n), "PLANKEY", path.removeprefix("s3://lake/")) for n, path in enumerate(FILES, 1)]
    outcome = compared(spark, tmp_path, lines, gather([event("ann", 0), plan], (), TERMS))
    assert found(outcome) == {("unplanned", "ann", "c.s.t", path, 1) for path in FILES[1:]}


def signed_under(plan: str, files: list[str], key: str, minutes: float = 0.4) -> dict[str, Any]:
    return event(
        "ann", minutes, "read_table", folders=[], signed="GET", signer=plan, places=files, keys=[key], files=1
    )


def test_a_request_signed_under_a_plan_reads_a_file_of_that_plan_whatever_its_caller_loaded(
    spark: Any, tmp_path: Path
) -> None:
    key, other = (StorageCredential(FOLDER, {"s3.access-key-id": name}).print for name in ("ASIA1", "ASIA2"))
    plan = event("ann", 0.1, "read_table", files=2, planned=PLANNED, signer="p1")
    large = event("ann", 0.2, "read_table", files=200, signer="p2")
    access = event("ann", 0.3, "read_table", folders=[], step="access", scope="plan", signs=True, signer="p1")
    events = [
        event("ann", 0),
        plan,
        large,
        access,
        signed_under("p1", FILES[:1], key),
        # The server signs no such request; if it did, reads would not be covered by that.
        signed_under("p1", FILES[2:], key),
        signed_under("p2", FILES[2:], other),
    ]
    known = gather(events, (), TERMS)
    assert known.plans == {key: (FILES[0],), other: (FILES[2],)}
    assert [planned.files for planned in known.planned] == [2, 200]
    reads = (("ASIA1", FILES[0]), ("ASIA1", FILES[1]), ("ASIA1", FILES[2]), ("ASIA2", FILES[2]))
    lines = [minio_line(at(n), by, path.removeprefix("s3://lake/")) for n, (by, path) in enumerate(reads, 1)]
    # The other key signed for the last of them.
    assert found(compared(spark, tmp_path, lines, known)) == {
        ("unplanned", "ann", "c.s.t", path, 1) for path in FILES[1:]
    }


def test_broken_lines_are_counted_and_the_rest_is_judged(spark: Any, tmp_path: Path) -> None:
    good = s3_line(at(3), "mute", "c/s/t/data/a%2Bb+c%3D1.parquet", agent='odd " 403 "agent')
    broken = [
        "not a line at all",
        good.replace("[01/Mar/2026", "[99/Mar/2026"),
        good.split(" HTTP")[0],
        minio_line(at(3), "k", "x")[:-9],
        '{"time": "yesterday", "api": {"name": "GetObject", "bucket": "lake", "object": "x"}}',
        "{}",
        "\x01\x01\x01\x01\x01\x01\x01\x01",
    ]
    outcome = compared(
        spark, tmp_path, [*broken[:4], good, *broken[4:]], gather(EVENTS[:5], ("mute",), TERMS)
    )
    assert sum(outcome.malformed.values()) == len(broken)
    assert {Path(file).name for file in outcome.malformed} == {"day.gz", "day.log"}
    assert (outcome.lines, outcome.reads) == (len(broken) + 1, 1)
    assert found(outcome) == {("unplanned", "mute", "c.s.t", f"{FOLDER}/data/a+b c=1.parquet", 1)}


def test_only_successful_reads_of_the_period_and_of_strangers_count(spark: Any, tmp_path: Path) -> None:
    key = "c/s/t/data/x.parquet"
    lines = [
        s3_line(at(1), "mute", key, status=403, sent="-"),
        s3_line(at(1), "mute", key, operation="REST.HEAD.OBJECT", status=200),
        s3_line(at(1), "mute", key, operation="REST.PUT.OBJECT", status=200),
        s3_line(at(1), "mute", "-", operation="REST.GET.BUCKET", status=200),
        s3_line(at(-600), "mute", key),
        s3_line(at(1), "mute", key, bucket="other"),
        s3_line(at(1), "headgate-worker", key),
        s3_line(at(1), None, key, requester="arn:aws:iam::123456789012:user/etl"),
        minio_line(at(1), "WORKER", key, parent="server"),
        minio_line(at(1), "mute", key, name="PutObject"),
        minio_line(at(1), "mute", key, statusCode=403),
    ]
    trusted = ("headgate-worker", "arn:aws:iam::123456789012:user/etl", "server")
    outcome = compared(spark, tmp_path, lines, gather(EVENTS[:5], ("mute",), TERMS), trusted=trusted)
    assert (found(outcome), outcome.malformed) == (set(), {})
    watched = compared(spark, tmp_path, lines, gather(EVENTS[:5], ("mute",), TERMS))
    assert {(f.kind, f.requester) for f in watched.findings(10)} == {
        ("stranger", "arn:aws:sts::123456789012:assumed-role/lake-reader/headgate-worker"),
        ("stranger", "arn:aws:iam::123456789012:user/etl"),
        ("stranger", "WORKER"),
    }


def test_an_access_key_that_was_given_out_stands_for_its_user(spark: Any, tmp_path: Path) -> None:
    given = event("ann", 0, keys=[StorageCredential("", {"s3.access-key-id": "ASIAKEY"}).print])
    lines = [minio_line(at(1), "ASIAKEY", "c/s/t/data/x.parquet", parent="server")]
    assert found(compared(spark, tmp_path, lines, gather([given], (), TERMS))) == set()


def test_what_credentials_and_signatures_reach_was_given(spark: Any, tmp_path: Path) -> None:
    events = [
        event("vic", 0, vended=[f"{FOLDER}/_headgate/abc"], files=1, folders=[]),
        event("sig", 0, "read_table", signed="GET", places=[FILES[2]], files=1, folders=[]),
        event("tru", 0, "read_table", view=VIEW, delegated=True, files=3),
    ]
    reads: list[tuple[float, str | None, str]] = [
        (1, "vic", f"{FOLDER}/_headgate/abc/x.parquet"),
        (1, "sig", FILES[2]),
        (1, "sig", FILES[0]),
        (1, "tru", FILES[2]),
        (1, "vic", FILES[0]),
    ]
    got = compared(spark, tmp_path, lines_s3(reads), gather(events, (), TERMS))
    assert found(got) == {
        ("unplanned", "vic", "c.s.t", FILES[0], 1),
        ("unplanned", "sig", "c.s.t", FILES[0], 1),
    }


def test_without_logs_reports_alone_are_compared(spark: Any) -> None:
    outcome = reconcile(spark, evidence(), TERMS)
    assert {(f.kind, f.user) for f in outcome.findings(10)} == {
        ("report-without-plan", "talker"),
        ("never-read", EVE),
        ("never-read", "idle"),
    }
    assert reconcile(spark, gather([], (), TERMS), TERMS).findings(10) == []


def test_plans_that_the_logs_do_not_reach_are_not_judged(spark: Any, tmp_path: Path) -> None:
    late = [event("late", 200), event("late", 200, "read_table", files=1)]
    outcome = compared(spark, tmp_path, lines_s3([(201, "ann", "s3://lake/x")]), gather(late, (), TERMS))
    assert "never-read" not in outcome.counts()


def test_every_field_of_an_s3_line_is_where_it_belongs(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(s3_line(at(7), "ann", "a/b.parquet", sent=12, agent='x" 500 "-" "y') + "\n")
    (row,) = read_logs(spark, [f"file://{file}"], "s3").collect()
    assert (row.bucket, row.key, row.path) == ("lake", "a/b.parquet", "s3://lake/a/b.parquet")
    assert (row.status, row.bytes, row.operation, row.session) == (206, 12, "REST.GET.OBJECT", "ann")
    assert (row.at.astimezone(dt.UTC), row.readable) == (at(7), True)
