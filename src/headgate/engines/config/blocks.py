"""Settings before they are a text: blocks of pairs and notes, and placeholders for what nobody but the reader knows."""

from collections.abc import Callable, Mapping

import msgspec

from headgate.engines.config.catalog import Behind, EngineCatalog
from headgate.engines.config.names import ConfigFormat, EngineName

TOKEN_VARIABLE = "HEADGATE_TOKEN"  # noqa: S105 — a variable's name


class Placeholder(msgspec.Struct, frozen=True):
    """A secret that only the reader has. `template` is how the engine takes it from the environment; "" if it cannot."""

    variable: str
    template: str = ""

    @property
    def text(self) -> str:
        return self.template.format(self.variable) if self.template else f"<{self.variable}>"


class ConfigPair(msgspec.Struct, frozen=True):
    """One setting."""

    key: str
    value: str | Placeholder

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else self.value.text


ConfigValues = Mapping[str, str | Placeholder | None]
"""Settings by key, in their order; those without a value are left out."""


class Block(msgspec.Struct, frozen=True):
    """What goes to one place. `name` is what the engine calls the catalog there."""

    name: str
    notes: tuple[str, ...]
    """Sentences that stand above the settings: the place first, by format where formats differ."""
    pairs: tuple[ConfigPair, ...]
    places: Mapping[ConfigFormat, str] = {}


Blocks = tuple[Block, ...]
Writer = Callable[[EngineCatalog, ConfigFormat], str]
"""Writes the text of one engine for one catalog, in one of its formats."""


class Engine(msgspec.Struct, frozen=True):
    """What is known of one engine. Every kind of catalog is either written or refused, with the reason."""

    name: EngineName
    title: str
    headgate: Writer
    native: Mapping[Behind, Writer]
    refused: Mapping[Behind, str]
    """Why there is no native way for this engine to a kind of catalog."""
    reserved: frozenset[str]
    """Names of catalogs that mean something else to this engine, in small letters."""

    def __post_init__(self) -> None:
        undecided = set(Behind) - self.native.keys() - self.refused.keys()
        twice = self.native.keys() & self.refused.keys()
        if undecided or twice:
            names = ", ".join(sorted(undecided | twice))
            raise TypeError(f"{self.name}: settings for {names} are to be written or refused")


def pairs(settings: ConfigValues) -> tuple[ConfigPair, ...]:
    """Pairs of those settings that have a value, in their order."""
    return tuple(ConfigPair(key, value) for key, value in settings.items() if value is not None)
