"""The lake of the Iceberg door's tests."""

from tests.doors.iceberg.conftest import lake, register

__all__ = ["lake", "register"]
