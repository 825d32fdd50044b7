"""The folder of a server and its store: for the server's own eyes.

They hold mask keys, hashes of tokens, the text of policies and, by default, the tables themselves.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog

from headgate.model.errors import IllegalArgument
from headgate.settings.server import Settings
from headgate.store.database import file_of

log = structlog.get_logger("headgate.home")

_OTHERS: Final = 0o077
"""The bits that let anybody but the owner at a file."""
_BESIDE: Final = ("", "-wal", "-shm", "-journal")
"""What SQLite keeps beside its file."""


def keep_private(settings: Settings, *, make: bool = True) -> None:
    """Let nobody but this process's user at the home and the store, now and in what is written from now on.

    INVARIANT: called before a process opens its store. What others could read is closed with a line in the log; where
    that is not possible, the process does not start.
    """
    os.umask(_OTHERS)
    home = Path(settings.home)
    if make:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Behind a closed folder nobody reads on: the rest is looked at only where the top had been open.
    found = [path for path in _top(settings, home) if _close(path)]
    if found and home.is_dir():
        deeper = sum(_close(path) for path in _below(home))
        log.warning(
            "the server's folder was open to others and is closed now", first=str(found[0]), more=deeper
        )


def _top(settings: Settings, home: Path) -> Iterator[Path]:
    if home.is_dir():
        yield home
        yield from (Path(entry) for entry in os.scandir(home))
    file = file_of(settings.store.hidden)
    if file is not None:
        for end in _BESIDE:
            path = Path(f"{file}{end}")
            if path.exists():
                yield path.resolve()


def _below(home: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(home):
        yield from (Path(folder, name) for name in (*folders, *files))


def _close(path: Path) -> bool:
    """Close a file or folder to others; whether it was open. Links are left alone, as they lead to what is not ours."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode) or not mode & _OTHERS:
            return False
        os.chmod(path, stat.S_IMODE(mode) & ~_OTHERS)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise IllegalArgument(
            f"{path} can be read by others, and this user cannot change that ({type(error).__name__})",
            hint="give it to the user of the server, with mode 0600 (0700 for folders)",
        ) from None
    return True
