"""Manifests and manifest lists as storage holds them: the Avro files, which fields they have, and the readers that decode
them into columns.
"""
