"""Promise: a server and a worker start without a library of any extra, and pyproject.toml has the extras that errors name."""

import re
import subprocess
import sys
import tomllib

from headgate.model.extras import Extra
from tests.peers import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
START = "import sys, headgate.doors.app, headgate.cli.operations.process, headgate.worker.process\nprint(*sys.modules)"


def test_nothing_of_an_extra_is_loaded_at_the_start() -> None:
    ran = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ran.stdout.split()}
    assert "headgate" in loaded
    # pyarrow loads pandas wherever it finds it.
    assert loaded & ({module for extra in Extra for module in extra.modules} - {"pandas"}) == set()


def test_every_extra_that_an_error_names_can_be_installed() -> None:
    extras = PROJECT["optional-dependencies"]
    assert {extra.extra for extra in Extra} == set(extras) - {"all"}
    (everything,) = re.findall(r"headgate\[(.*)\]", " ".join(extras["all"]))
    assert set(everything.split(",")) == set(extras) - {"all"}


def test_what_an_extra_brings_is_no_dependency_of_every_server() -> None:
    hard = {re.split(r"[\[<>=]", wanted)[0] for wanted in PROJECT["dependencies"]}
    brought = {re.split(r"[\[<>=]", wanted)[0] for key, wanted in _wanted() if key != "all"}
    assert hard & brought == set()


def _wanted() -> list[tuple[str, str]]:
    return [(key, wanted) for key, all_of in PROJECT["optional-dependencies"].items() for wanted in all_of]
