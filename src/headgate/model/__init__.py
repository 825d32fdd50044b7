"""The nouns of the field as frozen values: securable objects, principals, privileges, roles, tables, errors.

This room does no I/O and imports no other room; everything above speaks in its words.
"""
