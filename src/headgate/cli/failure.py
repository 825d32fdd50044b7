"""How a command fails: what went wrong, what to do next, and the exit code."""


class Failure(Exception):
    """It was not done."""

    code = 1

    def __init__(self, message: str, next: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next = next


class Usage(Failure):
    """The command does not make sense as it was written."""

    code = 2


class Denied(Failure):
    """The server knows the caller not, or knows that they may not."""

    code = 3
