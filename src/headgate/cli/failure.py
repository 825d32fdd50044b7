"""How a command fails: what went wrong, what to do next, and the exit code."""


class Failure(Exception):
    """It was not done: no such object, a conflict, no server. Or it looked for something amiss and found it."""

    code = 1

    def __init__(self, message: str, next: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next = next


class Usage(Failure):
    """The command does not make sense as it was written, or nobody can be asked who must be."""

    code = 2


class WouldChange(Failure):
    """`headgate plan --detailed-exitcode`: something would change."""

    code = 4


class Denied(Failure):
    """Denied, or not signed in; for `check`, the answer is no."""

    code = 3
