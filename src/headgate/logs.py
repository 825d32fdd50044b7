"""Structured logs: JSON lines for machines, plain lines on a terminal, secrets in neither."""

import json as plain_json
import logging
import re
import sys
from collections.abc import Callable, MutableMapping
from typing import Any, Final

import orjson
import structlog

_SECRETS: Final = (
    (re.compile(r"hg_([0-9a-f]{16})_[A-Za-z0-9_-]+"), r"hg_\1_…"),
    (re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{4,}", re.IGNORECASE), r"\1 …"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.?[A-Za-z0-9_-]*"), "…"),
    (re.compile(r"(://[^/\s:@]*):[^/\s@]+@"), r"\1:…@"),
)
"""Shapes of secrets. Nothing logs one on purpose; this stands behind that, for texts of other people's errors."""
_ANY: Final = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in _SECRETS), re.IGNORECASE)
"""Whether a text holds one at all, asked once instead of shape by shape."""


def configure(*, json: bool | None = None) -> None:
    """Send the logs of Headgate and of its libraries to standard error in one form; JSON unless it is a terminal."""
    if json is None:
        json = not sys.stderr.isatty()
    shown: Any = (
        structlog.processors.JSONRenderer(_json)
        if json
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    named: list[Any] = [structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name]
    common: list[Any] = [
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # Plain tracebacks: pretty ones print local variables, and those hold what was sent.
        structlog.processors.format_exc_info,
        redacted,
    ]
    # Every answer is logged, and a record of the standard library's costs as much as finding the answer: our own lines
    # are written at once, only those of libraries go through it.
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *named, *common, shown],
        logger_factory=_Lines,
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    handler = _LibraryLines(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*named, structlog.stdlib.ExtraAdder(), _uncoloured, *common],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, shown],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    for noisy in ("httpx", "httpcore", "alembic", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True


def _nobody() -> None:
    pass


_lost: Callable[[], object] = _nobody


def on_loss(counted: Callable[[], object]) -> None:
    """Have `counted` called for every line that could not be written."""
    global _lost
    _lost = counted


class _Lines:
    """Writes lines to standard error, each in one piece.

    INVARIANT: no request fails because its line cannot be written, be the disk full or the reader of the stream gone.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def msg(self, line: str) -> None:
        try:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            # ValueError is a stream that was closed, or a character that it cannot write.
            _lost()

    debug = info = warning = error = critical = exception = msg


class _LibraryLines(logging.StreamHandler[Any]):
    """The lines of libraries; one that cannot be written is counted like our own."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 — the name is logging's
        _lost()


def _json(event: Any, **_: Any) -> str:
    try:
        return orjson.dumps(event, default=repr).decode()
    except TypeError:
        # Such as half a surrogate pair in somebody's name, or an integer of more than 64 bits.
        return plain_json.dumps(event, default=repr)


def _uncoloured(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    event.pop("color_message", None)
    return event


def redacted(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The event with whatever looks like a secret taken out."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = hidden(value)
    return event


def hidden(text: str) -> str:
    if _ANY.search(text) is None:
        return text
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text
