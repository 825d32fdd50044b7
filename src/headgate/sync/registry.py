"""Every system that is known here: one for each package of `connectors`, by the record that the package exports.

A package without a record stops a server at its start. INVARIANT: reading the records loads no library of any system.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from headgate.sync import connectors
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connections import Connection
from headgate.sync.systems import IncompleteRecord, Open, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def records(package: ModuleType) -> tuple[SystemRecord, ...]:
    """The record of each package in this one, in the order of their names."""
    found: dict[str, SystemRecord] = {}
    for module in iter_modules(package.__path__):
        name = f"{package.__name__}.{module.name}"
        record = getattr(import_module(name), "SYSTEM", None)
        if not isinstance(record, SystemRecord):
            raise IncompleteRecord(f"{name} exports no SYSTEM; say there what the system is")
        found[name] = record
    kinds = [kind.kind for record in found.values() for kind in record.kinds]
    twice = sorted({kind for kind in kinds if kinds.count(kind) > 1})
    if twice:
        raise IncompleteRecord(f"two systems are called {', '.join(twice)}")
    return tuple(found.values())


@cache
def systems() -> tuple[SystemRecord, ...]:
    """The records of all systems."""
    return records(connectors)


@cache
def connectable() -> dict[str, Open]:
    """How a connection of each kind is opened. A metalake of this store needs none: it is ``headgate:NAME``."""
    return {kind.kind: kind.open for system in systems() for kind in system.kinds if kind.open is not None}


def opened(name: str, connection: Connection) -> "Connector":
    """The connector of a named system. It connects when it is first used."""
    return connectable()[connection.kind](name, connection)


@cache
def all_capabilities() -> tuple[Capabilities, ...]:
    """What every system can hold."""
    return tuple(kind.capabilities for system in systems() for kind in system.kinds)
