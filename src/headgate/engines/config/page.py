"""What the documentation shows of settings: a table of ways, and one example per engine, written from the code."""

from typing import Final

from headgate.engines.config.catalog import Behind, EngineCatalog
from headgate.engines.config.names import FORMATS, ConfigFormat, EngineName, Through
from headgate.engines.config.words import NO_TABLES
from headgate.engines.config.writing import ENGINES, engine_config
from headgate.model.objects import CatalogType

_EXAMPLE: Final = EngineCatalog(
    "demo",
    "lake",
    CatalogType.RELATIONAL,
    "lakehouse-iceberg",
    {"warehouse": "s3://lake/tables", "s3-region": "eu-central-1"},
    "https://headgate.example.com",
)
_FENCES: Final = {
    ConfigFormat.PROPERTIES: "properties",
    ConfigFormat.SQL: "sql",
    ConfigFormat.SHELL: "sh",
    ConfigFormat.PYTHON: "python",
    ConfigFormat.YAML: "yaml",
}


def ways_table() -> str:
    """Which engine has a way to which kind of catalog past Headgate, and in which formats its settings come."""
    kinds = [kind for kind in Behind if kind not in NO_TABLES]
    rows = [
        f"| engine | formats | {' | '.join(kinds)} |",
        "|---|---|" + ":-:|" * len(kinds),
        *(
            f"| `{name}` | {', '.join(FORMATS[name])} | "
            + " | ".join("yes" if kind in ENGINES[name].native else "–" for kind in kinds)
            + " |"
            for name in EngineName
        ),
    ]
    return "\n".join(rows) + "\n"


def examples() -> str:
    """The settings of every engine for one catalog in S3, in the usual format of each."""
    parts = []
    for name in EngineName:
        format = FORMATS[name][0]
        text = engine_config(_EXAMPLE, name, Through.HEADGATE, format).text
        parts.append(f"### {ENGINES[name].title}\n\n```{_FENCES[format]}\n{text}```\n")
    return "\n".join(parts)
