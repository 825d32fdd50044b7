"""The connections to a metastore: few, kept for a while, made anew after a restart, to the next address if one fails."""

import threading
import time
from typing import Any, Final

from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TException
from thrift.transport.TTransport import TTransportException

from headgate.catalogs.hive_metastore.addresses import MetastoreAddress
from headgate.catalogs.hive_metastore.wire import LONGEST, LostConnection, MetastoreConnection
from headgate.catalogs.outside.line import Line, NotBegun
from headgate.model.errors import ConnectionFailed, Damaged

_MOST_IDLE: Final = 4
"""Each keeps a thread of the metastore. `Line` bounds how many are in use."""
_LONGEST_IDLE: Final = 60.0
_PATIENCE: Final = 10.0
"""Seconds after which nothing is tried another time: whoever asks hears of it in twice that time."""
_WRONG: Final = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError)
"""What an answer ends in that has another shape than those of a metastore, for which Thrift has no error."""


class MetastoreRefusal(Exception):
    """What a metastore answers instead of what it was asked for.

    Thrift's own exceptions cannot be raised through a context: they take no traceback.
    """

    def __init__(self, error: TException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


class MetastoreConnections:
    """All connections of one catalog."""

    def __init__(self, addresses: tuple[MetastoreAddress, ...], catalog: str, largest: int) -> None:
        self.addresses = addresses
        self.line = Line("Hive Metastore", catalog)
        self.largest = largest
        self._lock = threading.Lock()
        self._idle: list[MetastoreConnection] = []
        self._first = 0
        """The address that answered last."""

    def close(self) -> None:
        with self._lock:
            while self._idle:
                self._idle.pop().close()

    def ask(self, operation: str, *arguments: Any, changes: bool) -> Any:
        """One question; what the metastore refuses is raised as `MetastoreRefusal`.

        INVARIANT: a question that changes something is sent once. Any other is sent again on a new connection, to each
        address, as what was kept may be of a metastore that was restarted.
        """
        with self.line.ask():
            began = time.monotonic()
            tries = 1 if changes else 1 + len(self.addresses)
            lost, silent = LostConnection(""), 0
            for number in range(tries):
                if silent == len(self.addresses) or time.monotonic() - began > _PATIENCE:
                    break
                connection = self._connection(began, fresh=number > 0)
                try:
                    return self._call(connection, operation, arguments, began + LONGEST - time.monotonic())
                except LostConnection as error:
                    lost, silent = error, silent + (not error.hung_up)
                    self._turn_from(connection.address)
            if lost.hung_up:
                # It is there, and hangs up at this question alone; if it is not, the next one finds out.
                raise ConnectionFailed(f"{self.line.named} failed to answer", hint=str(lost))
            raise self.line.silent(str(lost))

    def _call(
        self, connection: MetastoreConnection, operation: str, arguments: tuple[Any, ...], seconds: float
    ) -> Any:
        whole = False
        try:
            answer = connection.call(operation, arguments, seconds)
            whole = True
        except (TProtocolException, TTransportException) as error:
            raise self._otherwise(type(error).__name__) from None
        except TException as error:
            whole = True
            raise MetastoreRefusal(error) from None
        except _WRONG as error:
            raise self._otherwise(type(error).__name__) from None
        finally:
            if whole:
                self._give_back(connection)
            else:
                connection.close()
        return answer

    def _otherwise(self, why: str) -> Damaged:
        return Damaged(f"{self.line.named} answers otherwise than a metastore does", hint=why)

    def _connection(self, began: float, *, fresh: bool) -> MetastoreConnection:
        while not fresh:
            with self._lock:
                if not self._idle:
                    break
                kept = self._idle.pop()
            if time.monotonic() - kept.rested < _LONGEST_IDLE and kept.is_alive():
                return kept
            kept.close()
        return self._connected(began)

    def _connected(self, began: float) -> MetastoreConnection:
        why = ""
        with self._lock:
            first = self._first
        for number in range(len(self.addresses)):
            if why and time.monotonic() - began > _PATIENCE:
                break
            at = (first + number) % len(self.addresses)
            try:
                made = MetastoreConnection(self.addresses[at], self.line.named, self.largest)
            except LostConnection as lost:
                why = str(lost)
                continue
            with self._lock:
                self._first = at
            return made
        raise NotBegun(f"{self.line.named} does not answer", hint=why)

    def _turn_from(self, address: MetastoreAddress) -> None:
        """Ask the next address from now on."""
        with self._lock:
            if self.addresses[self._first] == address:
                self._first = (self._first + 1) % len(self.addresses)

    def _give_back(self, connection: MetastoreConnection) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()
