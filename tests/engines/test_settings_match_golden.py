"""Promise: every engine has settings for every kind of catalog, as written in the golden files, or a refusal that says why.

``GOLDEN=write`` writes the files anew; then read what changed.
"""

import ast
import os
import shutil
from pathlib import Path

import pytest
import sqlglot
import yaml

from headgate.engines.config.names import FORMATS, ConfigFormat, EngineName, Through
from headgate.engines.config.writing import ENGINES, engine_config
from headgate.model.errors import IllegalArgument
from tests.engines.kinds import HIDDEN, KINDS, golden_name

GOLDEN = Path(__file__).parent / "golden"
REFUSALS = GOLDEN / "refusals.yaml"
IN_ALL_FORMATS = {"iceberg-native", "iceberg-native-s3", "iceberg-rest", "iceberg-jdbc", "glue"}
"""Kinds that are kept in every format; the others in the one that is written when none is asked for."""

Refusals = dict[str, dict[str, list[str]]]


def written() -> tuple[dict[str, str], Refusals]:
    """All texts by file; all refusals by engine and words, with what was asked for."""
    texts: dict[str, str] = {}
    refusals: Refusals = {}
    for engine in EngineName:
        for kind, catalog in KINDS.items():
            for through in Through:
                for format in formats(engine, kind):
                    try:
                        config = engine_config(catalog, engine, through, format)
                    except IllegalArgument as error:
                        asked = refusals.setdefault(engine.value, {}).setdefault(str(error), [])
                        if format is FORMATS[engine][0]:
                            asked.append(f"{kind} {through}")
                    else:
                        texts[golden_name(kind, engine, through, format)] = config.text
    return texts, refusals


def formats(engine: EngineName, kind: str) -> tuple[ConfigFormat, ...]:
    return FORMATS[engine] if kind in IN_ALL_FORMATS else FORMATS[engine][:1]


TEXTS, SAID = written()


def test_every_engine_and_kind_has_settings_or_a_named_refusal() -> None:
    if os.environ.get("GOLDEN") == "write":
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for name, text in TEXTS.items():
            (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / name).write_text(text)
        REFUSALS.write_text(yaml.safe_dump(SAID, width=1000, sort_keys=False))
    for engine in EngineName:
        refusals = {asked for found in SAID[engine].values() for asked in found}
        for kind in KINDS:
            for through in Through:
                named = [
                    (GOLDEN / golden_name(kind, engine, through, format)).exists()
                    for format in formats(engine, kind)
                ]
                refused = f"{kind} {through}" in refusals
                assert all(named) or (refused and not any(named)), f"{engine} {kind} {through}"
    assert set(ENGINES) == set(FORMATS) == set(EngineName)


@pytest.mark.parametrize("name", TEXTS)
def test_settings_are_those_of_the_golden_file(name: str) -> None:
    assert TEXTS[name] == (GOLDEN / name).read_text()


def test_refusals_are_those_of_the_golden_file() -> None:
    assert yaml.safe_load(REFUSALS.read_text()) == SAID


def test_no_golden_file_is_left_over() -> None:
    there = {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()}
    assert there == {*TEXTS, REFUSALS.name}


@pytest.mark.parametrize("name", TEXTS)
def test_no_settings_hold_a_secret(name: str) -> None:
    assert [secret for secret in HIDDEN if secret in TEXTS[name]] == []


@pytest.mark.parametrize("name", TEXTS)
def test_native_settings_begin_with_the_warning_and_others_have_none(name: str) -> None:
    assert ("WARNING: Headgate's policies do not hold" in TEXTS[name]) == (".native." in name)


@pytest.mark.parametrize("name", TEXTS)
def test_settings_are_well_formed(name: str) -> None:
    text = TEXTS[name]
    if name.endswith(".py.txt"):
        ast.parse(text)
    elif name.endswith(".yaml"):
        assert list(yaml.safe_load(text)) == ["catalog"]
    elif name.endswith(".sql"):
        dialect = {"duckdb": "duckdb", "trino": "trino"}.get(name.split("/")[0])
        if dialect == "duckdb":
            assert [each for each in sqlglot.parse(text, dialect="duckdb") if each is not None]
    elif name.endswith(".properties"):
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert all("=" in line for line in lines)
        per_file = text.count("connector.name=") or 1
        assert len(lines) == len(set(lines)) or per_file > 1, "no setting stands twice"
