"""Headgate: one governance plane for a lakehouse of many catalogs and many engines."""

__version__ = "0.1.0"
