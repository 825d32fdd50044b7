"""Against a real MinIO: a credential or signature reaches what it was made for, and nothing else."""

import base64
import hashlib
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headgate.model.errors import ConnectionFailed, Forbidden
from headgate.vending import NoVending, Scope, SignRequest, StorageCredential, TooManyFiles, Vendor, Vendors
from headgate.vending.policy import policy
from tests.minio import Minio
from tests.openings import opened

pytestmark = pytest.mark.real

OURS = ("w/t1/data/a", "w/t1/data/b c+d%2F=*.parquet", "w/t1/metadata/ü.json")
THEIRS = ("w/t10/a", "w/t1", "w/t2/data/a", "w/t2/data/b", "other")
SECRET = b"not for you"


@pytest.fixture(scope="module")
def bucket(minio: Minio) -> str:
    name = minio.bucket()
    for key in (*OURS, *THEIRS[:1], *THEIRS[2:]):
        minio.client().put_object(Bucket=name, Key=key, Body=key.encode() if key in OURS else SECRET)
    return name


@pytest.fixture
def vendor(minio: Minio, bucket: str) -> Vendor:
    return Vendors(opened(f"s3://{bucket}")).of(minio.properties())


def client_of(minio: Minio, credential: StorageCredential) -> Any:
    return minio.client(
        aws_access_key_id=credential.config["s3.access-key-id"],
        aws_secret_access_key=credential.config["s3.secret-access-key"],
        aws_session_token=credential.config["s3.session-token"],
    )


def denied(action: Callable[[], Any]) -> bool:
    with pytest.raises(ClientError) as refused:
        action()
    return refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_a_reader_reads_the_folder_and_gets_nothing_else(minio: Minio, bucket: str, vendor: Vendor) -> None:
    scope = Scope(folders=(f"s3://{bucket}/w/t1",), files=(f"s3://{bucket}/w/t2/data/a",))
    [credential] = vendor.vend(scope, name="ann@example.com")
    assert credential.prefix == f"s3://{bucket}/w/"
    s3 = client_of(minio, credential)
    for key in OURS:
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
    assert s3.get_object(Bucket=bucket, Key="w/t2/data/a")["Body"].read() == SECRET, (
        "the one file that was named"
    )
    for key in ("w/t10/a", "w/t2/data/b", "w/t1", "other"):
        assert denied(lambda key=key: s3.get_object(Bucket=bucket, Key=key))
        assert denied(lambda key=key: s3.head_object(Bucket=bucket, Key=key))
    assert denied(lambda: s3.list_objects_v2(Bucket=bucket))
    assert denied(lambda: s3.list_objects_v2(Bucket=bucket, Prefix="w/t1/"))
    assert denied(lambda: s3.list_buckets()) or s3.list_buckets()["Buckets"] == []
    assert denied(lambda: s3.put_object(Bucket=bucket, Key="w/t1/data/new", Body=b"x"))
    assert denied(lambda: s3.delete_object(Bucket=bucket, Key=OURS[0]))
    assert denied(lambda: s3.get_bucket_policy(Bucket=bucket))
    copy = {"Bucket": bucket, "Key": "w/t2/data/b"}
    assert denied(lambda: s3.copy_object(Bucket=bucket, Key="w/t1/data/copy", CopySource=copy))


def test_a_writer_writes_the_folder_and_nothing_else(minio: Minio, bucket: str, vendor: Vendor) -> None:
    [credential] = vendor.vend(Scope(write=(f"s3://{bucket}/w/t3",)), name="ann")
    s3 = client_of(minio, credential)
    s3.put_object(Bucket=bucket, Key="w/t3/a", Body=b"mine")
    assert s3.get_object(Bucket=bucket, Key="w/t3/a")["Body"].read() == b"mine"
    upload = s3.create_multipart_upload(Bucket=bucket, Key="w/t3/b")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key="w/t3/b", UploadId=upload, PartNumber=1, Body=b"part")
    parts = {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
    s3.complete_multipart_upload(Bucket=bucket, Key="w/t3/b", UploadId=upload, MultipartUpload=parts)
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="w/t3/")["Contents"]
    assert [entry["Key"] for entry in listed] == ["w/t3/a", "w/t3/b"]
    s3.delete_object(Bucket=bucket, Key="w/t3/a")
    for prefix in ("", "w/", "w/t3", "w/t30/", "w/t1/"):
        assert denied(lambda prefix=prefix: s3.list_objects_v2(Bucket=bucket, Prefix=prefix))
    for key in ("w/t1/data/new", "w/t30/a", "w/t3"):
        assert denied(lambda key=key: s3.put_object(Bucket=bucket, Key=key, Body=b"x"))
        assert denied(lambda key=key: s3.delete_object(Bucket=bucket, Key=key))
    for key in OURS[:1]:
        source = {"Bucket": bucket, "Key": key}
        assert denied(lambda source=source: s3.copy_object(Bucket=bucket, Key="w/t3/c", CopySource=source))


def test_a_policy_that_does_not_fit_is_refused_before_the_store_is_asked(
    minio: Minio, bucket: str, vendor: Vendor
) -> None:
    files = tuple(f"s3://{bucket}/w/t1/data/{number:040}.parquet" for number in range(50))
    with pytest.raises(TooManyFiles):
        vendor.vend(Scope(files=files), name="ann")
    most = max(n for n in range(1, 50) if _fits(files[:n]))
    [credential] = vendor.vend(Scope(files=files[:most]), name="ann")
    assert denied(lambda: client_of(minio, credential).get_object(Bucket=bucket, Key=OURS[0]))


def _fits(files: tuple[str, ...]) -> bool:
    try:
        policy(Scope(files=files))
    except TooManyFiles:
        return False
    return True


def test_a_session_is_used_again_for_the_same_scope_and_person_and_not_after_half_its_life(
    minio: Minio, bucket: str, vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key_id(folder: str, name: str) -> str:
        [credential] = vendor.vend(Scope(folders=(f"s3://{bucket}/{folder}",)), name=name)
        left = int(credential.config["s3.session-token-expires-at-ms"]) / 1000 - time.time()
        assert 400 < left <= 905, (
            "a client that takes new ones five minutes ahead is not sent round in circles"
        )
        return credential.config["s3.access-key-id"]

    first = key_id("w/t1", "ann")
    assert key_id("w/t1", "ann") == first
    assert len({first, key_id("w/t1", "bob"), key_id("w/t2", "ann")}) == 3
    now = time.monotonic()
    monkeypatch.setattr("headgate.vending.vendor.time.monotonic", lambda: now + 451)
    assert key_id("w/t1", "ann") != first


def test_a_store_that_is_away_or_refuses_is_told_without_its_words(minio: Minio, bucket: str) -> None:
    scope = Scope(folders=(f"s3://{bucket}/w/t1",))
    wrong = Vendors(opened(f"s3://{bucket}")).of(
        minio.properties(**{"s3-secret-access-key": "wrong-key-of-theirs"})
    )
    with pytest.raises(ConnectionFailed) as refused:
        wrong.vend(scope, name="ann")
    assert "wrong-key" not in str(refused.value)
    assert minio.key_id not in str(refused.value)
    away = Vendors(opened(f"s3://{bucket}")).of(minio.properties(**{"s3-sts-endpoint": "http://127.0.0.1:9"}))
    with pytest.raises(ConnectionFailed, match="EndpointConnectionError"):
        away.vend(scope, name="ann")


def test_without_a_role_no_credential_is_given(minio: Minio, bucket: str) -> None:
    plain = Vendors(opened(f"s3://{bucket}")).of(minio.properties(**{"s3-role-arn": ""}))
    with pytest.raises(NoVending):
        plain.vend(Scope(folders=(f"s3://{bucket}/w/t1",)), name="ann")


# -- signatures -----------------------------------------------------------------------------------------------------


def send(
    vendor: Vendor, scope: Scope, method: str, uri: str, content: bytes | None = None, **more: str
) -> httpx.Response:
    """Have a request signed and send it, as a client would, with further headers that nobody signed."""
    request = SignRequest(method, Minio.region, uri, {"Range": ["bytes=0-99"]} if method == "GET" else {})
    signed = vendor.sign(request, scope, session=scope, name="ann")
    headers = {name: values[0] for name, values in signed.headers.items()}
    own = {name.replace("_", "-"): value for name, value in more.items()}
    return httpx.request(method, signed.uri, headers={**headers, **own}, content=content)


@pytest.mark.parametrize("role", [True, False])
def test_signed_reads_are_accepted_whatever_the_key_is(minio: Minio, bucket: str, role: bool) -> None:
    without = {} if role else {"s3-role-arn": "", "s3-remote-signing": "true"}
    vendor = Vendors(opened(f"s3://{bucket}")).of(minio.properties(**without))
    scope = Scope(folders=(f"s3://{bucket}/w/t1",))
    for key in OURS:
        answer = send(vendor, scope, "GET", f"{minio.url}/{bucket}/{quote(key)}", Range="bytes=0-99")
        assert (answer.status_code, answer.content) == (206, key.encode())
        assert send(vendor, scope, "HEAD", f"{minio.url}/{bucket}/{quote(key)}").status_code == 200


def test_a_signature_serves_no_other_key_method_or_time(minio: Minio, bucket: str, vendor: Vendor) -> None:
    scope = Scope(folders=(f"s3://{bucket}/w/t1",))
    uri = f"{minio.url}/{bucket}/{OURS[0]}"
    signed = vendor.sign(SignRequest("GET", minio.region, uri, {}), scope, session=scope, name="ann")
    headers = {name: values[0] for name, values in signed.headers.items()}
    assert httpx.get(signed.uri, headers=headers).content == OURS[0].encode()
    for key in THEIRS:
        assert httpx.get(f"{minio.url}/{bucket}/{key}", headers=headers).status_code == 403
    for query in ("?versionId=null", "?acl", "?list-type=2"):
        assert httpx.get(signed.uri + query, headers=headers).status_code == 403
    for method in ("HEAD", "PUT", "DELETE", "POST"):
        assert httpx.request(method, signed.uri, headers=headers).status_code in (403, 400)
    assert httpx.get(f"{minio.url}/{bucket}", headers=headers).status_code == 403
    early = {**headers, "X-Amz-Date": "20200101T000000Z"}
    assert httpx.get(signed.uri, headers=early).status_code in (403, 400)


def test_a_signed_write_cannot_be_bent_into_a_copy_of_what_its_writer_may_not_read(
    minio: Minio, bucket: str, vendor: Vendor
) -> None:
    scope = Scope(write=(f"s3://{bucket}/w/t4",))
    uri = f"{minio.url}/{bucket}/w/t4/new"
    assert send(vendor, scope, "PUT", uri, b"mine").status_code == 200
    bent = send(vendor, scope, "PUT", uri, None, x_amz_copy_source=f"/{bucket}/w/t2/data/a")
    assert bent.status_code == 403
    assert minio.client().get_object(Bucket=bucket, Key="w/t4/new")["Body"].read() == b"mine"


def test_signed_uploads_and_deletes_work_in_the_folder(minio: Minio, bucket: str, vendor: Vendor) -> None:
    scope = Scope(write=(f"s3://{bucket}/w/t5",))
    uri = f"{minio.url}/{bucket}/w/t5/big"
    begun = send(vendor, scope, "POST", f"{uri}?uploads")
    upload = begun.text.partition("<UploadId>")[2].partition("<")[0]
    part = send(vendor, scope, "PUT", f"{uri}?partNumber=1&uploadId={quote(upload)}", b"part")
    body = f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{part.headers['ETag']}</ETag></Part></CompleteMultipartUpload>"
    done = send(vendor, scope, "POST", f"{uri}?uploadId={quote(upload)}", body.encode())
    assert done.status_code == 200, done.text
    assert send(vendor, scope, "GET", uri, Range="bytes=0-99").content == b"part"
    assert send(vendor, scope, "DELETE", uri).status_code == 204
    minio.client().put_object(Bucket=bucket, Key="w/t5/x", Body=b"x")
    listed = "<Delete><Object><Key>w/t5/x</Key></Object></Delete>"
    request = SignRequest("POST", minio.region, f"{minio.url}/{bucket}?delete", {}, listed)
    signed = vendor.sign(request, scope, session=scope, name="ann")

    def post(body: str) -> int:
        digest = base64.b64encode(hashlib.md5(body.encode()).digest()).decode()
        headers = {name: values[0] for name, values in signed.headers.items()}
        return httpx.post(signed.uri, headers={**headers, "Content-MD5": digest}, content=body).status_code

    # This server does not compare a delete's body with the hash that was signed: the session's scope still holds.
    post(listed.replace("w/t5/x", OURS[0]))
    assert minio.client().get_object(Bucket=bucket, Key=OURS[0])["Body"].read() == OURS[0].encode()
    assert post(listed) == 200
    left = minio.client().list_objects_v2(Bucket=bucket, Prefix="w/t5/")
    assert left["KeyCount"] == 0


TRICK = st.lists(
    st.sampled_from(
        [
            *(
                "/",
                "//",
                "%2F",
                "%252F",
                "/../",
                "/%2e%2e/",
                "/..%2f",
                "/%252e%252e/",
                "/./",
                "\\..\\",
                "%5c..%5c",
            ),
            *(
                "t1",
                "t2",
                "t10",
                "data",
                "a",
                "b",
                "w",
                "%74%32",
                "+",
                "%2B",
                "%00",
                "?",
                "?x-id=GetObject",
                "#",
                ";",
            ),
        ]
    ),
    max_size=7,
).map("".join)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(trick=TRICK)
@example("/../t2/data/a")
@example("%2f%2e%2e%2ft2/data/a")
@example("/data/a")
def test_no_spelling_of_a_path_brings_anything_that_is_not_in_reach(
    minio: Minio, bucket: str, trick: str
) -> None:
    # Signed with the owner's own keys, so that only the check stands between the client and the rest of the bucket.
    bare = _bare(minio, bucket)
    scope = Scope(folders=(f"s3://{bucket}/w/t1",))
    for start in (f"{minio.url}/{bucket}/w/t1", f"{minio.url}/{bucket}/w", f"{minio.url}/{bucket}"):
        try:
            answer = send(bare, scope, "GET", start + trick, Range="bytes=0-99")
        except Forbidden:
            continue
        assert SECRET not in answer.content
        assert b"<Contents>" not in answer.content


_kept: dict[str, Vendor] = {}


def _bare(minio: Minio, bucket: str) -> Vendor:
    if minio.url not in _kept:
        _kept[minio.url] = Vendors(opened(f"s3://{bucket}")).of(
            minio.properties(**{"s3-role-arn": "", "s3-remote-signing": "true"})
        )
    return _kept[minio.url]
