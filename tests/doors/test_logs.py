"""Logs: what looks like a secret is taken out even where a library put it in."""

import io
import json
import logging
import sys

import pytest
import structlog

from headgate import logs
from headgate.doors.observe import Metrics

SECRET = "s3cr3t-Value_1"


@pytest.fixture(autouse=True)
def _logging_as_before() -> object:
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    yield
    root.handlers, root.level = before
    structlog.reset_defaults()


@pytest.mark.parametrize(
    "text",
    [
        f"token hg_0123456789abcdef_{SECRET} refused",
        f"Authorization: Bearer {SECRET}",
        f"authorization: basic {SECRET}",
        f"cannot reach postgresql://ann:{SECRET}@db/x",
        f"bad token eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.{SECRET}",
    ],
)
def test_a_secret_is_hidden_in_events_and_in_tracebacks(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(json=True)
    structlog.get_logger("x").warning("said", text=text)
    logging.getLogger("somebody.else").error("said %s", text)
    try:
        raise ValueError(text)
    except ValueError:
        structlog.get_logger("x").exception("failed")
    written = capsys.readouterr().err
    assert SECRET not in written
    lines = [json.loads(line) for line in written.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "error", "error"]
    assert "ValueError" in lines[2]["exception"]


def test_local_variables_are_never_in_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    for as_json in (True, False):
        logs.configure(json=as_json)
        hidden = {"password": SECRET}
        try:
            int(f"{len(hidden)}x")
        except ValueError:
            structlog.get_logger("x").exception("failed", exc_info=sys.exc_info())
        written = capsys.readouterr().err
        assert "invalid literal" in written
        assert SECRET not in written


class Broken(io.StringIO):
    """A stream that takes nothing more."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, _: str) -> int:
        raise self.error

    def flush(self) -> None:
        raise self.error


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), BrokenPipeError(), ValueError("I/O on closed file")]
)
@pytest.mark.parametrize("as_json", [True, False])
def test_a_line_that_cannot_be_written_is_counted_and_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, error: Exception, as_json: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", Broken(error))
    logs.configure(json=as_json)
    metrics = Metrics()
    structlog.get_logger("x").info("request", user="ann")
    logging.getLogger("somebody.else").error("said")
    assert b"headgate_log_lines_lost_total 2.0" in metrics.text()


def test_whatever_is_in_an_event_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(json=True)
    structlog.get_logger("x").info("odd", user="\ud800", number=2**70, key={1: object()})
    assert json.loads(capsys.readouterr().err)["event"] == "odd"
