"""`headgate serve` and `headgate worker`: the processes that an operator runs."""

from typing import Any

from headgate.cli.command import verbs
from headgate.cli.operations.lean import without_pandas
from headgate.cli.operations.settings_options import taking_settings

app = verbs()

# Only these commands need the server's rooms and its settings; the others start faster without them.


@app.command("serve")
@taking_settings("serve")
def serve(flags: dict[str, Any]) -> None:
    """Start a server. Flags win over HEADGATE_* variables, those over headgate.toml."""
    from headgate.settings.server import load

    settings = load(flags)
    without_pandas()
    from headgate.cli.operations import process

    process.run(settings)


@app.command("worker")
@taking_settings("worker")
def worker(flags: dict[str, Any]) -> None:
    """Make governed copies for the readers of a server's store. Any number of workers may run."""
    from headgate.settings.server import load

    settings = load(flags)
    from headgate import logs
    from headgate.worker import process

    logs.configure()
    process.run(settings, process.stopping(with_parent=False))
