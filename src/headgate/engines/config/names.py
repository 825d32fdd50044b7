"""Which engines there are, the formats of each, and the two ways to a catalog: what commands offer without loading more."""

import enum
from collections.abc import Mapping
from typing import Final, TypeVar

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

_C = TypeVar("_C", bound=enum.StrEnum)


class EngineName(enum.StrEnum):
    TRINO = "trino"
    PRESTO = "presto"
    SPARK = "spark"
    FLINK = "flink"
    DUCKDB = "duckdb"
    PYICEBERG = "pyiceberg"
    POLARS = "polars"
    DAFT = "daft"


class Through(enum.StrEnum):
    HEADGATE = "headgate"
    """Through the Iceberg door, under Headgate's policies."""
    NATIVE = "native"
    """To the system behind the catalog, past Headgate."""


class ConfigFormat(enum.StrEnum):
    PROPERTIES = "properties"
    SQL = "sql"
    SHELL = "shell"
    PYTHON = "python"
    YAML = "yaml"


FORMATS: Final[Mapping[EngineName, tuple[ConfigFormat, ...]]] = {
    EngineName.TRINO: (ConfigFormat.PROPERTIES, ConfigFormat.SQL),
    EngineName.PRESTO: (ConfigFormat.PROPERTIES,),
    EngineName.SPARK: (ConfigFormat.PROPERTIES, ConfigFormat.SHELL, ConfigFormat.PYTHON),
    EngineName.FLINK: (ConfigFormat.SQL,),
    EngineName.DUCKDB: (ConfigFormat.SQL, ConfigFormat.PYTHON),
    EngineName.PYICEBERG: (ConfigFormat.YAML, ConfigFormat.PYTHON),
    EngineName.POLARS: (ConfigFormat.PYTHON,),
    EngineName.DAFT: (ConfigFormat.PYTHON,),
}
"""The first one is written when none is asked for."""


def parse_engine(text: str | None) -> EngineName:
    return _one_of(EngineName, text, "engine")


def parse_through(text: str | None) -> Through:
    return _one_of(Through, text or Through.HEADGATE, "through")


def parse_format(engine: EngineName, text: str | None) -> ConfigFormat:
    """The format that is asked for, or the engine's usual one."""
    offered = FORMATS[engine]
    if not text:
        return offered[0]
    for format in offered:
        if format == text.lower():
            return format
    raise IllegalArgument(
        f"settings of {engine} are not written as '{clip(text)}'", hint=f"use {' or '.join(offered)}"
    )


def _one_of(choices: type[_C], text: str | None, what: str) -> _C:
    for choice in choices:
        if text is not None and choice == text.lower():
            return choice
    message = f"'{clip(text)}' is no {what}" if text else f"'{what}' is missing"
    raise IllegalArgument(message, hint=f"use one of {', '.join(choices)}")
