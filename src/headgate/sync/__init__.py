"""Policy synchronisation: who may do what, fetched from one catalog, compared with and pushed to others.

Comes in: a connector's reading of its system as facts, and snapshots from files. Goes out: canonical snapshots, differences
in grants and in effective access, plans, and changes applied under a journal that can resume and undo them. A translation is
exact, or narrower and reported, never wider. Each system is one package of `connectors` with one
record, which the registry finds. The parts import one way: snapshots, access, translating, pushing, comparing.
"""
