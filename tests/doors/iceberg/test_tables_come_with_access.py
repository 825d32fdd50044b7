"""Clients that ask get access to the files of what they see, no more, and nobody else learns of it. On a real MinIO."""

import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from headgate.catalogs.openings import Openings
from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from headgate.vending import StorageCredential
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, SCHEMA, failed
from tests.doors.lake import LAKE
from tests.minio import Minio
from tests.openings import opened
from tests.people import People

pytestmark = pytest.mark.real

S3 = "/iceberg/v1/lake.s3"
TABLES = f"{S3}/namespaces/s/tables"
VENDED = {"X-Iceberg-Access-Delegation": "vended-credentials"}
SIGNED = {"X-Iceberg-Access-Delegation": "remote-signing"}
EITHER = {"X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"}
READ = "USE_CATALOG USE_SCHEMA SELECT_TABLE"


@pytest.fixture
def bucket(minio: Minio) -> str:
    return minio.bucket()


@pytest.fixture
def openings(tmp_path: Path, bucket: str) -> Openings:
    return opened(tmp_path, f"s3://{bucket}")


@pytest.fixture(autouse=True)
def tables(api: Api, people: People, minio: Minio, bucket: str, lake: None) -> None:
    """`s3.s.t` and `s3.s.u` of admin's; ann may read, bob may write too, eve may write and is denied to select."""
    declare(api, "s3", {**minio.properties(), "warehouse": f"s3://{bucket}/lake"})
    for name in ("t", "u"):
        made = api("admin", "POST", TABLES, {"name": name, "schema": SCHEMA})
        assert made.status_code == 200, made.text
    people.may("ann", READ, "metalake", "lake")
    people.may("bob", f"{READ} MODIFY_TABLE", "metalake", "lake")
    people.may("eve", "USE_CATALOG USE_SCHEMA MODIFY_TABLE", "metalake", "lake")
    people.may("eve", "SELECT_TABLE", "metalake", "lake", deny=True)
    people.may("una", "USE_CATALOG USE_SCHEMA", "metalake", "lake")


def declare(api: Api, name: str, properties: dict[str, str]) -> None:
    catalog = {"name": name, "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    made = api("admin", "POST", f"{LAKE}/catalogs", catalog)
    assert made.status_code == 200, made.text
    assert (
        api("admin", "POST", f"/iceberg/v1/lake.{name}/namespaces", {"namespace": ["s"]}).status_code == 200
    )


def load(api: Api, user: str, headers: dict[str, str], name: str = "t", **more: Any) -> dict[str, Any]:
    answer = api(user, "GET", f"{TABLES}/{name}", headers=headers, **more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def place(api: Api, name: str = "t") -> str:
    """The key of a table's folder."""
    found: str = load(api, "admin", {}, name)["metadata"]["location"]
    return found.removeprefix("s3://").partition("/")[2]


def client(minio: Minio, config: dict[str, str]) -> Any:
    return minio.client(
        aws_access_key_id=config["s3.access-key-id"],
        aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"],
    )


def may(action: Any) -> bool:
    try:
        action()
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 403:
            raise
        return False
    return True


def test_a_reader_reads_the_table_and_a_writer_writes_it(api: Api, minio: Minio, bucket: str) -> None:
    for user, writes in (("ann", False), ("bob", True), ("eve", True), ("admin", True)):
        loaded = load(api, user, VENDED)
        [credential] = loaded["storage-credentials"]
        assert credential["prefix"] == loaded["metadata"]["location"] + "/"
        assert (
            credential["config"].items() >= {"s3.endpoint": minio.url, "client.region": minio.region}.items()
        )
        assert loaded["config"].items() >= credential["config"].items(), "for clients that only look there"
        s3 = client(minio, credential["config"])
        key = loaded["metadata-location"].removeprefix(f"s3://{bucket}/")
        assert may(lambda s3=s3, key=key: s3.get_object(Bucket=bucket, Key=key))
        file = f"{place(api)}/data/{user}"
        assert may(lambda s3=s3, file=file: s3.put_object(Bucket=bucket, Key=file, Body=b"x")) == writes
        other = load(api, "admin", {}, "u")["metadata-location"].removeprefix(f"s3://{bucket}/")
        assert not may(lambda s3=s3, other=other: s3.get_object(Bucket=bucket, Key=other))
        assert not may(lambda s3=s3: s3.list_objects_v2(Bucket=bucket))
        sibling = f"{place(api)}0/x"
        assert not may(lambda s3=s3, sibling=sibling: s3.put_object(Bucket=bucket, Key=sibling, Body=b"x"))


def test_nothing_is_given_to_who_does_not_ask_or_may_not_read(api: Api) -> None:
    for user, headers in (("ann", {}), ("ann", {"X-Iceberg-Access-Delegation": "other"}), ("eve", {})):
        loaded = load(api, user, headers)
        assert "storage-credentials" not in loaded
        assert "remote-signing-config" not in loaded
        assert not any(key.startswith(("s3.", "client.")) for key in loaded["config"])
    for user in ("una", "nobody"):
        assert api(user, "GET", f"{TABLES}/t", headers=EITHER).status_code == 404
        assert api(user, "GET", f"{TABLES}/t/credentials").status_code == 404
        assert api(user, "POST", f"{TABLES}/t/sign", get("http://x/y")).status_code == 404


def test_who_sees_a_part_of_a_table_reaches_the_folder_of_their_view_and_nothing_else(
    api: Api, minio: Minio, bucket: str
) -> None:
    applied(api, "policy: some\non: lake\nto: [user:ann]\nrows: id = 1\n")
    loaded = load(api, "ann", EITHER)
    [credential] = loaded["storage-credentials"]
    assert credential["prefix"] == loaded["metadata"]["location"] + "/"
    assert "/_headgate/" in credential["prefix"]
    s3 = client(minio, credential["config"])
    own, theirs = (
        load(api, user, {})["metadata-location"].removeprefix(f"s3://{bucket}/") for user in ("ann", "admin")
    )
    assert may(lambda: s3.get_object(Bucket=bucket, Key=own))
    assert not may(lambda: s3.get_object(Bucket=bucket, Key=theirs))
    assert not may(lambda: s3.put_object(Bucket=bucket, Key=own, Body=b"x"))
    assert not may(lambda: s3.delete_object(Bucket=bucket, Key=own))
    assert not may(lambda: s3.list_objects_v2(Bucket=bucket, Prefix=own.rpartition("/")[0]))
    asked = get(f"{minio.url}/{bucket}/{theirs}")
    assert failed(api("ann", "POST", f"{TABLES}/t/sign", asked)) == (403, "ForbiddenException")
    assert api("ann", "POST", f"{TABLES}/t/sign", get(f"{minio.url}/{bucket}/{own}")).status_code == 200
    assert api("bob", "POST", f"{TABLES}/t/sign", asked).status_code == 200
    planned = api("ann", "POST", f"{TABLES}/t/plan", {}, headers=EITHER).json()
    assert "storage-credentials" not in planned, "a plan without files gives access to none"


def test_a_revoked_reader_gets_no_more(api: Api, people: People) -> None:
    assert load(api, "ann", VENDED)["storage-credentials"]
    people.may("ann", "SELECT_TABLE", "metalake", "lake", deny=True)
    assert api("ann", "GET", f"{TABLES}/t", headers=VENDED).status_code in (403, 404)
    assert api("ann", "GET", f"{TABLES}/t/credentials").status_code in (403, 404)


def test_credentials_are_never_answered_from_a_cache(api: Api) -> None:
    plain = api("ann", "GET", f"{TABLES}/t")
    tag = plain.headers["etag"]
    assert api("ann", "GET", f"{TABLES}/t", headers={"If-None-Match": tag}).status_code == 304
    given = api("ann", "GET", f"{TABLES}/t", headers={**VENDED, "If-None-Match": tag})
    assert given.status_code == 200
    assert "etag" not in given.headers
    assert given.headers["cache-control"] == "no-store"


def test_credentials_are_renewed_where_the_client_is_told(api: Api) -> None:
    path = load(api, "ann", VENDED)["config"]["client.refresh-credentials-endpoint"]
    assert path == "v1/lake.s3/namespaces/s/tables/t/credentials"
    again = api("ann", "GET", f"/iceberg/{path}")
    [credential] = again.json()["storage-credentials"]
    assert int(credential["config"]["s3.session-token-expires-at-ms"]) > 0
    assert again.headers["cache-control"] == "no-store"
    assert failed(api("ann", "GET", f"/iceberg/{path}?planId=other")) == (404, "NoSuchPlanIdException")


def test_a_plan_without_files_comes_without_credentials(api: Api) -> None:
    for headers in (VENDED, EITHER, {}):
        planned = api("ann", "POST", f"{TABLES}/t/plan", {}, headers=headers).json()
        assert (planned["status"], planned["file-scan-tasks"]) == ("completed", [])
        assert "storage-credentials" not in planned


def test_a_new_table_comes_with_access_to_its_own_folder(api: Api, minio: Minio, bucket: str) -> None:
    made = api("admin", "POST", TABLES, {"name": "new", "schema": SCHEMA}, headers=VENDED).json()
    staged = {"name": "later", "schema": SCHEMA, "stage-create": True}
    to_be = api("admin", "POST", TABLES, staged, headers=VENDED).json()
    for told in (made, to_be):
        [credential] = told["storage-credentials"]
        assert credential["prefix"] == told["metadata"]["location"] + "/"
        s3 = client(minio, told["config"])
        folder = told["metadata"]["location"].removeprefix(f"s3://{bucket}/")
        assert may(lambda s3=s3, folder=folder: s3.put_object(Bucket=bucket, Key=f"{folder}/x", Body=b"x"))
        assert not may(lambda s3=s3: s3.put_object(Bucket=bucket, Key=f"{place(api)}/x", Body=b"x"))


def test_staging_a_table_elsewhere_gives_nothing(api: Api, bucket: str) -> None:
    theirs = load(api, "admin", {})["metadata"]["location"]
    for location in (theirs, f"{theirs}/data", theirs.rpartition("/")[0], "s3://other/x", f"{theirs}/../u"):
        staged = {"name": "later", "schema": SCHEMA, "stage-create": True, "location": location}
        answer = api("bob", "POST", TABLES, staged, headers=EITHER)
        assert "storage-credentials" not in answer.text
        assert "s3.secret-access-key" not in answer.text


def test_a_replayed_staging_gives_no_access_to_what_was_made_of_it(
    api: Api, people: People, minio: Minio, bucket: str
) -> None:
    people.may("ann", "CREATE_TABLE", "metalake", "lake")
    body = {"name": "later", "schema": SCHEMA, "stage-create": True}
    headers = {**VENDED, "Idempotency-Key": str(uuid.uuid4())}

    def stage() -> httpx.Response:
        return api("ann", "POST", TABLES, body, headers=headers)

    def writes(told: Any, location: str) -> bool:
        s3, folder = client(minio, told["config"]), location.removeprefix(f"s3://{bucket}/")
        return may(lambda: s3.put_object(Bucket=bucket, Key=f"{folder}/x", Body=b"x"))

    first, again = stage().json(), stage().json()
    for told in (first, again):
        assert writes(told, told["metadata"]["location"]), "with all rights a replay gives what staging gives"
    made = first["metadata"]
    commit = {
        "requirements": [{"type": "assert-create"}],
        "updates": [
            {"action": "assign-uuid", "uuid": made["table-uuid"]},
            {"action": "set-location", "location": made["location"]},
            {"action": "add-schema", "schema": made["schemas"][0]},
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": made["partition-specs"][0]},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": made["sort-orders"][0]},
            {"action": "set-default-sort-order", "sort-order-id": -1},
        ],
    }
    assert api("ann", "POST", f"{TABLES}/later", commit).status_code == 200
    owner = {"name": "admin", "type": "USER"}
    assert api("admin", "PUT", f"{LAKE}/owners/table/s3.s.later", owner).status_code == 200
    assert "s3.secret-access-key" not in stage().text, "the name is taken"
    named = [{"namespace": ["s"], "name": name} for name in ("later", "elsewhere")]
    moved = {"source": named[0], "destination": named[1]}
    assert api("admin", "POST", f"{S3}/tables/rename", moved).status_code == 204
    fresh = stage().json()
    assert writes(fresh, fresh["metadata"]["location"])
    assert not writes(fresh, made["location"]), "that folder is a table of admin's now"
    people.may("ann", f"{READ} CREATE_TABLE", "metalake", "lake", deny=True)
    gone = stage()
    assert gone.status_code in (403, 404)
    assert "s3.secret-access-key" not in gone.text
    assert "metadata" not in gone.json()


def test_staging_under_a_policy_gives_nothing(api: Api) -> None:
    applied(api, "policy: some\non: lake\nto: [everyone]\nrows: id = 1\n")
    staged = {"name": "later", "schema": SCHEMA, "stage-create": True}
    answer = api("admin", "POST", TABLES, staged, headers=VENDED)
    assert answer.status_code == 200
    assert "s3.secret-access-key" not in answer.text


def test_a_place_that_was_taken_back_is_given_to_nobody(api: Api, minio: Minio, bucket: str) -> None:
    elsewhere = f"s3://{bucket}/elsewhere"
    declare(
        api, "two", {**minio.properties(), "warehouse": f"s3://{bucket}/two", "allowed-locations": elsewhere}
    )
    tables = "/iceberg/v1/lake.two/namespaces/s/tables"
    made = {"name": "t", "schema": SCHEMA, "location": f"{elsewhere}/t"}
    assert api("admin", "POST", tables, made).status_code == 200
    assert api("admin", "GET", f"{tables}/t", headers=VENDED).json()["storage-credentials"]
    removed = {"updates": [{"@type": "removeProperty", "property": "allowed-locations"}]}
    assert api("admin", "PUT", f"{LAKE}/catalogs/two", removed).status_code == 200
    assert "storage-credentials" not in api("admin", "GET", f"{tables}/t", headers=VENDED).json()


def get(uri: str, method: str = "GET") -> dict[str, Any]:
    return {"method": method, "region": Minio.region, "uri": uri, "headers": {"Range": ["bytes=0-"]}}


def test_requests_are_signed_for_the_tables_files_only(api: Api, minio: Minio, bucket: str) -> None:
    loaded = load(api, "ann", SIGNED)
    assert loaded["remote-signing-config"] == {"properties": {}, "headers": {}}
    assert "storage-credentials" not in loaded
    config = loaded["config"]
    assert (config["s3.remote-signing-enabled"], config["s3.signer"]) == ("true", "S3V4RestSigner")
    assert config["s3.signer.endpoint"] == "v1/lake.s3/namespaces/s/tables/t/sign"
    assert not any("secret" in key or "token" in key for key in config)
    sign = f"/iceberg/{config['s3.signer.endpoint']}"
    uri = loaded["metadata-location"].replace("s3://", f"{minio.url}/")
    answer = api("ann", "POST", sign, get(uri))
    assert answer.headers["cache-control"] == "private"
    signed = answer.json()
    headers = {name: values[0] for name, values in signed["headers"].items()}
    assert httpx.get(signed["uri"], headers=headers).json()["location"] == loaded["metadata"]["location"]
    other = load(api, "admin", {}, "u")["metadata-location"].replace("s3://", f"{minio.url}/")
    for refused in (other, uri.replace(place(api), f"{place(api)}/../{place(api, 'u').rpartition('/')[2]}")):
        assert failed(api("ann", "POST", sign, get(refused))) == (403, "ForbiddenException")
    new = f"{minio.url}/{bucket}/{place(api)}/data/new"
    assert failed(api("ann", "POST", sign, get(new, "PUT"))) == (403, "ForbiddenException")
    written = api("bob", "POST", sign, get(new, "PUT"))
    assert (written.status_code, written.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.parametrize(
    "body", [{}, {"method": "GET"}, {**get("x"), "headers": {"a": "b"}}, [], {**get("x"), "uri": 1}]
)
def test_a_request_that_cannot_be_read_is_a_400(api: Api, body: Any) -> None:
    assert failed(api("ann", "POST", f"{TABLES}/t/sign", body)) == (400, "IllegalArgumentException")


def test_local_folders_give_nothing(api: Api) -> None:
    api("admin", "POST", f"{ICE}/namespaces/s/tables", {"name": "t", "schema": SCHEMA}, headers=EITHER)
    loaded = api("admin", "GET", f"{ICE}/namespaces/s/tables/t", headers=EITHER).json()
    assert loaded["config"] == {}
    assert "storage-credentials" not in loaded
    given = api("admin", "GET", f"{ICE}/namespaces/s/tables/t/credentials")
    assert given.json() == {"storage-credentials": []}
    signed = api("admin", "POST", f"{ICE}/namespaces/s/tables/t/sign", get("http://127.0.0.1/a/b"))
    assert failed(signed) == (403, "ForbiddenException")


def test_settings_that_make_no_sense_are_refused_when_the_catalog_is_declared(api: Api, bucket: str) -> None:
    wrong = {"warehouse": f"s3://{bucket}/x", "s3-role-arn": "nobody"}
    catalog = {"name": "bad", "type": "relational", "provider": "lakehouse-iceberg", "properties": wrong}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 400
    changed = {"updates": [{"@type": "setProperty", "property": "s3-region", "value": "not a region"}]}
    assert api("admin", "PUT", f"{LAKE}/catalogs/s3", changed).status_code == 400


def test_everything_given_is_audited_and_no_secret_is_kept(
    api: Api, steward: Steward, minio: Minio, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keyed = {**VENDED, "Idempotency-Key": "0190a0b0-1111-7000-8000-000000000001"}
    secrets = []
    for _ in range(2):
        made = api("admin", "POST", TABLES, {"name": "new", "schema": SCHEMA}, headers=keyed)
        secrets.append(made.json()["config"]["s3.secret-access-key"])
    assert made.headers["idempotency-replayed"] == "true"
    given = load(api, "ann", VENDED)
    secrets += [given["config"][f"s3.{what}"] for what in ("secret-access-key", "session-token")]
    uri = given["metadata-location"].replace("s3://", f"{minio.url}/")
    secrets += api("ann", "POST", f"{TABLES}/t/sign", get(uri)).json()["headers"]["Authorization"]
    secrets.append(minio.secret_key)
    events = api("admin", "GET", "/api/headgate/audit?metalake=lake&limit=1000").json()["events"]
    location = given["metadata"]["location"]
    mine = [event for event in events if event["user"] == "ann"]
    [vended] = [event["details"] for event in mine if "vended" in event["details"]]
    assert vended["vended"] == [location]
    known = StorageCredential(location, given["config"])
    assert vended["keys"] == [known.print], "what stands for the key by which storage logs tell who read"
    secrets.insert(0, given["config"]["s3.access-key-id"])
    assert any(event["details"].get("places") == [given["metadata-location"]] for event in mine)
    steward.kernel.reads.flush()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    listed = api("ann", "GET", f"{LAKE}/catalogs/s3").text
    for secret in secrets[:-1]:
        assert secret.encode() not in kept
        assert secret not in caplog.text
    assert minio.secret_key not in listed
    assert not any(secret in str(events) for secret in secrets)


def test_who_was_given_access_to_write_counts_as_having_written(api: Api, steward: Steward) -> None:
    """They may put files in the place of others without a commit, also after the right to write is gone."""

    def wrote() -> frozenset[str]:
        node = steward.kernel.authority().find(ObjectRef("lake", ObjectType.TABLE, ("s3", "s", "t")))
        assert node is not None
        return steward.kernel.authority().writers.get(node.id) or frozenset()

    load(api, "bob", {})
    load(api, "ann", VENDED)
    assert wrote() == {"admin"}
    load(api, "bob", VENDED)
    assert wrote() == {"admin", "bob"}
    start = steward.kernel.store.revision()
    load(api, "bob", VENDED)
    assert steward.kernel.store.revision() == start, "kept the first time only"
