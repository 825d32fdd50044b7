"""Filters: read and bound to a schema, asked of many files at once, and reduced to what is left to ask of the rows of a file."""
