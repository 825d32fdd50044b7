"""Logs: what looks like a secret is taken out even where a library put it in."""

import json
import logging
import sys

import pytest
import structlog

from headgate import logs

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
