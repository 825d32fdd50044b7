"""One module per system: how it is read as facts, how a change of facts is made in it, and what it can hold."""

from headgate.sync.capabilities import Capabilities


def all_capabilities() -> list[Capabilities]:
    """The tables of every system that is known here."""
    # Each brings the libraries of its system along: for whoever synchronises, not for every server.
    from headgate.sync.connectors import (
        bigquery,
        gravitino,
        headgate,
        hive_authorizers,
        lakeformation,
        mariadb_words,
        polaris,
        postgresql,
        ranger,
        unity,
    )

    return [
        headgate.CAPABILITIES,
        gravitino.CAPABILITIES,
        postgresql.CAPABILITIES,
        mariadb_words.MARIADB,
        mariadb_words.MYSQL,
        hive_authorizers.SQL_STANDARD,
        hive_authorizers.LEGACY,
        hive_authorizers.TABLE_ACL,
        ranger.CAPABILITIES,
        lakeformation.CAPABILITIES,
        polaris.CAPABILITIES,
        unity.CAPABILITIES,
        bigquery.CAPABILITIES,
    ]
