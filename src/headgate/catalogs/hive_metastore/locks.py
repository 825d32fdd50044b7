"""The lock of a table in a metastore: what every writer of an Iceberg table takes before it moves the pointer."""

import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from pymetastore.hive_metastore import ttypes as hive

from headgate.catalogs.hive_metastore.client import MetastoreClient
from headgate.catalogs.interface import TablePlace
from headgate.catalogs.outside.line import NotBegun
from headgate.model.errors import Conflict, ConnectionFailed, HeadgateError
from headgate.model.objects import clip

_PATIENCE: Final = 3.0
"""Seconds that another writer's lock is waited for; a commit tries it several times."""
_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5
_USER: Final = "headgate"


@contextmanager
def locked(client: MetastoreClient, at: TablePlace) -> Iterator[Callable[[], None]]:
    """Hold the lock of a table; gives what makes sure that it is still held.

    INVARIANT: the lock is released, whatever happens, and one whose number was lost is looked for. The metastore itself
    takes away those of servers that are gone.
    """
    mark = f"headgate-{uuid.uuid4().hex}"
    try:
        answer = _ask(client, at, "lock", _request(at, mark))
    except NotBegun:
        with suppress(HeadgateError):
            _release_lost(client, at, mark)
        raise
    number = answer.lockid
    if not isinstance(number, int):
        raise client.damaged("a lock without a number")
    try:
        _wait(client, at, answer)
        yield lambda: _ask(client, at, "heartbeat", hive.HeartbeatRequest(lockid=number))
    finally:
        _release(client, at, number)


def _ask(client: MetastoreClient, at: TablePlace, operation: str, request: Any) -> Any:
    """A question about the lock: where it fails, the table has not been changed."""
    try:
        return client.ask(operation, at.type, at.name, request)
    except ConnectionFailed as error:
        raise NotBegun(error.message, hint=error.hint) from None


def _request(at: TablePlace, mark: str) -> Any:
    part = hive.LockComponent(
        hive.LockType.EXCLUSIVE,
        hive.LockLevel.TABLE,
        at.schema[0],
        at.name,
        # Not of a transaction of Hive's own.
        operationType=hive.DataOperationType.NO_TXN,
    )
    return hive.LockRequest([part], user=_USER, hostname=socket.gethostname(), agentInfo=mark)


def _wait(client: MetastoreClient, at: TablePlace, answer: Any) -> None:
    ends, pause = time.monotonic() + _PATIENCE, _PAUSE
    while answer.state != hive.LockState.ACQUIRED:
        if answer.state != hive.LockState.WAITING or time.monotonic() > ends:
            raise Conflict(
                f"{at.type} '{clip(at.name)}' is locked by somebody else",
                hint="refresh it and commit again",
                about="commit",
            )
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, 2 * pause)
        answer = _ask(client, at, "check_lock", hive.CheckLockRequest(lockid=answer.lockid))


def _release(client: MetastoreClient, at: TablePlace, number: int) -> None:
    """Nobody is told that a change failed because the lock could not be given back: it ends by itself."""
    for _ in range(2):
        try:
            client.ask("unlock", at.type, at.name, hive.UnlockRequest(number))
        except ConnectionFailed:
            continue
        except HeadgateError:
            return
        return


def _release_lost(client: MetastoreClient, at: TablePlace, mark: str) -> None:
    found = client.ask(
        "show_locks", at.type, at.name, hive.ShowLocksRequest(dbname=at.schema[0], tablename=at.name)
    )
    for lock in found.locks or ():
        if lock.agentInfo == mark and isinstance(lock.lockid, int):
            _release(client, at, lock.lockid)
