"""The Gravitino door: access control and metadata over the REST API that Gravitino's own clients speak.

One module per part of the API, in `access` and `metadata` or here; each has its routes, the shapes of its bodies and how records
look on the wire.
"""

from headgate.doors.gravitino.door import GravitinoDoor

__all__ = ["GravitinoDoor"]
