"""One module per system: how it is read as facts, how a change of facts is made in it, and what it can hold."""

from headgate.sync.capabilities import Capabilities
from headgate.sync.connectors import gravitino, headgate, mariadb, postgresql


def all_capabilities() -> list[Capabilities]:
    """The tables of every system that is known here."""
    return [
        headgate.CAPABILITIES,
        gravitino.CAPABILITIES,
        postgresql.CAPABILITIES,
        mariadb.CAPABILITIES,
    ]
