"""The command line: a thin shell over HTTP, one module per noun, with Gravitino's words.

`serve` starts a server and `token` can open the store itself; every other command asks a running server and so is
decided, journaled and audited like anybody's request. Comes in: arguments and HEADGATE_* variables. Goes out: a table,
JSON or YAML, and an exit code: 0 it did what it said, 2 wrong usage, 3 denied, 1 anything else.
"""

from headgate.cli.app import main

__all__ = ["main"]
