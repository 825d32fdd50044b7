"""Where tables live: one interface, an adapter per kind of catalog, and the registry of those that are built.

Comes in: names, definitions and changes as frozen values of the model. Goes out: the same, and staged changes that the
steward commits in one transaction with the object's row. Knows other people's systems; decides nothing about access.

Nothing is imported here: settings and commands need `openings` only, and start without PyArrow.
"""
