"""Why nothing is given out."""

from headgate.model.errors import Forbidden


class NoVending(Forbidden):
    """The catalog's storage cannot be scoped, or it does not say how."""


class Unscopable(Forbidden):
    """A place cannot be named in a session policy without naming others too."""


class TooManyFiles(Forbidden):
    """The places do not fit a session policy; a wider one is never made instead."""
