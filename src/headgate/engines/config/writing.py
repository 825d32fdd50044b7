"""The one function of this room: settings of an engine for a catalog, as a text."""

from collections.abc import Mapping
from typing import Final

import msgspec

from headgate.engines.config import words
from headgate.engines.config.blocks import Engine
from headgate.engines.config.catalog import EngineCatalog
from headgate.engines.config.duckdb import DUCKDB
from headgate.engines.config.flink import FLINK
from headgate.engines.config.names import ConfigFormat, EngineName, Through
from headgate.engines.config.presto import PRESTO
from headgate.engines.config.python_clients import DAFT, POLARS, PYICEBERG
from headgate.engines.config.spark import SPARK
from headgate.engines.config.trino import TRINO

ENGINES: Final[Mapping[EngineName, Engine]] = {
    engine.name: engine for engine in (TRINO, PRESTO, SPARK, FLINK, DUCKDB, PYICEBERG, POLARS, DAFT)
}


class EngineConfig(msgspec.Struct, frozen=True):
    """Settings as they are answered."""

    engine: EngineName
    through: Through
    format: ConfigFormat
    text: str
    warning: str | None


def engine_config(
    catalog: EngineCatalog, engine: EngineName, through: Through, format: ConfigFormat
) -> EngineConfig:
    """Write the settings, or refuse by name what this engine cannot have."""
    known, behind = ENGINES[engine], catalog.behind
    if catalog.alias.lower() in known.reserved:
        raise words.reserved(catalog, known.title)
    if through is Through.HEADGATE:
        if behind in words.NOT_SERVED:
            raise words.refusal(catalog, known.title, words.NOT_SERVED[behind], native=behind in known.native)
        return EngineConfig(engine, through, format, known.headgate(catalog, format), None)
    if behind in known.refused:
        raise words.refusal(catalog, known.title, known.refused[behind], past=True)
    return EngineConfig(engine, through, format, known.native[behind](catalog, format), words.WARNING)
