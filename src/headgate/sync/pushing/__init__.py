"""A push: planned, journaled before it begins, carried out in batches, read back, resumed and undone. Comes in: a translation and
what the target holds. Goes out: a plan, and what became of each change. I/O is the connector's and the store's.
"""
