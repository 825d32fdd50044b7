"""Whatever a client asks to have signed: what is signed means an allowed object to S3, or it is refused."""

import hashlib
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.model.errors import Forbidden
from headgate.vending import Scope, Signed, SignRequest, StorageSettings, Vendors
from headgate.vending.checks import check, payload
from headgate.vending.requests import target
from tests.openings import opened

HOST = "s3.example.com:9000"
KEYS = {"s3-access-key-id": "AKIAEXAMPLE", "s3-secret-access-key": "hush"}
OWN_STORE = {**KEYS, "s3-endpoint": f"http://{HOST}", "s3-remote-signing": "true"}
AWS = {**KEYS, "s3-region": "eu-central-1", "s3-remote-signing": "true"}
READ = Scope(folders=("s3://bucket/w/t1",), files=("s3://bucket/w/t2/data/f=*.parquet",))
VENDORS = Vendors(opened("s3://bucket", hosts=(HOST,)))
GOOD = f"http://{HOST}/bucket/w/t1/a"


def asked(uri: str, method: str = "GET", body: str | None = None, **headers: str) -> SignRequest:
    named = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return SignRequest(method, "us-east-1", uri, named, body)


def sign(
    request: SignRequest, scope: Scope = READ, properties: dict[str, str] = OWN_STORE, **more: Any
) -> Signed:
    return VENDORS.of({**properties, **more}).sign(request, scope, session=scope, name="ann")


PIECE = st.sampled_from(
    [
        *(
            "w",
            "t1",
            "t2",
            "t10",
            "a",
            "data",
            "bucket",
            "other",
            "f=*.parquet",
            "f%3D%2A.parquet",
            "ü",
            "%C3%BC",
        ),
        *("/", "/", "//", "%2F", "%2f", "%252F", "\\", "%5C", ".", "..", "%2e%2e", "%2E.", "%252e%252e"),
        *("%", "%zz", "%00", "%0a", "+", "%2B", " ", "%20", "?", "#", "@", ":", ";", "&", "=", "\n", "\t"),
        *("versionId", "acl", "uploads", "x-id", "GetObject", "response-content-type", "list-type"),
    ]
)
START = st.sampled_from(
    [
        *(GOOD, f"http://{HOST}/bucket/w/t1/", f"http://bucket.{HOST}/w/t1/", f"http://{HOST}/bucket/"),
        *(f"https://{HOST}/bucket/w/t1/a", f"http://{HOST.upper()}/bucket/w/t1/a", f"http://{HOST}"),
        *(
            "http://evil.com/bucket/w/t1/a",
            f"http://evil.com#{HOST}/",
            f"http://u@{HOST}/bucket/w/t1/a",
            "http:",
        ),
        *(f"http://evil.com\\@{HOST}/bucket/", f"http://a.b.{HOST}/w/t1/", f"//{HOST}/bucket/w/t1/a", ""),
    ]
)
URI = st.tuples(START, st.lists(PIECE, max_size=8).map("".join)).map("".join) | st.text(max_size=60)


def _meant(uri: str) -> tuple[str, str, str]:
    """The host, bucket and key of a URI, read the way S3 servers read one."""
    parts = urlsplit(uri)
    path = unquote_to_bytes(parts.path).decode()
    if parts.netloc == HOST:
        bucket, _, key = path.removeprefix("/").partition("/")
        return parts.netloc, bucket, key
    return parts.netloc.partition(".")[2], parts.netloc.partition(".")[0], path.removeprefix("/")


@settings(max_examples=1500, deadline=None)
@given(uri=URI)
@example(f"http://{HOST}/bucket/w/t1/../t2/a")
@example(f"http://{HOST}/bucket/w/t1/%2e%2e/t2/a")
@example(f"http://{HOST}/bucket/w/t1%2F..%2Ft2/a")
@example(f"http://{HOST}/bucket/w/t1//a")
@example(f"http://{HOST}//bucket/w/t1/a")
@example(f"http://{HOST}/bucket/w/t1/a?versionId=1")
def test_what_is_signed_is_allowed_whatever_was_asked(uri: str) -> None:
    try:
        signed = sign(asked(uri))
    except Forbidden:
        return
    host, bucket, key = _meant(signed.uri)
    assert (host, bucket) == (HOST, "bucket")
    assert READ.reads(f"s3://bucket/{key}")
    assert signed.places == (f"s3://bucket/{key}",)
    assert all(part not in ("", ".", "..") for part in key.split("/"))
    assert urlsplit(signed.uri).query in ("", "x-id", "x-id=GetObject")
    assert signed.uri.isascii()


@pytest.mark.slow
def test_the_plain_ways_to_name_an_object_are_signed() -> None:
    for uri, wanted in (
        (GOOD, GOOD),
        (f"http://bucket.{HOST}/w/t1/a", f"http://bucket.{HOST}/w/t1/a"),
        (f"http://{HOST}/bucket/w%2Ft1%2Fa", GOOD),
        (f"http://{HOST}/bucket/w/t1/a%20b+c%252F", f"http://{HOST}/bucket/w/t1/a%20b%2Bc%252F"),
        (f"http://{HOST}/bucket/w/t2/data/f=*.parquet", f"http://{HOST}/bucket/w/t2/data/f%3D%2A.parquet"),
        (f"{GOOD}?x-id=GetObject", f"{GOOD}?x-id=GetObject"),
    ):
        assert sign(asked(uri)).uri == wanted


def test_hosts_of_aws_are_signed_for_in_the_region_of_the_catalog() -> None:
    def there(host: str, path: str = "/w/t1/a", region: str = "eu-central-1") -> str:
        request = SignRequest("GET", region, f"https://{host}{path}", {})
        return sign(request, properties=AWS).uri

    assert there("bucket.s3.eu-central-1.amazonaws.com").endswith("amazonaws.com/w/t1/a")
    assert there("s3.eu-central-1.amazonaws.com", "/bucket/w/t1/a").endswith("/bucket/w/t1/a")
    assert there("bucket.s3.amazonaws.com:443") == "https://bucket.s3.amazonaws.com/w/t1/a"
    for host in (
        "bucket.s3.us-west-2.amazonaws.com",
        "bucket.s3.evil.com",
        "evil-s3.amazonaws.com",
        "s3.amazonaws.com.evil.com",
    ):
        with pytest.raises(Forbidden):
            there(host)
    with pytest.raises(Forbidden):
        there("bucket.s3.eu-central-1.amazonaws.com", region="us-east-1")


@pytest.mark.parametrize(
    "query",
    [
        *("acl", "versionId=1", "tagging", "torrent", "policy", "partNumber=1", "uploadId=x", "attributes"),
        *("list-type=2", "list-type=2&prefix=w", "prefix=w/t2", "delimiter=/", "location", "versions"),
        *(
            "response-content-type=text/html",
            "response-content-disposition=attachment",
            "select&select-type=2",
        ),
        *(
            "X-Amz-Expires=600",
            "X-Amz-Signature=0",
            "x-id=a&x-id=b",
            "acl=",
            "%61cl",
            "x-id=a+b",
            "legal-hold",
        ),
    ],
)
def test_nothing_but_the_object_itself_is_read(query: str) -> None:
    for method in ("GET", "HEAD"):
        with pytest.raises(Forbidden):
            sign(asked(f"{GOOD}?{query}", method))


@pytest.mark.parametrize(
    "path", ["", "/", "/bucket", "/bucket/", "/bucket/w", "/bucket/w/t1", "/bucket/w/t1/"]
)
def test_nothing_is_listed(path: str) -> None:
    with pytest.raises(Forbidden):
        sign(asked(f"http://{HOST}{path}"))


@pytest.mark.parametrize(
    "name", ["a%5Cb", "%5C..%5Ct2", "a%00", "a%0Ab", "a%7F", "%C2%85", "%E2%80%AE", "%ED%A0%80"]
)
def test_a_key_that_a_server_could_take_for_another_is_refused(name: str) -> None:
    with pytest.raises(Forbidden):
        sign(asked(f"http://{HOST}/bucket/w/t1/{name}"))


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "OPTIONS", "get", "TRACE", ""])
def test_who_reads_has_no_other_method(method: str) -> None:
    with pytest.raises(Forbidden):
        sign(asked(GOOD, method))


@pytest.mark.parametrize(
    "header",
    [
        *("x-amz-copy-source", "x-amz-acl", "x-amz-grant-read", "x-amz-tagging", "X-Amz-Copy-Source-Range"),
        *(
            "x-amz-security-token",
            "x-amz-date",
            "Authorization",
            "x-amz-website-redirect-location",
            "x-amz-meta-a",
        ),
        "x-amz-bypass-governance-retention",
    ],
)
def test_a_header_that_changes_what_is_done_is_not_signed(header: str) -> None:
    with pytest.raises(Forbidden):
        sign(SignRequest("GET", "us-east-1", GOOD, {header: ["x"]}))


def test_a_header_of_s3_has_one_value() -> None:
    for values in ([], ["a", "b"], ["a\nb"]):
        with pytest.raises(Forbidden):
            sign(SignRequest("GET", "us-east-1", GOOD, {"x-amz-checksum-mode": values}))
    both = {"x-amz-checksum-mode": ["a"], "X-Amz-Checksum-Mode": ["b"]}
    with pytest.raises(Forbidden):
        sign(SignRequest("GET", "us-east-1", GOOD, both))


def test_the_signature_is_in_headers_and_only_what_is_missing_comes_back() -> None:
    signed = sign(asked(GOOD, Range="bytes=0-3", User_Agent="x", x_amz_checksum_mode="ENABLED"))
    assert "?" not in signed.uri
    assert {name.lower() for name in signed.headers} == {
        "authorization",
        "x-amz-date",
        "x-amz-content-sha256",
    }
    named = signed.headers["Authorization"][0].partition("SignedHeaders=")[2].partition(",")[0]
    assert named == "host;x-amz-checksum-mode;x-amz-content-sha256;x-amz-date"
    assert signed.cacheable
    assert "hush" not in repr(signed)
    assert "AKIAEXAMPLE" not in repr(signed)


def test_writes_are_not_signed_with_keys_that_reach_more_than_the_folder() -> None:
    # A server that honours a header it finds unsigned, as a copy from elsewhere, would do so with these keys.
    with pytest.raises(Forbidden, match="role"):
        sign(asked(GOOD, "PUT"), Scope(write=("s3://bucket/w/t1",)))


def test_a_catalog_that_does_not_say_so_signs_nothing() -> None:
    with pytest.raises(Forbidden):
        sign(asked(GOOD), properties={**KEYS, "s3-endpoint": f"http://{HOST}"})


def delete_of(*keys: str) -> str:
    listed = "".join(f"<Object><Key>{key}</Key></Object>" for key in keys)
    return f'<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{listed}<Quiet>true</Quiet></Delete>'


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        "no xml",
        "<Delete/>",
        delete_of(),
        delete_of("w/t1/a", "w/t2/a"),
        delete_of("w/t1/../t2/a"),
        delete_of("w/t1//a"),
        delete_of(""),
        delete_of("w/t1/a</Key><VersionId>1</VersionId><Key>w/t1/b"),
        delete_of("w/t1/a</Key><Key>w/t2/b"),
        delete_of("w/t1/<b>a</b>"),
        delete_of("w/t1/a<!-- -->b"),
        delete_of("<![CDATA[w/t1/a]]>"),
        delete_of("w/t1/a").replace("<Quiet>", "<Object><Key>w/t2/x</Key></Object><Quiet>"),
        delete_of("w/t1/a").replace("<Object>", '<Object versionId="1">'),
        delete_of("w/t1/a").replace("<Object>", '<Object xmlns="other">').replace("Quiet", "Other"),
        '<!DOCTYPE d [<!ENTITY k "w/t2/a">]>' + delete_of("&k;"),
        '<?xml version="1.0" encoding="utf-7"?>' + delete_of("w/t1/a"),
        "<X>" + delete_of("w/t1/a") + "</X>",
    ],
)
def test_a_bulk_delete_is_checked_key_by_key(body: str | None) -> None:
    scope = Scope(write=("s3://bucket/w/t1",))
    request = asked(f"http://{HOST}/bucket?delete", "POST", body)
    with pytest.raises(Forbidden):
        check(request, target(request.uri, StorageSettings.of(OWN_STORE)), scope)


def test_a_bulk_delete_is_signed_with_the_body_that_was_checked() -> None:
    scope = Scope(write=("s3://bucket/w/t1",))
    body = delete_of("w/t1/a", "w/t1/b&amp;c")
    request = asked(f"http://{HOST}/bucket?delete", "POST", body)
    found = check(request, target(request.uri, StorageSettings.of(OWN_STORE)), scope)
    assert found == ("s3://bucket/w/t1/a", "s3://bucket/w/t1/b&c")
    digest = hashlib.sha256(body.encode()).hexdigest()
    assert payload(request, {}) == digest
    for claimed in ("UNSIGNED-PAYLOAD", "0" * 64, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"):
        with pytest.raises(Forbidden):
            payload(request, {"x-amz-content-sha256": claimed})


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(min_size=1, max_size=30))
def test_every_key_that_means_one_thing_can_be_signed(name: str) -> None:
    key = f"w/t1/{name}"
    uri = f"http://{HOST}/bucket/{quote(key, errors='replace')}"
    try:
        signed = sign(asked(uri))
    except Forbidden:
        odd = not name.isprintable() or "\\" in name or any(p in ("", ".", "..") for p in name.split("/"))
        assert odd
        return
    assert _meant(signed.uri)[2] == key
