"""The store's versions: each migration takes the tables from one to the next."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from headgate.model.errors import Unavailable


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(engine: Engine) -> None:
    """Take the store to this version, in one transaction."""
    config = _config()
    with engine.execution_options(headgate_write=True).begin() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
        if current is not None:
            _known(current)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def check(connection: Connection) -> None:
    """Refuse a store that is empty, older or newer than this version."""
    current = MigrationContext.configure(connection).get_current_revision()
    if current is None:
        raise Unavailable("the store is empty", hint="start 'headgate serve', which prepares it")
    _known(current)
    if current != ScriptDirectory.from_config(_config()).get_current_head():
        raise Unavailable(
            f"the store has the older version {current}", hint="start 'headgate serve', which upgrades it"
        )


def _known(revision: str) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision not in known:
        raise Unavailable(
            f"the store has version {revision}, which this Headgate does not know",
            hint="it was written by a newer Headgate: upgrade this one",
        )
