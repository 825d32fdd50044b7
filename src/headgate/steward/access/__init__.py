"""Who may do what: users, groups, roles, owners, tokens, and questions about all of these.

Comes in: a permit and plain values. Goes out: records and frozen values. Reads nothing but the store.
"""
