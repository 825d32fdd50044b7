"""A table that cannot be read as its system has it: shown with the reason, so that the rest of the list still works."""

from typing import Final

from headgate.catalogs.interface import Described
from headgate.model import tables as t

BROKEN: Final = "headgate.broken"
"""The property that says why. INVARIANT: a reason quotes no document."""


def broken_table(
    name: str, reason: str, properties: dict[str, str], columns: tuple[t.TableColumn, ...] = ()
) -> Described:
    """What is known of a broken table. Nobody whom a policy on it is for sees it, as its columns cannot be told."""
    definition = t.TableDefinition(name, columns, None, {**properties, BROKEN: reason})
    return Described(t.LoadedTable(definition, "", {}), None)
