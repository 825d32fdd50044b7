"""The application of a server process, without what it would load and never use."""

import sys
from typing import Any


class _NoPandas:
    """Answers as if it were not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("a server does without pandas", name=name)


def without_pandas() -> None:
    """Keep PyArrow from loading pandas, which it does wherever that is installed: memory and time of every start.

    INVARIANT: called before anything loads PyArrow, and in processes that only serve.
    """
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


def application() -> Any:
    """The application, as every process on the port makes it."""
    without_pandas()
    from headgate.doors.app import from_environment

    return from_environment()
