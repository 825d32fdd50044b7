"""What is written out for people says the same when it is read again."""

import pytest

from headgate.language.bind import bind
from headgate.language.canonical import canonical, text
from headgate.language.parse import parse
from headgate.language.spell import spell
from headgate.model.schema import Field, Schema, StructType, parse_simple_type

TYPES = (
    "boolean",
    "int",
    "long",
    "double",
    "string",
    "date",
    "timestamp",
    "timestamptz",
    "uuid",
    "binary",
    "decimal(9, 2)",
)
SCHEMA = Schema(
    (
        *(Field(n, t.split("(")[0][:1] + str(n), parse_simple_type(t)) for n, t in enumerate(TYPES, 1)),
        Field(20, "a.b", parse_simple_type("string")),
        Field(21, "home", StructType((Field(22, "zip", parse_simple_type("string")),))),
    )
)


@pytest.mark.parametrize(
    "source",
    [
        "s5 = 'it''s' AND NOT (i2 > 1 OR l3 < 9223372036854775807)",
        "s5 IN ('a', 'b') AND s5 IS NOT NULL OR home.zip IS NULL",
        "s5 NOT IN ('a', 'b') AND \"a.b\" LIKE 'x%'",
        "d6 >= DATE '2024-01-31' AND t8 < TIMESTAMPTZ '2024-01-31 08:00:00Z'",
        "t7 = TIMESTAMP '2024-01-31 08:00:00.5' OR u9 = UUID '123e4567-e89b-12d3-a456-426614174000'",
        "b10 = X'00ff' AND d11 = 1.50 AND d4 > DOUBLE '1.5'",
        "CASE WHEN b1 THEN i2 ELSE 3 END = 2",
        "coalesce(s5, 'x') = lower(home.zip) AND starts_with(s5, 'q')",
        "i2 % 10 = 1 AND i2 <> 5",
        "CAST(i2 AS STRING) = '1' AND year(d6) = 2024 AND date_trunc('month', d6) = DATE '2024-01-01'",
        "b1 AND NOT b1",
    ],
)
def test_written_out_and_read_again(source: str) -> None:
    once = canonical(bind(parse(source), SCHEMA))
    again = canonical(bind(parse(spell(once, SCHEMA)), SCHEMA))
    assert text(again) == text(once), spell(once, SCHEMA)
