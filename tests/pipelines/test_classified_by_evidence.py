"""Personal data is found by its check digits, shapes and column names, look-alikes are not, and no value leaves Spark."""

import logging
import random
from typing import Any

import pytest

from headgate.pipelines.classify import KINDS, Classified, classify
from headgate.pipelines.classify.columns import leaves
from headgate.pipelines.classify.names import says, words
from headgate.pipelines.classify.sample import SampleFailed, counts
from tests.pipelines import identities as people
from tests.pipelines.lake import Lake

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ROWS = 200


def view(
    spark: Any, columns: dict[str, list[Any]], types: dict[str, str] | None = None, name: str = "t"
) -> tuple[str]:
    """The columns as a table that Spark knows."""
    schema = ", ".join(f"`{column}` {(types or {}).get(column, 'string')}" for column in columns)
    rows = list(zip(*columns.values(), strict=True))
    spark.createDataFrame(rows, schema).createOrReplaceTempView(name)
    return (name,)


def found(classified: Classified) -> dict[str, str]:
    return {proposal.column: proposal.value for proposal in classified.proposals}


def test_every_kind_is_found_by_its_values_alone_and_surer_with_a_name(spark: Any) -> None:
    r = random.Random(1)
    made = {kind: [make(r) for _ in range(ROWS)] for kind, make in people.KINDS.items() if kind != "name"}
    table = view(spark, {f"c{n}": values for n, values in enumerate(made.values())})
    alone = classify(spark, table, least=0.6)
    assert found(alone) == {f"c{n}": kind for n, kind in enumerate(made)}
    assert (alone.rows, alone.columns) == (ROWS, len(made))
    named = classify(spark, view(spark, {f"the_{kind}": values for kind, values in made.items()}), least=0.6)
    assert found(named) == {f"the_{kind}": kind for kind in made}
    sure = {p.value: p.confidence for p in named.proposals}
    assert all(p.confidence <= sure[p.value] <= 1 for p in alone.proposals)
    assert all(sum(p.passed.values()) == p.values == ROWS for p in named.proposals)


@pytest.mark.parametrize("scheme", people.NATIONAL)
def test_national_ids_are_known_by_their_check_digits_or_shape(spark: Any, scheme: str) -> None:
    r = random.Random(2)
    values = [people.NATIONAL[scheme](r) for _ in range(ROWS)]
    (proposal,) = classify(spark, view(spark, {"c": values}), least=0.6).proposals
    assert (proposal.value, proposal.values, sum(proposal.passed.values())) == ("national-id", ROWS, ROWS)
    assert list(proposal.passed) == ["shaped" if scheme in ("american", "british") else "checked"]


@pytest.mark.parametrize("kind", ["iban", "card", "spanish", "polish", "french", "italian", "brazilian"])
def test_one_wrong_digit_is_no_identifier(spark: Any, kind: str) -> None:
    r = random.Random(3)
    make = people.KINDS.get(kind) or people.NATIONAL[kind]
    values = []
    for _ in range(ROWS):
        value = make(r)
        at = max(n for n, c in enumerate(value) if c.isdigit())
        values.append(value[:at] + str((int(value[at]) + 1) % 10) + value[at + 1 :])
    assert classify(spark, view(spark, {"c": values}), least=0.05).proposals == ()


def test_what_only_looks_like_personal_data_is_not_proposed(spark: Any) -> None:
    r = random.Random(4)
    made = {column: [make(r) for _ in range(ROWS)] for column, make in people.LOOKALIKES.items()}
    numbers = {
        "id": list(range(ROWS)),
        "big_id": [9_000_000_000 + 7 * n for n in range(ROWS)],
        "snowflake": [r.randint(4 * 10**15, 5 * 10**15) for _ in range(ROWS)],
        "amount": [r.randint(0, 10**9) for _ in range(ROWS)],
    }
    table = view(spark, {**made, **numbers}, dict.fromkeys(numbers, "bigint"))
    assert found(classify(spark, table, least=0.3)) == {}


def test_what_values_cannot_tell_the_name_decides(spark: Any) -> None:
    r = random.Random(5)
    plain = [people.digits(r, 10) for _ in range(ROWS)]
    names = [people.name(r) for _ in range(ROWS)]
    nine = [f"{r.randint(100, 600)}{r.randint(10, 99)}{r.randint(1000, 9999)}" for _ in range(ROWS)]
    columns = {
        "mobileNumber": plain,
        "code": plain,
        "SSN": nine,
        "batch": nine,
        "last_name": names,
        "title": names,
    }
    assert found(classify(spark, view(spark, columns), least=0.6)) == {
        "SSN": "national-id",
        "last_name": "name",
        "mobileNumber": "phone",
    }
    assert found(classify(spark, view(spark, {"name": names}, name="customers"), least=0.6)) == {
        "name": "name"
    }
    assert found(classify(spark, view(spark, {"name": names}, name="products"), least=0.6)) == {}


def test_confidence_is_the_share_that_passes(spark: Any) -> None:
    r = random.Random(6)
    mixed = [people.email(r) if n % 2 else "see file" for n in range(ROWS)]
    empty = [people.email(r) if n % 4 else (None, "", "n/a", " - ")[n // 4 % 4] for n in range(ROWS)]
    table = view(spark, {"email": mixed, "mail": empty, "free_text": mixed})
    assert {p.column: (p.confidence, p.values, p.passed) for p in classify(spark, table).proposals} == {
        "email": (0.5, ROWS, {"address": 100}),
        "mail": (1.0, 150, {"address": 150}),
        "free_text": (0.475, ROWS, {"address": 100}),
    }
    assert found(classify(spark, table, least=0.8)) == {"mail": "email"}


def test_a_few_values_say_nothing_without_the_name(spark: Any) -> None:
    table = view(spark, {"c": ["4111111111111111"], "card": ["4111111111111111"], "none": [None]})
    assert found(classify(spark, table)) == {"card": "card"}
    assert classify(spark, view(spark, {"c": []})) == Classified(0, 1, ())


def test_nested_columns_are_found_where_a_tag_can_stand(spark: Any) -> None:
    r = random.Random(7)
    rows = [
        (
            {"name": people.name(r), "at": {"email": people.email(r), "note": "x"}},
            [people.phone(r), None],
            [{"iban": people.iban(r)}] if n % 2 else None,
            {people.ip(r): "seen"},
        )
        for n in range(ROWS)
    ]
    spark.createDataFrame(
        rows,
        "person struct<name: string, at: struct<email: string, note: string>>, numbers array<string>, "
        "accounts array<struct<iban: string>>, seen map<string, string>",
    ).createOrReplaceTempView("nested")
    got = classify(spark, ("nested",), least=0.6)
    assert found(got) == {
        "person.name": "name",
        "person.at.email": "email",
        "numbers": "phone",
        "accounts": "iban",
        "seen": "ip",
    }
    assert {p.column: p.values for p in got.proposals}["accounts"] == ROWS // 2


def test_names_that_need_quoting_and_wide_tables_are_read(spark: Any) -> None:
    columns = {f"c{n}": ["x"] * 5 for n in range(230)}
    columns["odd `name`, with.dot"] = ["ann@example.org"] * 5
    quoted = {name.replace("`", "``"): values for name, values in columns.items()}
    got = classify(spark, view(spark, quoted))
    assert (found(got), got.columns, got.rows) == ({"odd `name`, with.dot": "email"}, 231, 5)


def test_no_more_rows_are_read_than_asked_for_and_none_is_shuffled(spark: Any, lake: Lake) -> None:
    table = lake.create("email string", version=2)
    for part in range(3):
        rows = [(f"a{n}@example.org",) for n in range(part * 100, part * 100 + 100)]
        spark.createDataFrame(rows, "email string").coalesce(1).writeTo(table).append()
    got = classify(spark, tuple(table.split(".")), rows=120)
    assert (got.rows, got.proposals[0].values) == (120, 120)
    source = spark.table(table)
    plan = (
        counts(source, leaves(source.schema.jsonValue()), 120)._jdf.queryExecution().executedPlan().toString()
    )
    before = plan[plan.index("partial_count") :]
    assert "BatchScan" in before
    assert not any(word in before for word in ("Exchange", "Sort ", "InMemory", "Python")), before


def test_a_table_that_cannot_be_read_is_told_without_any_value(
    spark: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = "ann.secret@example.org"
    spark.createDataFrame([(secret,)], "email string").createOrReplaceTempView("plain")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW broken AS SELECT CAST(raise_error(email) AS STRING) AS email FROM plain"
    )
    with caplog.at_level(logging.INFO), pytest.raises(SampleFailed) as failed:
        classify(spark, ("broken",))
    good = classify(spark, ("plain",))
    said = (
        "".join(capfd.readouterr())
        + caplog.text
        + str(failed.value)
        + repr(failed.value.__dict__)
        + repr(good)
    )
    assert good.proposals[0].value == "email"
    assert "ann.secret" not in said
    assert failed.value.__cause__ is None


def test_names_are_read_word_by_word() -> None:
    assert words("customerEMail_2") == ("customer", "e", "mail")
    assert words("SSNOfHolder") == ("ssn", "of", "holder")
    assert says("ip", ("clientIP",), "t")
    assert not says("ip", ("zip",), "t")
    assert not says("ip", ("recipient",), "t")
    assert not says("name", ("file_name",), "customers")
    assert {kind.value for kind in KINDS} == {"email", "phone", "iban", "card", "ip", "name", "national-id"}
