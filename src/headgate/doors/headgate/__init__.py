"""The Headgate door: what goes beyond Gravitino's API, under ``/api/headgate``: questions, reasons, the audit trail, tokens,
policies of other systems.

It says errors in the same body as the Gravitino door, so a client needs to read one form only.
"""

from headgate.doors.headgate.door import HeadgateDoor

__all__ = ["HeadgateDoor"]
