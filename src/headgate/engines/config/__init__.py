"""Settings of engines for one catalog, ready to paste: `headgate engine-config`.

Comes in: a catalog's type, provider and the properties that its caller may see, and the server's address. Goes out: one text with
comments that say where it goes. Pure: no I/O, and no secret in any answer, as none comes in.

One module per engine holds its `Engine` record; `writing` chooses among them. Nothing is imported here: commands need `names` only.
"""
