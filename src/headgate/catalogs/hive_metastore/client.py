"""A client of Hive Metastore: its questions, and its errors in the words of the house."""

from typing import Any, Final

from pymetastore.hive_metastore import ttypes as hive
from thrift.Thrift import TApplicationException, TException

from headgate.catalogs.hive_metastore.addresses import MetastoreAddress
from headgate.catalogs.hive_metastore.connections import MetastoreConnections, MetastoreRefusal
from headgate.model import errors as e
from headgate.model.objects import ObjectType, clip

_READS: Final = ("get_", "show_", "check_")
_MISSING: Final = (hive.NoSuchObjectException, hive.UnknownDBException, hive.UnknownTableException)
_UNFIT: Final = (
    hive.InvalidInputException,
    hive.InvalidObjectException,
    hive.InvalidOperationException,
    hive.InvalidPartitionException,
)
_LOCK_GONE: Final = (hive.NoSuchLockException, hive.NoSuchTxnException, hive.TxnAbortedException)
_MODIFIED: Final = "The table has been modified"
"""How a metastore begins that compares a parameter before it changes a table."""


class MetastoreClient:
    """Speaks to one metastore."""

    def __init__(self, addresses: tuple[MetastoreAddress, ...], catalog: str, largest: int) -> None:
        self.connections = MetastoreConnections(addresses, catalog, largest)
        self.named = self.connections.line.named

    def close(self) -> None:
        self.connections.close()

    def ask(self, operation: str, about: ObjectType, named: str, *arguments: Any) -> Any:
        """One question; `about` and `named` say what is missing or there already, if it is."""
        changes = not operation.startswith(_READS)
        try:
            return self.connections.ask(operation, *arguments, changes=changes)
        except MetastoreRefusal as refusal:
            raise self._error(refusal.error, about, named) from None

    def damaged(self, why: str) -> e.Damaged:
        """The error of an answer that no metastore gives."""
        return e.Damaged(f"{self.named} answers otherwise than a metastore does", hint=why)

    def _error(self, error: TException, about: ObjectType, named: str) -> e.HeadgateError:
        """INVARIANT: nothing of what the metastore says is repeated: its words name hosts, folders and statements."""
        if isinstance(error, _MISSING):
            return e.NotFound(f"{about} '{clip(named)}' does not exist", about=about)
        if isinstance(error, hive.AlreadyExistsException):
            return e.AlreadyExists(f"{about} '{clip(named)}' already exists", about=about)
        if isinstance(error, _LOCK_GONE) or _MODIFIED in str(getattr(error, "message", "")):
            return changed_meanwhile()
        if isinstance(error, _UNFIT):
            return e.IllegalArgument(
                f"the Hive Metastore refuses '{clip(named)}' like this", hint=type(error).__name__
            )
        if isinstance(error, TApplicationException) and error.type == TApplicationException.MISSING_RESULT:
            return self.damaged("no answer at all")
        return e.ConnectionFailed(f"{self.named} failed to answer", hint=type(error).__name__)


def changed_meanwhile() -> e.Conflict:
    return e.Conflict(
        "the table was changed by somebody else", hint="refresh it and commit again", about="commit"
    )
