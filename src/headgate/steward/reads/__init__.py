"""Reads of tables: what a caller sees of one, and how it is loaded, planned, described and opened to them.

Comes in: a permit. Goes out: documents, plans, descriptions and credentials, each cut to the caller's lens. How the
governed copies behind them come to be is in `copies`.
"""
