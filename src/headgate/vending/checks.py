"""Which requests are signed at all: reading an object, and for writers making, replacing and deleting one."""

import hashlib
import re
from typing import Final
from xml.etree import ElementTree

from headgate.model.errors import Forbidden
from headgate.vending.places import is_plain
from headgate.vending.requests import RequestTarget, SignRequest, refused
from headgate.vending.scope import LocationAccess

_UPLOAD: Final = re.compile(r"[\w.~+/=-]{1,1024}", re.ASCII)
_PART: Final = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_LARGEST_BODY: Final = 2 * 1024 * 1024
_MOST_DELETES: Final = 1000
_XML_START: Final = re.compile(r'\s*(<\?xml version="1\.0" encoding="(?i:utf-8)"\s*\?>)?\s*<Delete[\s>]')

_HARMLESS: Final = frozenset({"x-id"})
"""Parameters that some clients add and S3 ignores."""

_OPERATIONS: Final[dict[tuple[str, frozenset[str]], bool]] = {
    ("GET", frozenset()): False,
    ("HEAD", frozenset()): False,
    ("PUT", frozenset()): True,
    ("DELETE", frozenset()): True,
    ("POST", frozenset({"uploads"})): True,
    ("PUT", frozenset({"partNumber", "uploadId"})): True,
    ("POST", frozenset({"uploadId"})): True,
    ("DELETE", frozenset({"uploadId"})): True,
}
"""Method and parameters of all that is signed for one object, and whether it writes.

INVARIANT: nothing else is signed: no list, ACL, tag, policy, version, part of an object or overridden answer.
"""

_HEADERS: Final = frozenset(
    {
        "x-amz-content-sha256",
        "x-amz-checksum-mode",
        "x-amz-checksum-type",
        "x-amz-checksum-algorithm",
        "x-amz-checksum-crc32",
        "x-amz-checksum-crc32c",
        "x-amz-checksum-crc64nvme",
        "x-amz-checksum-sha1",
        "x-amz-checksum-sha256",
        "x-amz-sdk-checksum-algorithm",
        "x-amz-decoded-content-length",
        "x-amz-mp-object-size",
        "x-amz-te",
        "x-amz-trailer",
        "x-amz-user-agent",
        "x-amz-expected-bucket-owner",
        "x-amz-request-payer",
        "x-amz-server-side-encryption",
        "x-amz-server-side-encryption-aws-kms-key-id",
        "x-amz-server-side-encryption-bucket-key-enabled",
        "x-amz-storage-class",
    }
)
"""Headers of S3 that are signed as they come. No ACL, no grant, no copy of another object, no redirect."""

_UNSIGNED: Final = "UNSIGNED-PAYLOAD"
_PAYLOADS: Final = re.compile(rf"{_UNSIGNED}|STREAMING-UNSIGNED-PAYLOAD-TRAILER|[0-9a-f]{{64}}")


def check(request: SignRequest, target: RequestTarget, reach: LocationAccess) -> tuple[str, ...]:
    """The locations that a request touches, all of them allowed; anything else is refused."""
    uri, method = request.uri, request.method
    query = {name: value for name, value in target.query if name not in _HARMLESS}
    if method == "POST" and not target.key and query == {"delete": ""}:
        return _deletes(request, target, reach)
    writes = _OPERATIONS.get((method, frozenset(query)))
    if writes is None or not target.key:
        raise refused(uri, "only reading, writing and deleting single objects is signed")
    _check_upload(query, uri)
    location = target.place.location
    if not (reach.writes(location) if writes else reach.reads(location)):
        raise _not_allowed(uri, writes=writes)
    return (location,)


def signed_headers(request: SignRequest) -> dict[str, str]:
    """The headers of S3 that the client sends, by lower-case name."""
    kept: dict[str, str] = {}
    for name, values in request.headers.items():
        low = name.lower()
        if not low.startswith("x-amz-") and low != "authorization":
            continue
        if low == "x-amz-date":
            # The time of the signature is the server's.
            raise refused(request.uri, "it carries a date of its own")
        if low not in _HEADERS or low in kept or len(values) != 1 or not _plain(values[0]):
            raise refused(request.uri, f"its header '{low[:60]}' is not one that is signed")
        kept[low] = values[0].strip()
    return kept


def payload(request: SignRequest, headers: dict[str, str]) -> str:
    """The hash of the payload to sign. A body that was checked is signed, so that no other can be sent for it."""
    claimed = headers.get("x-amz-content-sha256")
    if request.body is not None:
        body = hashlib.sha256(request.body.encode()).hexdigest()
        if claimed not in (None, body):
            raise refused(request.uri, "its payload hash is not that of the body that was checked")
        return body
    if not _PAYLOADS.fullmatch(claimed or _UNSIGNED):
        raise refused(request.uri, "its payload would have to be signed in parts")
    return claimed or _UNSIGNED


def _check_upload(query: dict[str, str], uri: str) -> None:
    wrong = (
        query.get("uploads", "") != ""
        or ("uploadId" in query and not _UPLOAD.fullmatch(query["uploadId"]))
        or ("partNumber" in query and not _PART.fullmatch(query["partNumber"]))
    )
    if wrong:
        raise refused(uri, "its parameters are not those of an upload")


def _deletes(request: SignRequest, target: RequestTarget, reach: LocationAccess) -> tuple[str, ...]:
    """Every key of a bulk delete. The body is read strictly, so that no other reader finds other keys in it."""
    body = request.body or ""
    if not body or len(body) > _LARGEST_BODY or not _XML_START.match(body) or "<!" in body:
        raise refused(request.uri, "a bulk delete is signed with its body, which lists the keys")
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - without a document type there are no entities to expand
    except ElementTree.ParseError:
        raise refused(request.uri, "its body is not XML") from None
    keys: list[str] = []
    space = root.tag.removesuffix("Delete")
    for entry in root:
        if entry.tag == f"{space}Quiet" and len(entry) == 0:
            continue
        if (
            entry.tag != f"{space}Object"
            or [child.tag for child in entry] != [f"{space}Key"]
            or len(entry[0])
            or not (entry[0].text or "")
        ):
            raise refused(request.uri, "its body holds more than keys")
        keys.append(entry[0].text or "")
    if not keys or len(keys) > _MOST_DELETES or any(element.attrib for element in root.iter()):
        raise refused(request.uri, "its body is not a plain list of keys")
    locations = tuple(f"s3://{target.bucket}/{key}" for key in keys)
    if not all(map(is_plain, keys)) or not all(map(reach.writes, locations)):
        raise _not_allowed(request.uri, writes=True)
    return locations


def _plain(value: str) -> bool:
    return value.isascii() and value.isprintable() and len(value) <= 1024


def _not_allowed(uri: str, *, writes: bool) -> Forbidden:
    return refused(uri, f"the caller may not {'write' if writes else 'read'} it")
