"""Promise: a mask is one record, and a record that lacks a part stops the program, by name."""

from dataclasses import fields, replace
from typing import Any, cast

import pytest

from headgate.language.errors import ExpressionTypeError, LoweringError
from headgate.language.lift import MASKS, ROWS
from headgate.language.masks.expressions import EXPRESSION
from headgate.language.masks.kind import DIALECTS, ColumnMask, MaskKind, Refusal, missing
from headgate.language.masks.kinds import KINDS, NAMED, register
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.masks.python import Secrets, apply
from headgate.language.masks.spark import SparkSecrets, lower_mask
from headgate.language.masks.texts import MASK_ALPHANUM
from headgate.model.schema import BINARY, DATE, INT, STRING, Field, Schema

SCHEMA = Schema((Field(1, "t", STRING), Field(2, "n", INT), Field(3, "d", DATE), Field(4, "b", BINARY)))
VALUES: dict[str, Any] = {"t": "ann 12345", "n": 7, "b": b"abc"}
OPTIONAL = {"keyed_by", "iceberg_action"}
"""Parts that are None where a mask has nothing of the sort."""


def bound(kind: MaskKind) -> ColumnMask:
    """A mask of that kind on the first column that takes it."""
    for field in SCHEMA.fields:
        for argument in ("'people'", "'month'", "3"):
            constants = [argument] if kind.arguments else []
            try:
                call = f"{kind.name}({', '.join([field.name, *constants])})"
                return bind_mask(parse_mask(call), SCHEMA, field.id)
            except ExpressionTypeError:
                continue
    raise AssertionError(f"no column here takes {kind.name}")


@pytest.mark.parametrize("part", [f.name for f in fields(MaskKind) if f.name not in OPTIONAL])
def test_a_record_that_lacks_a_part_is_refused_by_name(part: str) -> None:
    if part == "name":
        incomplete = replace(MASK_ALPHANUM, name="")
    else:
        incomplete = replace(MASK_ALPHANUM, name="mine", **cast(Any, {part: None}))
    with pytest.raises(TypeError, match=rf"'{incomplete.name}'.*{part}"):
        register([incomplete])


def test_a_record_cannot_be_written_with_a_part_left_out() -> None:
    parts = {f.name: getattr(MASK_ALPHANUM, f.name) for f in fields(MaskKind)}
    del parts["spark"]
    with pytest.raises(TypeError, match="spark"):
        MaskKind(**parts)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_dialect_cannot_do_is_said_and_not_left_out(dialect: str) -> None:
    silent = {name: way for name, way in MASK_ALPHANUM.dialects.items() if name != dialect}
    with pytest.raises(TypeError, match=f"'mine' says nothing about {dialect}"):
        register([replace(MASK_ALPHANUM, name="mine", dialects=silent)])
    without_reason = {**MASK_ALPHANUM.dialects, dialect: Refusal("")}
    with pytest.raises(TypeError, match=f"'mine' refuses {dialect} without a reason"):
        register([replace(MASK_ALPHANUM, name="mine", dialects=without_reason)])


def test_two_masks_never_share_a_name() -> None:
    with pytest.raises(TypeError, match="two masks called 'mask_alphanum'"):
        register([MASK_ALPHANUM, MASK_ALPHANUM])


def test_every_dialect_that_rules_are_kept_in_is_decided_about() -> None:
    assert set(DIALECTS) == set(ROWS)
    can = {d for d in DIALECTS for kind in KINDS.values() if not isinstance(kind.dialects[d], Refusal)}
    assert can == set(MASKS)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_every_record_is_complete(kind: MaskKind) -> None:
    assert list(missing(kind)) == []


@pytest.mark.parametrize("kind", NAMED.values(), ids=str)
def test_every_named_mask_is_parsed_bound_computed_and_lowered_by_its_record(kind: MaskKind) -> None:
    mask = bound(kind)
    assert mask.kind is kind
    assert mask.text.startswith(f"#{mask.column.field_id} := {kind.name}(")
    columns = SparkSecrets({"people": ("inner", "outer")}, "salt", "noise", {mask.column.field_id: "often"})
    assert lower_mask(mask, SCHEMA, columns, in_pipeline=True)
    secret = b"sixteen bytes and"
    secrets = Secrets({"people": secret}, salt=secret, noise=secret)
    value = VALUES.get(SCHEMA.by_id[mask.column.field_id].field.name)
    if not kind.needs_other_rows:
        apply(mask, value, secrets)


@pytest.mark.parametrize("kind", [k for k in NAMED.values() if k.keyed_by], ids=str)
def test_a_mask_that_needs_a_secret_is_not_made_without_it(kind: MaskKind) -> None:
    with pytest.raises(LoweringError):
        lower_mask(bound(kind), SCHEMA, in_pipeline=True)
    assert not isinstance(kind.python, Refusal)
    with pytest.raises((KeyError, ValueError)):
        kind.python(bound(kind), VALUES[SCHEMA.by_id[bound(kind).column.field_id].field.name], Secrets())


def test_an_expression_is_a_record_too_and_no_mask_that_is_called() -> None:
    assert EXPRESSION.name in KINDS
    assert EXPRESSION.name not in NAMED
