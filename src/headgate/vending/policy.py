"""Session policies: the intersection of a role with exactly the places of a scope."""

from typing import Any, Final

import msgspec

from headgate.vending.errors import TooManyFiles, Unscopable
from headgate.vending.places import StoragePlace, folder, place, policy_key
from headgate.vending.scope import Scope

LARGEST: Final = 2048
"""Characters that STS takes of a session policy."""

_WRITES: Final = ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")


def policy(scope: Scope, partition: str = "aws") -> str:
    """The policy of a scope, as the JSON that STS takes.

    INVARIANT: allows nothing that the scope does not name. What cannot be named exactly, or does not fit, is an error
    and never a wider policy.
    """
    if not scope:
        raise Unscopable("there is nothing to give access to", hint="ask for a table that can be read")
    arn = f"arn:{partition}:s3:::"
    writable = _folders(scope.write)
    readable = sorted({*_folders(scope.folders), *writable}, key=_order)
    objects = [f"{arn}{at.bucket}/{policy_key(at)}/*" for at in readable]
    objects += [
        f"{arn}{at.bucket}/{policy_key(at)}" for at in sorted(set(map(place, scope.files)), key=_order)
    ]
    statements: list[dict[str, Any]] = [_allow("s3:GetObject", objects)]
    if writable:
        statements.append(_allow(list(_WRITES), [f"{arn}{at.bucket}/{policy_key(at)}/*" for at in writable]))
    # A writer asks whether a file is there before it makes it; without listing, S3 answers that it may not know.
    listed = sorted({*writable, *_folders(scope.listed)}, key=_order)
    for bucket in dict.fromkeys(at.bucket for at in listed):
        prefixes = [f"{policy_key(at)}/*" for at in listed if at.bucket == bucket]
        listing = _allow("s3:ListBucket", [f"{arn}{bucket}"])
        statements.append({**listing, "Condition": {"StringLike": {"s3:prefix": prefixes}}})
    text = msgspec.json.encode({"Version": "2012-10-17", "Statement": statements}).decode()
    if len(text) > LARGEST:
        raise TooManyFiles(
            f"{len(scope.files)} files and {len(scope.folders) + len(scope.write)} folders do not fit a session policy",
            hint="use remote signing, which checks files one by one",
        )
    return text


def _folders(locations: tuple[str, ...]) -> list[StoragePlace]:
    return sorted(set(map(folder, locations)), key=_order)


def _order(at: StoragePlace) -> tuple[str, str]:
    return at.bucket, at.key


def _allow(action: str | list[str], resources: list[str]) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resources}
