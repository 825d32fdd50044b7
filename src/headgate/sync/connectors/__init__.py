"""One package per system: how it is read as facts, how changes of facts are made in it, and what it can hold.

Each package exports one record, `SYSTEM`; the registry finds it there. Every package here is a system: what several of them share
lies in `sync/transport`. Inside, `connector` is the way in, `capabilities` what the system can hold, `reading` how its policies
are fetched, and `writing` how they are changed.
"""
