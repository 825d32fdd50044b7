"""Types and places under random input."""

import itertools
import posixpath
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.catalogs.iceberg.describing.types import from_iceberg, to_iceberg
from headgate.catalogs.locations import checked_warehouse, inside, segment
from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.secrets import is_secret

plain = st.sampled_from(
    [
        "boolean",
        "integer",
        "long",
        "float",
        "double",
        "date",
        "time",
        "timestamp",
        "timestamp_tz",
        "string",
        "uuid",
        "binary",
    ]
)
sized = st.one_of(
    st.builds(lambda p, s: f"decimal({p},{min(p, s)})", st.integers(1, 38), st.integers(0, 38)),
    st.integers(1, 9999).map(lambda n: f"fixed({n})"),
)
names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = st.builds(t.StructField, names, inner, st.booleans(), st.none() | names)
    return st.one_of(
        st.builds(t.ListDataType, inner, st.booleans()),
        st.builds(t.MapDataType, inner, inner, st.booleans()),
        st.lists(fields, min_size=1, max_size=3, unique_by=lambda field: field.name).map(
            lambda found: t.StructDataType(tuple(found))
        ),
    )


@settings(max_examples=60)
@given(st.recursive(plain | sized, nested, max_leaves=8))
def test_every_type_survives_the_way_to_iceberg_and_back(type: t.DataType) -> None:
    assert from_iceberg(to_iceberg(type, itertools.count(1).__next__)) == type


@settings(max_examples=100)
@given(st.text(max_size=30))
def test_text_that_is_no_type_is_refused_not_guessed(text: str) -> None:
    try:
        told = from_iceberg(to_iceberg(text, itertools.count(1).__next__))
    except IllegalArgument:
        return
    assert isinstance(told, str)


parts = st.lists(st.sampled_from(["a", "ab", "b", "..", ".", "", "a*"]), max_size=5)


@settings(max_examples=200)
@given(parts, parts)
def test_what_is_inside_a_folder_stays_there_when_the_path_is_resolved(
    place: list[str], folder: list[str]
) -> None:
    where, outer = "/" + "/".join(place), "/" + "/".join(folder)
    try:
        checked_warehouse(outer)
    except IllegalArgument:
        return
    if inside(f"file://{where}", f"file://{outer}"):
        resolved, around = posixpath.normpath(where), posixpath.normpath(outer)
        assert resolved == around or resolved.startswith(around.rstrip("/") + "/")


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_a_segment_is_one_plain_path_segment(name: str) -> None:
    made = segment(name)
    assert "/" not in made
    assert "." not in made
    assert len(made) <= 64


def test_keys_that_look_like_secrets_are_secrets() -> None:
    for key in (
        "password",
        "jdbc-password",
        "JDBC_PASSWORD",
        "client.secret",
        "oauth2-client-secret",
        "token",
        "s3.session-token",
        "credential",
        "s3-access-key-id",
        "s3.secret-access-key",
        "azure-storage-account-key",
        "private-key",
        "apiKey",
        "kerberos.keytab-uri",
        "sas",
    ):
        assert is_secret(key), key
    for key in ("uri", "warehouse", "s3-endpoint", "s3-region", "jdbc-user", "credential-providers", "k"):
        assert not is_secret(key), key
    assert is_secret("uri", "postgresql://me:pass@db/x")
    assert not is_secret("uri", "postgresql://me@db/x")
