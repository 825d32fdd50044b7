"""A session policy allows what its scope names and nothing else, whatever the names are."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.errors import HeadgateError, IllegalArgument
from headgate.vending import Scope, StorageSettings, TooManyFiles, Unscopable
from headgate.vending.credentials import prefixes
from headgate.vending.policy import LARGEST, policy
from headgate.vending.vendor import session_name
from tests.vending.iam import allows

ARN = "arn:aws:s3:::"
PIECES = ["a", "b", "t1", "0", "*", "?", "$", "{", "}", "/", ".", "..", "%", "ü", '"', "\\", " "]
PLAIN = st.lists(st.sampled_from(["a", "b", "t1", "0", "%", "="]), min_size=1, max_size=2)
SEGMENT = (PLAIN | st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)).map("".join)
KEY = st.lists(SEGMENT, min_size=1, max_size=3).map("/".join)
LOCATION = KEY.map(lambda key: f"s3://bucket/{key}")


@settings(max_examples=400, deadline=None)
@given(
    folders=st.lists(LOCATION, max_size=2).map(tuple),
    files=st.lists(LOCATION, max_size=2).map(tuple),
    write=st.lists(LOCATION, max_size=2).map(tuple),
    key=KEY,
)
def test_no_name_widens_a_policy(
    folders: tuple[str, ...], files: tuple[str, ...], write: tuple[str, ...], key: str
) -> None:
    scope = Scope(folders, files, write)
    try:
        text = policy(scope)
    except Unscopable:
        return
    location, arn = f"s3://bucket/{key}", f"{ARN}bucket/{key}"
    plain = all(part not in ("", ".", "..") for part in key.split("/"))
    named = any(location.startswith(f"{at.removesuffix('/')}/") for at in (*folders, *write))
    assert allows(text, "s3:GetObject", arn) == (named or location in files)
    if plain:
        assert scope.reads(location) == allows(text, "s3:GetObject", arn)
        assert scope.writes(location) == allows(text, "s3:PutObject", arn)
    below = any(location.startswith(f"{at.removesuffix('/')}/") for at in write)
    assert allows(text, "s3:DeleteObject", arn) == below
    assert allows(text, "s3:ListBucket", f"{ARN}bucket", key) == below
    assert not allows(text, "s3:ListBucket", f"{ARN}bucket")
    for action in ("s3:GetObjectVersion", "s3:PutObjectAcl", "s3:GetBucketPolicy", "sts:AssumeRole"):
        assert not allows(text, action, arn)


@pytest.mark.parametrize(
    "place",
    [
        "s3://bucket",
        "s3://bucket/",
        "s3://bucket/a//b",
        "s3://bucket/a/../b",
        "s3://bucket/./a",
        "s3://bucket/a/*",
        "s3://bucket/t?",
        "s3://bucket/${aws:username}",
        "s3://bucket/ü",
        "s3://bucket/a\nb",
        "s3://b*/a",
        "s3://*/a",
        "s3:///a",
        "file:///warehouse/t",
        "gs://bucket/a",
        "/warehouse/t",
        "",
    ],
)
def test_a_place_that_a_policy_cannot_name_alone_is_refused(place: str) -> None:
    for scope in (Scope(folders=(place,)), Scope(files=(place,)), Scope(write=(place,))):
        with pytest.raises(Unscopable):
            policy(scope)


def test_no_policy_is_made_for_nothing() -> None:
    with pytest.raises(Unscopable):
        policy(Scope())


def test_siblings_that_share_letters_share_nothing() -> None:
    text = policy(Scope(folders=("s3://bucket/t1",)))
    assert allows(text, "s3:GetObject", f"{ARN}bucket/t1/a")
    for key in ("t1", "t10/a", "t1a", "T1/a", "x/t1/a"):
        assert not allows(text, "s3:GetObject", f"{ARN}bucket/{key}")
    assert not allows(text, "s3:GetObject", f"{ARN}bucket2/t1/a")


def test_too_many_files_are_refused_and_never_given_by_their_folder() -> None:
    files = [f"s3://bucket/warehouse/sales/t/data/{number:05}-0-{'a' * 36}.parquet" for number in range(50)]
    fitting = [count for count in range(1, 51) if _fits(tuple(files[:count]))]
    assert fitting == list(range(1, max(fitting) + 1))
    assert max(fitting) >= 18
    with pytest.raises(TooManyFiles):
        policy(Scope(files=tuple(files)))
    text = policy(Scope(files=tuple(files[: max(fitting)])))
    assert len(text) <= LARGEST
    assert not any(allows(text, "s3:GetObject", f"{ARN}{at[5:]}") for at in files[max(fitting) :])


def _fits(files: tuple[str, ...]) -> bool:
    try:
        policy(Scope(files=files))
    except TooManyFiles:
        return False
    return True


def test_the_policy_is_for_the_part_of_aws_that_the_role_is_in() -> None:
    known = StorageSettings.of({"s3-role-arn": "arn:aws-cn:iam::123456789012:role/lake"})
    assert '"arn:aws-cn:s3:::bucket/t/*"' in policy(Scope(folders=("s3://bucket/t",)), known.partition)


def test_clients_are_told_the_narrowest_folder_that_holds_everything() -> None:
    scope = Scope(
        folders=("s3://one/w/t/_lens/x",),
        files=("s3://one/w/t/data/f.parquet", "s3://two/a/b/c", "s3://two/a/b/d"),
    )
    assert prefixes(scope) == ["s3://one/w/t/", "s3://two/a/b/"]
    assert prefixes(Scope(write=("s3a://one/w/t/",))) == ["s3://one/w/t/"]
    assert prefixes(Scope(folders=("s3://one/w/t1", "s3://one/w/t10"))) == ["s3://one/w/"]


@settings(deadline=None)
@given(st.text(max_size=80))
def test_whoever_asks_gets_a_session_name_that_sts_takes(name: str) -> None:
    assert re.fullmatch(r"[\w+=,.@-]{2,64}", session_name(name), re.ASCII)


def test_people_whose_names_sts_cannot_take_stay_apart() -> None:
    assert session_name("ann@example.com") == "ann@example.com"
    assert (
        len({session_name(name) for name in ("a b", "a:b", "a/b", "a-b", "ä", "", "x" * 65, "x" * 66)}) == 8
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("s3-role-arn", "role/lake"),
        ("s3-role-arn", "arn:aws:s3:::bucket"),
        ("s3-region", "eu central"),
        ("s3-endpoint", "ftp://host"),
        ("s3-endpoint", "https://user:pw@host"),
        ("s3-endpoint", "https://host/path"),
        ("s3-endpoint", "host:9000"),
        ("s3-sts-endpoint", "http://"),
        ("s3-token-expire-in-secs", "60"),
        ("s3-token-expire-in-secs", "never"),
        ("s3-remote-signing", "maybe"),
        ("s3-path-style-access", "1"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(IllegalArgument, match=key):
        StorageSettings.of({key: value})


def test_no_secret_is_in_a_repr() -> None:
    known = StorageSettings.of(
        {"s3-access-key-id": "AKIA-1", "s3-secret-access-key": "hush-2", "s3-session-token": "hush-3"}
    )
    for text in (repr(known), str(known), repr(HeadgateError(str(known)))):
        assert not any(secret in text for secret in ("AKIA-1", "hush-2", "hush-3"))
