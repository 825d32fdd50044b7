"""Where a plan's files fit no session policy, its signer signs reads of these files and nothing else, under today's rights.

On a real MinIO.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from headgate import planning
from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from headgate.steward.reads.planning import answering
from headgate.steward.reads.planning.evaluations import Evaluations
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import failed
from tests.doors.lake import LAKE
from tests.minio import Minio
from tests.openings import opened
from tests.people import People

pytestmark = pytest.mark.real

TABLES = "/iceberg/v1/lake.s3/namespaces/s/tables"
VENDED = {"X-Iceberg-Access-Delegation": "vended-credentials"}
SIGNED = {"X-Iceberg-Access-Delegation": "remote-signing"}
EITHER = {"X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"}
READ = "USE_CATALOG USE_SCHEMA SELECT_TABLE"
REGIONS = [f"region-{number:02}" for number in range(30)]
SOME = {"filter": {"type": "lt", "term": "region", "value": "region-25"}}
"""A filter that leaves 25 of the files: too many for a session policy."""


@pytest.fixture
def bucket(minio: Minio) -> str:
    return minio.bucket()


@pytest.fixture
def openings(tmp_path: Path, bucket: str) -> Openings:
    return opened(tmp_path, f"s3://{bucket}")


@pytest.fixture
def forged(minio: Minio, bucket: str, tmp_path: Path) -> dict[str, str]:
    """Tables of thirty files each, one for each region, by where their documents lie."""
    made = SqlCatalog(
        "made",
        uri=f"sqlite:///{tmp_path}/made.db",
        warehouse=f"s3://{bucket}/made",
        **{
            "s3.endpoint": minio.url,
            "s3.access-key-id": minio.key_id,
            "s3.secret-access-key": minio.secret_key,
            "s3.region": minio.region,
        },
    )
    made.create_namespace("s")
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "region", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"))
    rows = pa.table({"id": pa.array(range(30), pa.int64()), "region": REGIONS})
    found = {}
    for name in ("t", "u"):
        table = made.create_table(f"s.{name}", schema, partition_spec=spec)
        table.append(rows)
        found[name] = table.metadata_location
    return found


@pytest.fixture(autouse=True)
def tables(api: Api, people: People, minio: Minio, bucket: str, lake: None, forged: dict[str, str]) -> None:
    """`s3.s.t` and `s3.s.u` of admin's, which ann and bob may read."""
    more = {"warehouse": f"s3://{bucket}/lake", "allowed-locations": f"s3://{bucket}/made"}
    catalog = {
        "name": "s3",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {**minio.properties(), **more},
    }
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    assert api("admin", "POST", "/iceberg/v1/lake.s3/namespaces", {"namespace": ["s"]}).status_code == 200
    for name, at in forged.items():
        body = {"name": name, "metadata-location": at}
        made = api("admin", "POST", "/iceberg/v1/lake.s3/namespaces/s/register", body)
        assert made.status_code == 200, made.text
    for user in ("ann", "bob"):
        people.may(user, READ, "metalake", "lake")


def planned(
    api: Api, user: str = "ann", body: Any = None, headers: dict[str, str] = EITHER, name: str = "t"
) -> dict[str, Any]:
    answer = api(user, "POST", f"{TABLES}/{name}/plan", {} if body is None else body, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["status"] == "completed"
    return found


def files(plan: dict[str, Any]) -> list[str]:
    return [task["data-file"]["file-path"] for task in plan["file-scan-tasks"]]


def signer(plan: dict[str, Any]) -> str:
    """The path of a plan's signer."""
    [credential] = plan["storage-credentials"]
    config = credential["config"]
    assert config["s3.remote-signing-enabled"] == "true"
    assert config["s3.signer.endpoint"] == config["rest.remote-signing.endpoint"]
    assert not any("secret" in key or "access-key" in key for key in config)
    assert all(file.startswith(credential["prefix"]) for file in files(plan))
    return f"/iceberg/{config['s3.signer.endpoint']}"


@pytest.fixture
def sign(api: Api, minio: Minio) -> Callable[..., httpx.Response]:
    def asked(at: str, file: str, user: str = "ann", method: str = "GET") -> httpx.Response:
        uri = file.replace("s3://", f"{minio.url}/")
        return api(user, "POST", at, {"method": method, "region": minio.region, "uri": uri, "headers": {}})

    return asked


Sign = Callable[..., httpx.Response]


def test_it_signs_reads_of_the_planned_files_and_of_no_other(api: Api, sign: Sign) -> None:
    every, some = planned(api), planned(api, body=SOME)
    at, inside = signer(some), set(files(some))
    assert (len(files(every)), len(inside)) == (30, 25)
    for file in files(every):
        answer = sign(at, file)
        if file not in inside:
            assert failed(answer) == (403, "ForbiddenException")
            continue
        told = answer.json()
        headers = {name: values[0] for name, values in told["headers"].items()}
        assert httpx.get(told["uri"], headers=headers).content.startswith(b"PAR1")
    document = api("ann", "GET", f"{TABLES}/t").json()["metadata-location"]
    assert failed(sign(at, document)) == (403, "ForbiddenException")
    assert sign(f"{TABLES}/t/sign", document).status_code == 200, "the table's own signer signs it"
    outside = next(file for file in files(every) if file not in inside)
    assert sign(f"{TABLES}/t/sign", outside).status_code == 200
    assert sign(signer(every), outside).status_code == 200


def test_nothing_is_written_through_it(api: Api, sign: Sign) -> None:
    plan = planned(api, "admin")
    file = files(plan)[0]
    for method in ("PUT", "DELETE"):
        assert failed(sign(signer(plan), file, "admin", method)) == (403, "ForbiddenException")
        assert sign(f"{TABLES}/t/sign", file, "admin", method).status_code == 200, "the owner's may"
    for method in ("POST", "OPTIONS", "get"):
        assert failed(sign(signer(plan), file, "admin", method)) == (403, "ForbiddenException")
    assert sign(signer(plan), file, "admin", "HEAD").status_code == 200


def test_who_takes_credentials_only_gets_them_for_the_folder(api: Api) -> None:
    [credential] = planned(api, headers=VENDED)["storage-credentials"]
    assert "s3.secret-access-key" in credential["config"]
    assert "s3.signer.endpoint" not in credential["config"]
    assert "storage-credentials" not in planned(api, headers={})


def test_few_files_come_with_credentials_or_with_a_signer_of_their_own(api: Api, sign: Sign) -> None:
    one = {"filter": {"type": "eq", "term": "region", "value": "region-07"}}
    [credential] = planned(api, body=one)["storage-credentials"]
    assert "s3.secret-access-key" in credential["config"], (
        "what fits a session policy is not signed one by one"
    )
    plan = planned(api, body=one, headers=SIGNED)
    [file] = files(plan)
    assert sign(signer(plan), file).status_code == 200
    other = next(other for other in files(planned(api)) if other != file)
    assert failed(sign(signer(plan), other)) == (403, "ForbiddenException")


MISSING = (404, "NoSuchPlanTaskException")


def test_a_token_that_is_not_the_callers_own_for_this_table_opens_nothing(
    api: Api, sign: Sign, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = planned(api)
    file, at = files(mine)[0], signer(mine)
    path, _, token = at.partition("?plan=")
    theirs = signer(planned(api, "bob"))
    other = signer(planned(api, name="u")).partition("?plan=")[2]
    assert sign(theirs, file, "bob").status_code == 200
    monkeypatch.setattr(answering, "FILES_PER_TASK", 10)
    tasks = api("ann", "POST", f"{TABLES}/t/plan", {"case-sensitive": True, "select": ["id"]}).json()
    [task, *_] = tasks["plan-tasks"]
    wrong = [theirs, f"{path}?plan=", f"{path}?plan={other}", f"{path}?plan={task}"]
    wrong += [
        f"{path}?plan={token[:-2]}",
        f"{path}?plan=x",
        f"{path}?plan={'A' * 30_000}",
        f"{path}?plan=%00%ff",
    ]
    answers = [sign(each, file) for each in wrong]
    assert [answer.status_code for answer in answers[:-1]] == [404] * 7
    assert answers[-1].status_code == 400
    assert {failed(answer) for answer in answers[:-1]} == {MISSING}
    assert len({answer.text for answer in (answers[0], *answers[3:5])}) == 1
    assert failed(api("ann", "POST", f"{TABLES}/t/tasks", {"plan-task": token})) == MISSING
    assert sign(at, file).status_code == 200


def test_a_right_that_was_taken_away_is_gone_though_the_plan_is_known(
    api: Api, sign: Sign, people: People
) -> None:
    plan = planned(api)
    file, at = files(plan)[0], signer(plan)
    assert sign(at, file).status_code == 200
    people.may("ann", "SELECT_TABLE", "metalake", "lake", deny=True)
    assert sign(at, file).status_code in (403, 404)


def test_a_policy_that_is_made_ends_what_was_planned_before(api: Api, sign: Sign) -> None:
    plan = planned(api)
    file, at = files(plan)[0], signer(plan)
    assert sign(at, file).status_code == 200
    applied(api, "policy: one\non: lake\nto: [user:ann]\nrows: region = 'region-03'\n")
    for file in files(plan):
        assert failed(sign(at, file)) == MISSING
    applied(api, "policy: one\non: lake\nto: [user:ann]\ndeny: true\n")
    assert sign(at, file).status_code == 403


def test_restricted_readers_have_what_was_planned_for_them_signed(api: Api, sign: Sign) -> None:
    whole = planned(api)
    applied(api, "policy: most\non: lake\nto: [user:ann]\nrows: region < 'region-25'\n")
    assert api("ann", "GET", f"{TABLES}/t").status_code == 200, "which makes the governed manifests"
    plan = planned(api)
    at = signer(plan)
    assert set(files(plan)) < set(files(whole))
    assert len(files(plan)) == 25, "they conform, and so are given as they are"
    for file in files(whole):
        answer = sign(at, file)
        assert answer.status_code == (200 if file in files(plan) else 403)
    narrower = {"filter": {"type": "lt", "term": "region", "value": "region-20"}}
    fewer = planned(api, body=narrower)
    left = sorted(set(files(plan)) - set(files(fewer)))
    assert len(left) == 5
    assert failed(sign(signer(fewer), left[0])) == (403, "ForbiddenException")
    assert sign(at, left[0]).status_code == 200
    applied(api, "policy: most\non: lake\nto: [user:ann]\nrows: region < 'region-24'\n")
    assert failed(sign(at, files(fewer)[0])) == MISSING


def test_a_snapshot_that_expired_is_signed_for_no_more(api: Api, sign: Sign) -> None:
    plan = planned(api)
    file, at = files(plan)[0], signer(plan)
    known = api("admin", "GET", f"{TABLES}/t").json()["metadata"]["current-snapshot-id"]
    assert sign(at, file).status_code == 200
    updates = [
        {"action": "remove-snapshot-ref", "ref-name": "main"},
        {"action": "remove-snapshots", "snapshot-ids": [known]},
    ]
    gone = api("admin", "POST", f"{TABLES}/t", {"requirements": [], "updates": updates})
    assert gone.status_code == 200, gone.text
    assert failed(sign(at, file)) == MISSING


def test_a_plan_that_comes_in_parts_or_later_has_a_signer_too(
    api: Api, sign: Sign, steward: Steward, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = files(planned(api))
    monkeypatch.setattr(answering, "FILES_PER_TASK", 10)
    parts = api("ann", "POST", f"{TABLES}/t/plan", {"select": ["id"]}, headers=EITHER).json()
    assert "plan-tasks" in parts
    [credential] = parts["storage-credentials"]
    at = f"/iceberg/{credential['config']['s3.signer.endpoint']}"
    assert [sign(at, file).status_code for file in whole] == [200] * 30
    monkeypatch.undo()
    monkeypatch.setattr(steward.scans, "patience", 0)
    monkeypatch.setattr(steward.answering, "evaluations", Evaluations())
    later = api("ann", "POST", f"{TABLES}/t/plan", SOME, headers=EITHER).json()
    poll = f"{TABLES}/t/plan/{later['plan-id']}"
    while later["status"] == "submitted":
        later = api("ann", "GET", poll, headers=EITHER).json()
    assert len(files(later)) == 25
    assert sign(signer(later), files(later)[0]).status_code == 200
    assert failed(sign(signer(later), max(whole))) == (403, "ForbiddenException")


def test_a_plan_is_made_again_once_for_all_its_files_and_again_when_anything_changed(
    api: Api, sign: Sign, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(api)
    at = signer(plan)
    made: list[Any] = []
    real: Callable[..., Any] = planning.plan_from_token

    def counted(*args: Any, **more: Any) -> Any:
        made.append(args)
        return real(*args, **more)

    monkeypatch.setattr(planning, "plan_from_token", counted)
    for file in files(plan):
        assert sign(at, file).status_code == 200
    assert len(made) == 1
    assert api("admin", "POST", "/api/metalakes/lake/tags", {"name": "pii"}).status_code == 200
    assert sign(at, files(plan)[0]).status_code == 200
    assert len(made) == 2


def test_too_many_files_and_too_long_a_filter_come_with_the_folder(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOST_SIGNED", "LONGEST_SIGNER"):
        with monkeypatch.context() as patch:
            patch.setattr(answering, name, 20)
            [credential] = planned(api, body={"select": ["id"], "min-rows-requested": len(name)})[
                "storage-credentials"
            ]
        assert "s3.secret-access-key" in credential["config"]


def test_it_is_audited_what_was_signed_for_which_plan_and_no_token_is_kept(api: Api, sign: Sign) -> None:
    plan = planned(api)
    file, at = files(plan)[0], signer(plan)
    assert sign(at, file).status_code == 200
    assert sign(at, f"{file}x").status_code == 403
    assert sign(f"{TABLES}/t/sign", file).status_code == 200
    query = "/api/headgate/audit?metalake=lake&object=s3.s.t&limit=1000&user=ann"
    events = [event["details"] for event in api("admin", "GET", query).json()["events"]]
    by_step = {event["step"]: event for event in events if "step" in event}
    print_ = by_step["plan"]["signer"]
    assert (by_step["access"]["scope"], by_step["access"]["signer"]) == ("plan", print_)
    assert "vended" not in by_step["access"]
    assert (by_step["sign"]["outcome"], by_step["sign"]["error"]) == ("refused", "Forbidden")
    [own] = [event for event in events if "signed" in event and "signer" in event]
    [table] = [event for event in events if "signed" in event and "signer" not in event]
    assert (own["signer"], own["places"], len(own["keys"])) == (print_, [file], 1)
    assert "keys" not in table
    assert at.partition("?plan=")[2] not in str(events)
