"""Whatever the Iceberg door answers to someone with a restricted view, in any form: nothing of what it hides is in it.

The table carries values to look for in every place where Iceberg keeps any: bounds, partitions, paths, summaries,
statistics, names, docs, properties, former metadata. The owner's answers hold them, so the test can see them.
"""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from pyiceberg.conversions import to_bytes
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform, TruncateTransform
from pyiceberg.types import LongType, NestedField, StringType

from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE
from tests.doors.scans import polled, scanned
from tests.people import People
from tests.planning.forge import Forge, ForgedFile, ForgedManifest, ForgedSnapshot

TABLE = f"{ICE}/namespaces/s/tables/t"
ID, REGION, SSN, MAIL = 1, 2, 3, 4

ABROAD = "US-9c1d77"
"""The partition that the row filter leaves out; also in the paths of its files."""
ABROAD_IDS = (7_700_001, 7_700_002)
SECRETS = ("SSN-7f3a-0001", "SSN-7f3a-0002", "SSN-7f3a-0003")
MAILS = ("ann.k@q7.io", "bob.l@q7.io", "eve.m@q7.io")
NAMED = ("ssn", "doc-of-a-number", "past-of-a-number")
"""What names the hidden column: itself, its comment, what it was called before."""
WHOLE = (
    *("424242", "989898", "51505150", "stats-3e5f.puffin"),
    *("former-3e5f.metadata.json", "v1.metadata.json", "list-1.avro"),
)
"""Counts, sizes, statistics and documents that are of the whole table."""

ROWS = "policy: by-region\non: lake.cat.s.t\nto: [user:ann]\nrows: region = 'EU'\n"
HIDE = "policy: no-numbers\non: lake.cat.s.t\nto: [user:ann]\nhide: [ssn]\n"
MASK = "policy: no-mails\non: lake.cat.s.t\nto: [user:ann]\nmask: {mail: show_last_4(mail)}\n"

Govern = Callable[[list[str]], None]

LENSES = [
    pytest.param([ROWS], (ABROAD, *ABROAD_IDS, SECRETS[2], MAILS[2], *WHOLE), id="rows"),
    pytest.param([HIDE], (*SECRETS, *NAMED, *WHOLE), id="hidden"),
    pytest.param([MASK], (*MAILS, *WHOLE), id="masked"),
    pytest.param(
        [ROWS, HIDE, MASK], (ABROAD, *ABROAD_IDS, *SECRETS, *MAILS, *NAMED, *WHOLE), id="all of them"
    ),
]


def text(id: int, name: str, **more: Any) -> NestedField:
    return NestedField(id, name, StringType(), required=False, **more)


def schema(id: int, number: str) -> Schema:
    return Schema(
        NestedField(ID, "id", LongType(), required=False),
        text(REGION, "region"),
        text(SSN, number, doc=NAMED[1]),
        text(MAIL, "mail"),
        schema_id=id,
    )


SPEC = PartitionSpec(
    PartitionField(REGION, 1000, IdentityTransform(), "region"),
    PartitionField(SSN, 1001, TruncateTransform(width=20), "ssn_start"),
    PartitionField(MAIL, 1002, IdentityTransform(), "mail"),
    spec_id=0,
)


@pytest.fixture(autouse=True)
def table(api: Api, people: People, tmp_path: Path) -> None:
    """`s.t`, full of what is not to be told; ann may read it."""
    folder = tmp_path / "forged" / "t"
    folder.mkdir(parents=True)
    rows = zip((1, 2, ABROAD_IDS[0]), ("EU", "EU", ABROAD), SECRETS, MAILS, strict=True)
    files = tuple(
        ForgedFile(
            f"{folder}/region={region}/{number}.parquet",
            (
                {ID: id, REGION: region, SSN: ssn, MAIL: mail},
                {ID: id + 1, REGION: region, SSN: ssn, MAIL: mail},
            ),
            (region, ssn, mail),
            snapshot=1,
        )
        for number, (id, region, ssn, mail) in enumerate(rows)
    )
    forge = Forge(folder, [schema(0, NAMED[2]), schema(1, NAMED[0])], [SPEC], refs={"kept": 1})
    metadata = forge.table(ForgedSnapshot((ForgedManifest(files, snapshot=1, sequence=1),), 1))
    summary = {"total-records": WHOLE[0], "total-files-size": WHOLE[1], f"partitions.region={ABROAD}": "x"}
    metadata["snapshots"][0]["summary"] |= summary
    metadata["properties"] = {
        f"write.metadata.metrics.column.{NAMED[0]}": "full",
        "write.parquet.bloom-filter-enabled.column.ssn": "true",
    }
    metadata["sort-orders"].append(
        {
            "order-id": 1,
            "fields": [
                {"source-id": SSN, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}
            ],
        }
    )
    blob = {
        "type": "apache-datasketches-theta-v1",
        "snapshot-id": 1,
        "sequence-number": 1,
        "fields": [SSN],
        "properties": {"ndv": WHOLE[2]},
    }
    statistics = {
        "snapshot-id": 1,
        "statistics-path": f"{folder}/{WHOLE[3]}",
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
    }
    metadata["statistics"] = [{**statistics, "blob-metadata": [blob]}]
    partitioned = {"snapshot-id": 1, "statistics-path": f"{folder}/{WHOLE[3]}", "file-size-in-bytes": 1}
    metadata["partition-statistics"] = [partitioned]
    metadata["metadata-log"] = [{"timestamp-ms": 1, "metadata-file": f"{folder}/{WHOLE[4]}"}]
    forge.metadata_path.write_text(json.dumps(metadata))
    taken = {"name": "t", "metadata-location": str(forge.metadata_path)}
    answer = api("admin", "POST", f"{ICE}/namespaces/s/register", taken)
    assert answer.status_code == 200, answer.text
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE MODIFY_TABLE", "metalake", "lake")


@pytest.fixture
def govern(api: Api, steward: Steward) -> Govern:
    """Apply policies. What needs copies is not waited for, as nobody makes any here; what needs none is."""

    def put(policies: list[str]) -> None:
        applied(api, *policies)
        steward.waiting.patience = 0
        steward.scans.patience = 60 if policies == [ROWS] else 0.1

    return put


COMMIT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
HERE = {"namespace": ["s"], "name": "t"}
VIEW = {"name": "v", "schema": {"type": "struct", "fields": []}, "view-version": {}}
PLANS: list[Any] = [
    {},
    {"select": ["id", "region"]},
    {"stats-fields": ["id", "region", "mail"]},
    {"filter": {"type": "gt", "term": "id", "value": 5}},
    {"filter": {"type": "not-eq", "term": "region", "value": "EU"}},
    {"snapshot-id": 1, "use-snapshot-schema": True},
    {"min-rows-requested": 1},
    {"snapshot-id": 9},
    {"filter": {"type": "starts-with", "term": "mail", "value": "a"}},
]
PLANS_THERE = {"X-Client-Version": "Apache Iceberg 1.12.0"}
BODIES: dict[str, list[Any]] = {
    "POST /v1/{prefix}/namespaces": [{"namespace": ["x"]}],
    "POST /v1/{prefix}/namespaces/{namespace}/properties": [{"updates": {"a": "b"}, "removals": []}],
    "POST /v1/{prefix}/namespaces/{namespace}/tables": [
        {"name": "t", "schema": {"type": "struct", "fields": []}}
    ],
    "POST /v1/{prefix}/namespaces/{namespace}/register": [{"name": "u", "metadata-location": "x"}],
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}": [
        COMMIT,
        {**COMMIT, "requirements": [{"type": "assert-current-schema-id", "current-schema-id": 9}]},
        {**COMMIT, "updates": [{"action": "remove-snapshots", "snapshot-ids": [1]}]},
    ],
    "POST /v1/{prefix}/tables/rename": [
        {"source": HERE, "destination": {"namespace": ["nowhere"], "name": "u"}}
    ],
    "POST /v1/{prefix}/transactions/commit": [{"table-changes": [{**COMMIT, "identifier": HERE}]}],
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics": [{"report-type": "scan-report"}],
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/sign": [
        {"method": "GET", "uri": "https://s3.example/bucket/key", "region": "x", "headers": {}}
    ],
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan": PLANS,
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/tasks": [{"plan-task": "x"}],
    "POST /v1/{prefix}/namespaces/{namespace}/views": [VIEW],
    "POST /v1/{prefix}/namespaces/{namespace}/register-view": [{"name": "v", "metadata-location": "x"}],
    "POST /v1/{prefix}/namespaces/{namespace}/views/{view}": [COMMIT],
    "POST /v1/{prefix}/views/rename": [
        {"source": HERE, "destination": {"namespace": ["nowhere"], "name": "u"}}
    ],
}
"""What is sent to each endpoint: one that is new has to be given something here."""


def answers(api: Api, user: str) -> Iterator[tuple[str, httpx.Response]]:
    """The answers of every endpoint that the door says it has, to requests about the table."""
    told = api(user, "GET", "/iceberg/v1/config?warehouse=lake.cat")
    yield "config", told
    for query in ("?snapshots=all", "?snapshots=refs", "?referenced-by=s.t"):
        loaded = api(user, "GET", TABLE + query, headers=PLANS_THERE)
        assert loaded.status_code == 200, "who lets the server plan gets the table at once"
        yield query, loaded
    # What drops comes last.
    for endpoint in sorted(told.json()["endpoints"], key=lambda e: e.startswith("DELETE")):
        method, path = endpoint.split(" ")
        for name, value in {"prefix": "lake.cat", "namespace": "s", "table": "t", "view": "v"}.items():
            path = path.replace(f"{{{name}}}", value)
        for body in BODIES[endpoint] if method == "POST" else [None]:
            yield endpoint, api(user, method, f"/iceberg{path.replace('{plan-id}', 'x')}", body)


def forms(secret: str | int) -> set[str]:
    """A value in every form in which it could be sent."""
    if isinstance(secret, int):
        raw = to_bytes(LongType(), secret)
        return {str(secret), raw.hex(), raw.hex().upper()}
    raw = secret.encode()
    return {secret, quote(secret), raw.hex(), raw.hex().upper(), base64.b64encode(raw).decode().rstrip("=")}


def found(answer: httpx.Response, secrets: tuple[str | int, ...]) -> list[str]:
    whole = answer.text + repr(answer.headers.raw)
    return sorted(form for secret in secrets for form in forms(secret) if form in whole)


@pytest.mark.parametrize(("policies", "secrets"), LENSES)
def test_no_answer_holds_anything_of_what_is_hidden(
    api: Api, govern: Govern, policies: list[str], secrets: tuple[str | int, ...]
) -> None:
    govern(policies)
    for endpoint, answer in answers(api, "ann"):
        assert found(answer, secrets) == [], f"{endpoint} answered {answer.status_code}"
    assert api("admin", "GET", TABLE).status_code == 200, "and nothing that ann sent did anything"


def test_the_owners_answers_hold_all_of_it(api: Api) -> None:
    """So that the test above would see it."""
    everything = (ABROAD, *ABROAD_IDS, *SECRETS, *MAILS, *NAMED, *WHOLE)
    whole = api("admin", "GET", TABLE).text
    planned = api("admin", "POST", f"{TABLE}/plan", {"stats-fields": ["id", "region", "ssn", "mail"]}).text
    for secret in everything:
        assert any(form in whole + planned for form in forms(secret)), secret


def files(api: Api, user: str, body: Any, *, polls: bool = True) -> tuple[int, str, list[str]]:
    """What a plan's asker learns: how it went, and which files there are."""
    answer = api(user, "POST", f"{TABLE}/plan", body)
    told = answer.json()
    if polls and answer.status_code == 200:
        told = polled(api, user, TABLE, told)
    tasks = told.get("file-scan-tasks", [])
    status = str(told.get("status") or told["error"]["message"].replace(str(body["filter"]["value"]), "?"))
    return answer.status_code, status, sorted(task["data-file"]["file-path"] for task in tasks)


@pytest.mark.parametrize(
    ("policies", "column", "right", "wrong"),
    [
        pytest.param([MASK], "mail", MAILS[0], "ann.x@q7.io", id="masked"),
        pytest.param([HIDE], "ssn", SECRETS[0], "SSN-7f3a-9999", id="hidden"),
        pytest.param([ROWS], "region", ABROAD, "XX-000000", id="row filter"),
        pytest.param([ROWS], "id", ABROAD_IDS[0], 5_500_000, id="another column of rows left out"),
    ],
)
@pytest.mark.parametrize("type", ["eq", "not-eq", "lt", "gt-eq"])
def test_guessing_a_hidden_value_right_is_answered_as_guessing_it_wrong(
    api: Api, govern: Govern, policies: list[str], column: str, right: Any, wrong: Any, type: str
) -> None:
    probes = [
        {"filter": {"type": type, "term": column, "value": value}, "min-rows-requested": 1}
        for value in (right, wrong)
    ]
    if type == "eq":
        guessed = [files(api, "admin", probe) for probe in probes]
        assert guessed[0] != guessed[1], "to the owner the answers differ"
    govern(policies)
    # Nobody makes copies here, so plans that need some are never done.
    polls = policies == [ROWS]
    assert len({repr(files(api, "ann", probe, polls=polls)) for probe in probes}) == 1


def test_what_conforms_to_the_row_filter_is_planned_and_nothing_else(api: Api, govern: Govern) -> None:
    govern([ROWS])
    tasks = scanned(api, "ann", TABLE)["file-scan-tasks"]
    assert len(tasks) == 2
    assert all("region=EU" in task["data-file"]["file-path"] for task in tasks)


def test_a_restricted_view_writes_nothing(api: Api, govern: Govern) -> None:
    """A commit works on the real files: replacing what one sees would delete what one does not."""
    govern([ROWS])
    before = api("admin", "GET", TABLE).json()
    updates: list[dict[str, Any]] = [
        {"action": "set-properties", "updates": {"a": "b"}},
        {"action": "remove-snapshots", "snapshot-ids": [1]},
        {"action": "remove-snapshot-ref", "ref-name": "kept"},
        {"action": "set-snapshot-ref", "ref-name": "x", "type": "branch", "snapshot-id": 1},
        {"action": "remove-statistics", "snapshot-id": 1},
    ]
    for update in updates:
        commit = {"requirements": [], "updates": [update]}
        assert api("ann", "POST", TABLE, commit).status_code == 403
        together = {"table-changes": [{**commit, "identifier": HERE}]}
        assert api("ann", "POST", f"{ICE}/transactions/commit", together).status_code == 403
    assert api("admin", "GET", TABLE).json() == before
