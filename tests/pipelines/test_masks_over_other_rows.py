"""Promise: `k_anonymous` counts the rows that are shown, `noisy` draws once per value, and both equal the reference."""

import decimal
import statistics
from typing import Any

import pytest

from headgate.language.errors import LoweringError
from headgate.language.masks.mask import ColumnMask, bind_mask, parse_mask
from headgate.language.masks.other_rows import noisy_value
from headgate.model.schema import DOUBLE, INT, LONG, DecimalType, Field, Schema
from tests.pipelines.lake import Lake, expected, view
from tests.pipelines.people import insert

spark_test = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


def marked(test: Any) -> Any:
    for mark in spark_test:
        test = mark(test)
    return test


@marked
def test_k_anonymous_counts_every_shown_row_of_the_snapshot_and_no_hidden_or_deleted_one(lake: Lake) -> None:
    table = lake.create("id bigint, town string NOT NULL, home struct<zip: string>")
    towns = ["Ulm"] * 5 + ["Bonn"] * 3 + ["Kiel"] * 2 + ["Trier"] + ["Jena"] * 3
    rows = [{"id": n, "town": t, "home": {"zip": t[:2]} if n % 3 else None} for n, t in enumerate(towns)]
    columns = "id bigint, town string, home struct<zip: string>"
    for part in (rows[::2], rows[1::2]):
        insert(lake, table, part, columns)
    lake.spark.sql(f"DELETE FROM {table} WHERE id = 5")
    left = [r for r in rows if r["id"] != 5]
    seen = view(
        lake.document(table),
        mask={"town": "k_anonymous(town, 3)", "home.zip": "k_anonymous(home.zip, 2)"},
        rows="id <> 0 AND id < 13",
    )
    want = expected(seen, left)
    assert {r[2] for r in want} == {"Ulm", None}
    governed = lake.through(table, seen)
    for engine, found in governed.by_every_engine().items():
        assert found == want, engine
    assert governed.document["schemas"][0]["fields"][1]["required"] is False


@marked
def test_noise_in_spark_is_that_of_the_reference_to_the_bit(lake: Lake) -> None:
    columns = "i int, l bigint, d double, f float, p decimal(9,2), q decimal(18,6)"
    table = lake.create(columns)
    rows: list[dict[str, Any]] = [
        {
            "i": n * 37 - 500,
            "l": n * 10**12 - 7,
            "d": n / 7 - 3.25,
            "f": float(n) / 4,
            "p": decimal.Decimal(n * 311).scaleb(-2),
            "q": decimal.Decimal(n).scaleb(-6),
        }
        for n in range(60)
    ]
    edges = [
        2**31 - 1,
        2**63 - 1,
        5e-324,
        -0.0,
        decimal.Decimal("9999999.99"),
        decimal.Decimal("-999999999999.999999"),
    ]
    rows += [dict(zip("ildfpq", edges, strict=True)), dict.fromkeys("ildfpq")]
    insert(lake, table, rows, columns)
    seen = view(lake.document(table), mask={c: f"noisy({c}, 2.5)" for c in "ildfpq"})
    want = expected(seen, rows)
    assert sum(w != g for w, g in zip(want, expected(view(lake.document(table)), rows), strict=True)) > 50
    governed = lake.through(table, seen)
    assert governed.in_spark() == want
    assert governed.in_pyiceberg() == want


def mask_of(source: str, type_: Any = INT, field_id: int = 1) -> ColumnMask:
    return bind_mask(parse_mask(source), Schema((Field(field_id, "c", type_),)), field_id)


def test_noise_has_the_promised_spread_and_depends_on_table_column_scale_and_value() -> None:
    mask = mask_of("noisy(c, 10)", DOUBLE)
    noise = [noisy_value(mask, float(n), b"salt" * 4) - n for n in range(5000)]
    assert abs(statistics.mean(noise)) < 0.6
    assert 9.5 < statistics.stdev(noise) < 10.5
    assert max(map(abs, noise)) < 35
    assert noisy_value(mask, 1.0, b"salt" * 4) == noisy_value(mask, 1.0, b"salt" * 4)
    assert noisy_value(mask, 1.0, b"salt" * 4) != noisy_value(mask, 1.0, b"tlas" * 4)
    assert noisy_value(mask, 1.0, b"salt" * 4) != noisy_value(
        mask_of("noisy(c, 10)", DOUBLE, 2), 1.0, b"salt" * 4
    )
    assert noisy_value(mask_of("noisy(c, 10)"), None, b"salt" * 4) is None
    # One draw in two scales would tell the value.
    low, high = (noisy_value(mask_of(f"noisy(c, {s})", DOUBLE), 1.0, b"salt" * 4) - 1.0 for s in (10, 20))
    assert abs(high - 2 * low) > 1e-3
    # A widened column draws what it drew before.
    assert noisy_value(mask_of("noisy(c, 10)", INT), 5, b"salt" * 4) == noisy_value(
        mask_of("noisy(c, 10)", LONG), 5, b"salt" * 4
    )


def test_noise_stays_within_the_type() -> None:
    assert all(
        noisy_value(mask_of("noisy(c, 100)"), 2**31 - 1, bytes([n]) * 16) <= 2**31 - 1 for n in range(50)
    )
    for source, type_ in (("noisy(c, 1)", DecimalType(20, 2)), ("noisy(c, 1000000000000000000)", INT)):
        with pytest.raises(LoweringError):
            noisy_value(mask_of(source, type_), 1, b"salt" * 4)
