"""Other people's programs that the tests run against: where each lies, and the one command that gets them.

`python -m tests.peers` fetches everything that is missing, says how far it is, and tries again where a registry
hiccups; `scripts/test` runs it once, under a lock, before pytest starts. Tests themselves download nothing: a program that
is not there is a visible skip, and a failure with CI=true.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
CACHE: Final = ROOT / ".cache"
SHARED_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headgate"
"""For what takes minutes to build and is the same for every clone."""

TRIES: Final = 3
PAUSE: Final = 5.0
"""Seconds before the first retry; the second waits three times as long."""


class Missing(Exception):
    """A program is not on this machine, or could not be fetched."""


@dataclass(frozen=True)
class Peer:
    """One program: what it is called, where it lies once it is there, and how it gets there."""

    name: str
    place: Path
    fetch: Callable[[Path], None]

    @property
    def there(self) -> bool:
        return self.place.exists()

    def found(self) -> Path:
        """Where it lies. Never fetches."""
        if not self.there:
            raise Missing(f"{self.name} is not here: 'scripts/test' or 'python -m tests.peers' fetches it")
        return self.place


def lacking(what: str, reason: object) -> None:
    """Skip with a line that says why; where everything must run, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is required here: {reason}")
    pytest.skip(f"without {what}: {reason}")


def program(name: str, advice: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"no {name}: {advice}")
    return found


def run(command: Sequence[str | Path], *, timeout: float, **environment: str) -> None:
    """Run a command that fetches; its own words are told if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if done.returncode:
        words = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise Missing(f"'{command[0]} …' failed:\n{words}")


def whole(place: Path, make: Callable[[Path], None]) -> None:
    """Make a file or folder beside its place and move it there at the end, so that what lies there is whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as unfinished:
        made = Path(unfinished) / place.name
        make(made)
        made.rename(place)


# -- the command --------------------------------------------------------------------------------------------------


def every() -> list[Peer]:
    """All of them, those that take longest first."""
    from tests import environments, maven, minio, spark_jars

    return [minio.PEER, *maven.peers(), spark_jars.PEER, *environments.PEERS]


def fetch(peer: Peer) -> str | None:
    """Fetch one; answers why it could not be."""
    started = time.monotonic()
    for attempt in range(TRIES):
        if peer.there:
            # Somebody else on this machine has fetched it meanwhile.
            return None
        try:
            peer.fetch(peer.place)
        except (Missing, OSError, subprocess.SubprocessError) as error:
            say(f"  {peer.name}: {error}")
            if attempt == TRIES - 1:
                return str(error)
            time.sleep(PAUSE * 3**attempt)
        else:
            say(f"  {peer.name}: {time.monotonic() - started:.0f} s")
            return None
    raise AssertionError("the loop above returns")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    wanted = [peer for peer in every() if not peer.there]
    if not wanted:
        return 0
    say(f"fetching what the tests run against: {', '.join(peer.name for peer in wanted)}")
    # One builds while the other downloads; two Mavens would write into one local repository.
    with ThreadPoolExecutor(2) as pool:
        slow = [peer for peer in wanted if peer.name == "MinIO"]
        rest = [peer for peer in wanted if peer.name != "MinIO"]
        failures = pool.map(lambda peers: [fetch(peer) for peer in peers], (slow, rest))
        failed = [why for of_one in failures for why in of_one if why is not None]
    if failed:
        say(
            f"headgate: {len(failed)} of {len(wanted)} could not be fetched; the tests that need them cannot run"
        )
        say("  next: give Maven, pip and Go access to their registries, then run this again")
    return 1 if failed else 0


if __name__ == "__main__":
    # Run as a program this module is not the one that the others import, and its errors are not theirs.
    from tests import peers

    sys.exit(peers.main())
